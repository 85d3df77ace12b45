"""Exit statuses of the commands: the constants, and the table in docs/exit-status.md that is made from here."""

from verdikt.model.posture import Disposition

EXIT_FAILURE = 1
EXIT_NO_VERDICT = 1

# click's own status for a wrong call. `findings` uses it for its own errors too, as its specification promises.
EXIT_FINDINGS_ERROR = 2
EXIT_BLOCKED = 2
EXIT_INCOMPLETE = 2

# As service managers have it: "program is not running" in the LSB's table for `status`.
EXIT_NOT_RUNNING = 3

# Not 0: a verification that had nothing to verify must not look like a success to a script.
EXIT_NOTHING_TO_VERIFY = 3

# EX_USAGE and EX_DATAERR of sysexits.h. Commands for which 2 means "ask" or "fail" use 64 for a wrong call.
EXIT_USAGE = 64
EXIT_BAD_PAYLOAD = 64
EXIT_BAD_POLICY = 65
EXIT_BAD_LINE = 65

EXIT_BY_DISPOSITION = {Disposition.ALLOW: 0, Disposition.DENY: 1, Disposition.ESCALATE: 2}
EXIT_BY_PROOF_STATUS = {"pass": 0, "fail": 2, "refused": 3}

STATUSES: tuple[tuple[str, int, str], ...] = (
    ("every command", 0, "success, no problem"),
    ("every command", 1, "refused or not possible; one line on stderr says why and what to do"),
    ("every command", 2, "wrong usage of the command line"),
    ("every command that reads a policy", 65, "the policy cannot be loaded; one message for each error on stderr"),
    ("`check`", 0, "allow"),
    ("`check`", 1, "deny"),
    ("`check`", 2, "ask a person"),
    ("`check`", 64, "invalid payload or wrong usage; an error as canonical JSON on stdout"),
    ("`check`", 65, "the policy or the manifest cannot be used; an error as canonical JSON on stdout"),
    ("`replay`", 1, "a decision came out differently, or could not be replayed"),
    ("`replay`", 64, "wrong usage of the command line"),
    ("`replay`", 65, "the policy to compare with cannot be loaded"),
    ("`posture`", 64, "wrong usage of the command line"),
    ("`manifest validate`", 1, "the manifest cannot be used"),
    ("`manifest classify`", 1, "the manifest does not declare the tool"),
    ("`knowledge lint`", 1, "a record has a mistake, or can't be compiled"),
    ("`knowledge show`", 1, "there is no record of the program"),
    ("`policy lint`", 1, "a rule never fires, never decides or contradicts another"),
    ("`policy test`", 1, "a case failed, or none was found"),
    ("`policy test`", 65, "a case cannot be read"),
    ("`policy pending`", 1, "a change waits for acceptance"),
    ("`policy accept`", 1, "nothing was accepted: not a person at a terminal, not confirmed, or another digest"),
    ("`ledger verify`", 1, "the log has problems; each is printed with its kind and place"),
    ("`ledger verify`", 3, "there was nothing to verify"),
    ("`daemon status`", 3, "the daemon does not run"),
    ("`evidence claims --batch`", 65, "a line is not as described; the others are answered"),
    ("`findings show`, `explain`, `clear`, `export`, `gate`", 1, "there is no verdict on that plan"),
    ("`findings`", 2, "wrong usage, or an invalid level, plan name or file"),
    ("`findings gate`", 2, "a finding of that level or worse, an unreadable verdict, or none at all"),
    ("`council run`, `git check`", 2, "a council with a guardrail stops the commit, or cannot be asked"),
    ("`stop-check check`", 2, "a check is not met"),
    ("`git status`", 1, "one of the hooks is missing"),
    ("`doctor`", 1, "a wired client let the canary through, or nothing is wired"),
    ("`hook claude`", 0, "a document on stdout has the decision, or says that verdikt has no opinion"),
    ("`hook claude`", 2, "blocked, because this client lets the tool run on every other status"),
)
"""Command, status, meaning. A command of several words is written as it is called."""
