"""Values of settings by their keys, whatever their format."""

import pytest

from verdikt.effects.local_values.settings_values import read_settings_values


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"tool": {"docs": {"output": "build/docs"}}}'),
        ("a.toml", '[tool.docs]\noutput = "build/docs"\n'),
        ("a.yaml", "tool:\n  docs:\n    output: build/docs  # made\n"),
        ("a.ini", "[docs]\noutput = build/docs\n"),
        ("a.properties", "# made\noutput=build/docs\n"),
        ("a.env", 'export output="build/docs"\n'),
        ("a.mk", "TOP := build\noutput := $(TOP)/docs\n"),
        ("broken.json", '{"output": "build/docs",}\n'.replace("{", "{\n")),
    ],
)
def test_value_is_found_by_its_last_key(name: str, text: str) -> None:
    """A text is found by the last key above it, also where the file is no valid document."""
    assert read_settings_values(name, text)["output"] == "build/docs"


def test_lists_are_read() -> None:
    """A list of texts is a value, in a line or in items; a document that is a list has the empty key."""
    assert read_settings_values("a.yaml", "dirs:\n  - build\n  - '../x'\nname: r\n")["dirs"] == ["build", "../x"]
    assert read_settings_values("a.ini", 'dirs = ["build", "dist"]\n')["dirs"] == ["build", "dist"]
    assert read_settings_values("a.json", '["build", "dist"]') == {"": ["build", "dist"]}


def test_key_with_several_values_is_left_out() -> None:
    """Two sections with other values under one key tell nothing."""
    assert "path" not in read_settings_values("a.ini", "[a]\npath = build\n[b]\npath = ../x\n")
    assert read_settings_values("a.ini", "[a]\npath = build\n[b]\npath = build\n") == {"path": "build"}
