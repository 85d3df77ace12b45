"""A guard's settings are told from its constructor: what each type may be written as, and what is read then."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jsonschema
import pytest

from verdikt.graph.guard_settings import infer_settings
from verdikt.model.yaml_document import parse_document
from verdikt.model.yaml_node import YamlNode


def guard(
    needed: int,
    *,
    names: Sequence[str] = (),
    hosts: frozenset[str] = frozenset(),
    ports: list[int] | None = None,
    pairs: tuple[float, ...] = (),
    limits: Annotated[Mapping[str, int] | None, "field → the largest number"] = None,
    mode: Literal["off", "on"] = "off",
    strict: bool = False,
    anything: object = None,
    ask: Callable[[str], bool] = bool,
) -> object:
    """A constructor with a setting of every type."""


@pytest.mark.parametrize(
    ("name", "written", "read"),
    [
        ("needed", "3", 3),
        ("names", "[a, b]", ("a", "b")),
        ("names", "a", ("a",)),
        ("names", "[]", ()),
        ("hosts", "[a, b, a]", frozenset({"a", "b"})),
        ("ports", "[80, 443]", [80, 443]),
        ("pairs", "[1, 2.5]", (1, 2.5)),
        ("limits", "{amount: 100, count: 2}", {"amount": 100, "count": 2}),
        ("mode", "on", "on"),
        ("strict", "true", True),
        ("anything", "{a: [1, x]}", {"a": [1, "x"]}),
    ],
)
def test_what_is_written_is_what_the_guard_is_given(name: str, written: str, read: Any) -> None:
    """In the type that its constructor names; an editor is told the same."""
    document = parse_document(written, "p.yaml")
    shape = (infer_settings(guard) or {})[name].schema_type

    found = shape.read(YamlNode.from_document(document))

    assert (found, type(found)) == (read, type(read))
    assert document.errors == []
    jsonschema.validate(document.value, dict(shape.json_schema))


@pytest.mark.parametrize(
    ("name", "written", "message"),
    [
        ("ports", "[80, many]", "expected a whole number, found `many`"),
        ("limits", "{amount: much}", "`amount`: expected a whole number, found `much`"),
        ("mode", "maybe", "expected one of off, on, found `maybe`"),
        ("strict", "3", "expected `true` or `false`, found `3`"),
        ("names", "{a: 1}", "expected a text, found a mapping"),
    ],
)
def test_what_does_not_fit_is_a_fault(name: str, written: str, message: str) -> None:
    """With what was expected; an editor marks it too."""
    document = parse_document(written, "p.yaml")
    shape = (infer_settings(guard) or {})[name].schema_type

    shape.read(YamlNode.from_document(document))

    assert message in str(document.errors[0])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document.value, dict(shape.json_schema))


def test_which_settings_there_are() -> None:
    """Those without a default are needed, an annotation says what one is for, and code cannot be written in a file."""
    found = infer_settings(guard) or {}

    assert [name for name, setting in found.items() if setting.required] == ["needed"]
    assert found["limits"].description == "field → the largest number"
    assert "ask" not in found


def test_a_value_is_made_from_its_fields() -> None:
    """As if they were arguments."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Policy:
        tool: str
        times: int = 1

    found = infer_settings(Policy) or {}

    assert {name: setting.required for name, setting in found.items()} == {"tool": True, "times": False}


def test_of_whoever_takes_anything_nothing_is_told() -> None:
    """Then its constructor checks alone."""
    assert infer_settings(lambda **settings: None) is None
    assert infer_settings(dict) is None
