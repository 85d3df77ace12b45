"""verdikt itself: what an agent may ask it, what a person confirms, and what only a person may tell it.

A subcommand that no row names asks. So does one that is added later, until it is listed here.
"""

from verdikt.effects.program.table import EffectSpec, Program

_ONLY_PEOPLE = EffectSpec("guard.tamper", without_target=True, note="only a person may do this")
_CONFIRM = EffectSpec("guard.config", without_target=True)
_LOOK = EffectSpec("sys.read", without_target=True)

READ_SUBCOMMANDS = (
    "check",
    "explain",
    "replay",
    "status",
    "doctor",
    "policy show",
    "policy lint",
    "policy pending",
    "policy schema",
    "ledger tail",
    "ledger show",
    "ledger verify",
    "ledger stats",
    "evidence claims",
    "evidence explain",
    "evidence report",
    "evidence contracts",
    "findings show",
    "findings explain",
    "findings retro",
    "findings gate",
    # Councils of a policy that a person has not accepted are not in force, so they do not run.
    "council run",
    "council trigger",
    "council plan",
    "council history",
    "completion show",
    "completion check",
    "manifest validate",
    "manifest classify",
    "posture show",
    "grant list",
    "keys list",
    "git status",
    "git check",
    "daemon status",
    "daemon logs",
)
"""What an agent may run: it reads, and changes neither the log nor what is in force."""

OPERATOR_SUBCOMMANDS = (
    "pause",
    "uninstall",
    "grant",
    "keys",
    "posture set",
    "policy accept",
    "daemon stop",
    "ledger rotate",
    "ledger reindex",
    "findings clear",
    "council purge",
    "git uninstall",
    # Records calls that no agent made.
    "hook",
)
"""What only a person may run."""

PROGRAMS: dict[str, Program] = {
    "verdikt": Program(
        EffectSpec("guard.config", "0", "other"),  # `verdikt` alone prints its help
        value_flags="-o --output --junit --export",
        subcommands={
            **dict.fromkeys(READ_SUBCOMMANDS, _LOOK),
            **dict.fromkeys(OPERATOR_SUBCOMMANDS, _ONLY_PEOPLE),
            "policy test": (_LOOK, EffectSpec("fs.write", "--junit")),
            "findings export": (_LOOK, EffectSpec("fs.write", "-o --output")),
            "ledger export": (_LOOK, EffectSpec("fs.write", "-o --output")),
            "ledger checkpoint": (_CONFIRM, EffectSpec("fs.write", "--export")),
            # In a reviewer's name it counts as that reviewer's report; without one it can only add.
            "findings record": (_LOOK, EffectSpec("guard.config", when="--agent")),
        },
    ),
}
