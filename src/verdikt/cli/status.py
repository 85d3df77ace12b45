"""With which status each command ends."""

STATUSES: tuple[tuple[str, int, str], ...] = (
    ("every command", 0, "done, nothing found wrong"),
    ("every command", 2, "the command line is not understood"),
    ("every command that reads a policy", 65, "the policy cannot be loaded; one message for each fault on stderr"),
    ("`policy lint`", 1, "a rule never fires, never decides or contradicts another"),
    ("`policy test`", 1, "a case failed, or none was found"),
    ("`policy test`", 65, "a case cannot be read"),
    ("`findings show`, `explain`, `clear`, `export`, `gate`", 1, "there is no verdict on that plan"),
    ("`findings`", 2, "the call, a level, a plan's name or a file cannot be used"),
    ("`findings gate`", 2, "a finding of that level or worse, an unreadable verdict, or none at all"),
    ("`council run`, `git check`", 2, "a council with a guardrail stops the commit"),
    ("`git status`", 1, "one of the hooks is missing"),
)
"""Command, status, what it means."""
