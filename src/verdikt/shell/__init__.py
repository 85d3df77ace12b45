"""Command text → commands with argv, redirections and nesting; what is unknown is marked unknown. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.shell.analysis import analyse

__all__ = ["analyse"]


def __getattr__(name: str) -> object:
    if name == "analyse":
        # Loaded when first used: whoever only needs the values does not pay for the grammar.
        from verdikt.shell.analysis import analyse

        return analyse
    raise AttributeError(f"module `verdikt.shell` has no attribute `{name}`")
