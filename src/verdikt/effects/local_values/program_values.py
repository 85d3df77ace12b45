"""Read the constants of a program by name, in any language: what other programs get when they import it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from verdikt.effects.any_language.masking import mask_comments
from verdikt.effects.any_language.text_reader import TextReader
from verdikt.effects.any_language.values import UNKNOWN_PART
from verdikt.effects.code.constant_folding import read_constants
from verdikt.effects.code.python_bindings import PythonBindings
from verdikt.effects.code.script import name_own_place
from verdikt.effects.code.script_syntax import CLASS
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.effects.any_language.values import Value as PlaceValue
    from verdikt.effects.local_values.settings_values import Value
    from verdikt.effects.target import TargetResolver

_FUNCTION = compile_lazily(
    r"\b(?:fn|func|def|function|fun)\s+(?:self\.)?(\w+)\s*(?:\(\s*\))?\s*(?:->\s*[\w:<>]+|:\s*[\w.]+|[\w.]+)?\s*[={\n]\s*"
    r"(?:return\s+)?([^{}\n;]+?);?\s*(?:[}\n]|end\b)"
)
"""A function without parameters that is one expression."""
_OBJECT = compile_lazily(r"(?m)^([a-z_]\w*)\s*=\s*[A-Z]\w*\(")
_MAX_OWNERS = 40
_RECORD_KEY = compile_lazily(r"[,{(\[][ \t\n]*[\"':]?([A-Za-z_]\w*)[\"']?[ \t]*(?:=>|:(?!:))[ \t]*")


def read_program_values(language: str, path: str, text: str, resolver: TargetResolver) -> dict[str, Value]:
    """Return the constants of a program by the names that it binds."""
    if language == "python":
        return _read_python(path, text)
    values: dict[str, Value] = {}
    assignments = _list_assignments(mask_comments(path, text))
    reader = TextReader(path, assignments, resolver)
    for name, place in reader.evaluator.names.items():
        if (value := _to_value(place)) is not None:
            values[name] = value
    return values | _fold_script(language, path, assignments)


def _list_assignments(text: str) -> str:
    """Return the text with what functions return, and the fields of records, written as assignments."""
    text = _FUNCTION.sub(lambda match: f"\n{match[1]} = {match[2]}\n", text)
    return _RECORD_KEY.sub(lambda match: f"\n{match[1]} = ", text)


def _to_value(place: PlaceValue) -> Value | None:
    """Return the one path that a name stands for; None where it stands for several, or for what is not known."""
    is_known = len(place.places) == 1 and UNKNOWN_PART not in place.places[0]
    return place.places[0] if is_known else None


def _fold_script(language: str, path: str, text: str) -> dict[str, Value]:
    """Return the constants and the lists of constants of a script."""
    strings, lists = read_constants(language, text, name_own_place(path))
    values: dict[str, Value] = {}
    pairs: Iterable[tuple[str, Value]] = [*strings.items(), *lists.items()]
    for name, value in pairs:
        is_known = not any(UNKNOWN in part for part in ([value] if isinstance(value, str) else value))
        if is_known and name[:2] != "__":  # those say where the program itself lies
            values[name.rpartition(".")[2].lstrip("$@%")] = value
    return values


def _read_python(path: str, text: str) -> dict[str, Value]:
    """Return the constants that a module of Python binds at its top."""
    try:
        tree = ast.parse(text)
    except (ValueError, RecursionError, MemoryError, SyntaxError):
        return {}
    bindings = PythonBindings()
    bindings.values["__file__"] = path
    for node in ast.walk(tree):
        bindings.record_node(node)
    values: dict[str, Value] = {}
    for owner, name in _list_class_fields(tree):
        if (field := bindings.values.get(f"{owner}.{name}")) is not None:
            values[name] = field
    for name in _list_top_names(tree):
        items = bindings.elements.get(name)
        texts = [bindings.evaluate_text(item) for item in items] if items is not None else []
        if texts and not any(isinstance(item, ast.Tuple) for item in items or ()):
            if not any(UNKNOWN in text for text in texts):
                values[name] = texts
        elif UNKNOWN not in (value := _evaluate_name(name, bindings)):
            values[name] = value
    return values


def _list_class_fields(tree: ast.Module) -> list[tuple[str, str]]:
    """Return the classes of a module with the names of their fields that have a value."""
    return [
        (node.name, target.id)
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for item in node.body
        if isinstance(item, ast.Assign | ast.AnnAssign)
        for target in (item.targets if isinstance(item, ast.Assign) else [item.target])
        if isinstance(target, ast.Name)
    ]


def _evaluate_name(name: str, bindings: PythonBindings) -> str:
    """Return what a name stands for, or what a function without parameters returns."""
    parameters, result = bindings.results.get(name, (["?"], None))
    return bindings.evaluate_text(result) if not parameters else bindings.values.get(name, UNKNOWN)


def list_owner_names(text: str) -> list[str]:
    """Return the names in which a program keeps constants: its classes and modules, and objects of Python."""
    return [*CLASS.findall(text)[:_MAX_OWNERS], *_OBJECT.findall(text)[:_MAX_OWNERS]]


def _list_top_names(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
        elif isinstance(node, ast.FunctionDef):
            names.append(node.name)
    return names
