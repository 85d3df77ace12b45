"""Classes of a user's own, which a policy file names by their import path."""

import re
from collections.abc import Callable
from typing import Any

from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.yaml_node import YamlNode

IMPORT_PATH = compile_lazily(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


def read_custom_class(
    node: YamlNode, load: Callable[[str], Any] | None, *, what: str, example: str, methods: tuple[str, ...]
) -> type | None:
    """Return the class that a node names; None after recording why it can't be used.

    It is a class and has the methods, so that a policy file can't have any function called, such as `os:abort`.
    """
    expected = f"an import path, as in `{example}`"
    path = node.read_text(what=expected)
    if path is None:
        return None
    if load is None or not IMPORT_PATH.fullmatch(path):
        node.add_mismatch(expected)
        return None
    try:
        custom_class = load(path)
    except Exception as error:
        # Importing runs the user's code, which may fail in any way.
        node.add_error(f"expected a {what} at `{path}`, found {type(error).__name__}: {error}")
        return None
    if not isinstance(custom_class, type) or not all(callable(getattr(custom_class, name, None)) for name in methods):
        names = ", ".join(f"`{name}`" for name in methods)
        node.add_error(f"expected a {what} class with {names} at `{path}`, found `{_get_type_name(custom_class)}`")
        return None
    return custom_class


def _get_type_name(value: object) -> str:
    return value.__name__ if isinstance(value, type) else type(value).__name__
