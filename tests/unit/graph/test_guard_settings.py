"""A guard's settings follow from its constructor: how each type is written, and what the guard gets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import jsonschema
import pytest

from verdikt.graph.guard_settings import infer_settings
from verdikt.model.yaml_document import parse_document
from verdikt.model.yaml_node import YamlNode


def make_guard(
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
    """Take a setting of every type."""


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
def test_setting_is_read_in_the_type_of_the_constructor(name: str, written: str, read: Any) -> None:
    """The JSON Schema accepts the same value."""
    document = parse_document(written, "p.yaml")
    shape = (infer_settings(make_guard) or {})[name].schema_type

    value = shape.read(YamlNode.from_document(document))

    assert (value, type(value)) == (read, type(read))
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
def test_setting_of_another_type_is_an_error(name: str, written: str, message: str) -> None:
    """The error says what was expected; the JSON Schema refuses the same value."""
    document = parse_document(written, "p.yaml")
    shape = (infer_settings(make_guard) or {})[name].schema_type

    shape.read(YamlNode.from_document(document))

    assert message in str(document.errors[0])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document.value, dict(shape.json_schema))


def test_infer_settings_reads_names_defaults_and_annotations() -> None:
    """A setting without a default is required, an annotation describes it, and functions are left out."""
    settings = infer_settings(make_guard) or {}

    assert [name for name, setting in settings.items() if setting.required] == ["needed"]
    assert settings["limits"].description == "field → the largest number"
    assert "ask" not in settings


def test_infer_settings_of_a_dataclass_reads_its_fields() -> None:
    """The fields of a dataclass are its settings."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Policy:
        tool: str
        times: int = 1

    settings = infer_settings(Policy) or {}

    assert {name: setting.required for name, setting in settings.items()} == {"tool": True, "times": False}


def test_infer_settings_of_var_keywords_returns_none() -> None:
    """A constructor that takes any keyword checks its settings itself."""
    assert infer_settings(lambda **settings: None) is None
    assert infer_settings(dict) is None
