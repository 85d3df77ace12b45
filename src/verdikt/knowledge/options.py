"""The options that a record mentions, in its lists and in the conditions of its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verdikt.knowledge import Record

VALUE_KEYS = ("values", "globals")
OPTION_KEYS = (*VALUE_KEYS, "glued", "flags", "dry_run", "when", "unless", "recoverable_when")


def list_options(entry: Record, keys: tuple[str, ...]) -> Iterable[str]:
    """Yield every option that an entry, its rows or its commands mention under these keys."""
    for part in (entry, *entry.get("effects", ())):
        for term in " ".join(part.get(key, "") for key in keys).replace("+", " ").split():
            for name in term.lstrip("!").partition("=")[0].split("|"):
                # `-1=a` is about the last operand, and `--set-*` about any option that is called so.
                is_option = name[:1] == "-" and not {"*", "["} & set(name) and not ("=" in term and name[1:].isdigit())
                if is_option:
                    yield name
    for command in entry.get("commands", {}).values():
        yield from list_options(command, keys)
