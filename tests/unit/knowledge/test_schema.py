"""The shipped records follow the JSON Schema, and the schema rejects what no code reads."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from verdikt.effects.program_record import EffectSpec
from verdikt.knowledge.compiler import PROGRAMS, ROW_KEYS, read_files
from verdikt.shell.runner import Wrapper

SCHEMA = json.loads((Path(PROGRAMS).parent / "schema.json").read_text())


def list_errors(file: dict[str, Any]) -> list[str]:
    """Return what the schema finds wrong with a file."""
    errors = []
    # Editors check by an older draft than the one that the schema names.
    for validator in (jsonschema.Draft202012Validator(SCHEMA), jsonschema.Draft7Validator(SCHEMA)):
        errors.append({f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(file)})
    assert errors[0] == errors[1]
    return sorted(errors[0])


@pytest.mark.parametrize("family", sorted(read_files()))
def test_shipped_records_follow_the_schema(family: str) -> None:
    """Every file is valid, and says what its page is about; a project's own file needs no title."""
    assert list_errors(read_files()[family]) == []
    assert read_files()[family]["title"]


@pytest.mark.parametrize(
    "program",
    [
        {},
        {"names": "x", "valeus": "-o"},
        {"names": "x", "does": "fs.read", "effects": [{"does": "fs.read", "whn": "-r"}]},
        {"names": "x", "commands": [{"names": "a", "abbreviate": True}]},
        {"names": "x", "runs": {"skips": 1}},
        {"names": "x", "values": "-o, -p"},
        {"names": "x", "handler": "no module"},
    ],
)
def test_schema_rejects_unknown_keys_and_malformed_values(program: dict[str, Any]) -> None:
    """A misspelt key is an error, because it would be ignored."""
    assert list_errors({"title": "x", "program": [program]})


def test_schema_knows_the_keys_that_code_reads() -> None:
    """Rows and wrappers have the same keys in the schema and in the code."""
    definitions = SCHEMA["$defs"]

    assert set(definitions["effect"]["properties"]) == ROW_KEYS
    assert len(ROW_KEYS) == len(EffectSpec.__slots__)
    assert set(definitions["runs"]["properties"]) == set(Wrapper._fields) - {"valued"}
