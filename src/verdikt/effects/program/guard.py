"""verdikt itself: what an agent may ask it, and what only a person may tell it."""

from verdikt.effects.program.table import EffectSpec, Program

_OFF = EffectSpec("guard.tamper", without_target=True, note="only a person may do this")
_LOOK = EffectSpec("sys.read", without_target=True)

PROGRAMS: dict[str, Program] = {
    "verdikt": Program(
        _LOOK,
        subcommands={
            "pause": _OFF,
            "uninstall": _OFF,
            "daemon stop": _OFF,
            "posture set": _OFF,
            "grant": _OFF,
            "allow": _OFF,
            "keys init": _OFF,
            "keys rotate": _OFF,
            "ledger rotate": _OFF,
            "findings clear": _OFF,
            "git uninstall": _OFF,
            "council purge": _OFF,
        },
    ),
}
