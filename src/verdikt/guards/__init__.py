"""The built-in guards, one per file. The keyword arguments of a guard's constructor are its settings."""

from importlib import import_module
from typing import TYPE_CHECKING

from verdikt.errors import PolicyError

if TYPE_CHECKING:
    from verdikt.graph.guard import BaseGuard
    from verdikt.guards.audit import AuditGuard as AuditGuard
    from verdikt.guards.bash_safety import BashSafetyGuard as BashSafetyGuard
    from verdikt.guards.budget import BudgetGuard as BudgetGuard
    from verdikt.guards.file_boundary import FileBoundaryGuard as FileBoundaryGuard
    from verdikt.guards.intent import IntentGuard as IntentGuard
    from verdikt.guards.layer_isolation import LayerIsolationGuard as LayerIsolationGuard
    from verdikt.guards.sandbox import SandboxGuard as SandboxGuard

GUARDS: dict[str, str] = {
    "file_boundary": "FileBoundaryGuard",
    "bash_safety": "BashSafetyGuard",
    "layer_isolation": "LayerIsolationGuard",
    "sandbox": "SandboxGuard",
    "budget": "BudgetGuard",
    "intent": "IntentGuard",
    "audit": "AuditGuard",
}
"""Name in policies → class, which is defined in the module of that name and imported when first used."""

_NAMES = {classname: name for name, classname in GUARDS.items()}

__all__ = sorted(_NAMES)  # noqa: PLE0605 (the table above is the list)


def guard_class(name: str) -> "type[BaseGuard]":
    """Return the class of a built-in guard by its name in policies."""
    if name not in GUARDS:
        raise PolicyError(f"expected a guard of {', '.join(GUARDS)}, found `{name}`")
    guard: type[BaseGuard] = getattr(import_module(f"verdikt.guards.{name}"), GUARDS[name])
    return guard


def __getattr__(name: str) -> object:
    if name in _NAMES:
        return guard_class(_NAMES[name])
    raise AttributeError(f"module `verdikt.guards` has no attribute `{name}`")


def __dir__() -> list[str]:
    return [*__all__, "GUARDS", "guard_class"]
