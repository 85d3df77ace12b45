"""What a tool's schema says about its arguments."""

from functools import reduce

import pytest

from verdikt.effects.tool_arguments import Argument, list_tool_arguments
from verdikt.model.argument_kind import ArgumentKind, find_schema_kinds

SHELL, SQL, CODE, PATH, URL = ArgumentKind


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"format": "uri"}, (URL,)),
        ({"format": "file-path"}, (PATH,)),
        ({"contentMediaType": "application/x-sql"}, (SQL,)),
        ({"title": "Line", "description": "a command-line script"}, (SHELL,)),
        ({"description": "Node function to evaluate"}, (CODE,)),
        ({"description": "SQL or shell command to run"}, (SHELL, SQL)),
        ({"description": "URL, or path to a file"}, (PATH, URL)),
        ({"format": "sql", "description": "URL of the mirror"}, (SQL, URL)),
        ({"description": "how many results"}, ()),
        ({"description": ["SQL"]}, (SQL,)),
        ("text", ()),
    ],
)
def test_schema_of_an_argument_names_every_kind_the_most_dangerous_first(
    schema: object, kinds: tuple[ArgumentKind, ...]
) -> None:
    """A description that can be read in several ways is read in each of them."""
    assert find_schema_kinds(schema) == kinds


def test_argument_whose_key_says_more_than_its_schema_is_read_by_both() -> None:
    """A server cannot hide a command behind a harmless description of it."""
    schema = {"properties": {"command": {"description": "URL of the page"}}}

    arguments = list_tool_arguments({"command": "make deploy"}, schema).arguments

    assert arguments == [Argument(URL, "make deploy"), Argument(SHELL, "make deploy")]


def test_text_behind_any_padding_is_analysed() -> None:
    """What follows tens of thousands of letters is run like the rest."""
    command = f": {'a' * 70_000}\nmake deploy"

    assert list_tool_arguments({"command": command}).arguments == [Argument(SHELL, command)]


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param({"command": "a" * (1 << 19)}, id="too long"),
        pytest.param({"steps": [{"command": "make"}] * 2_000}, id="too many"),
        pytest.param(reduce(lambda inner, _: {"step": inner}, range(50), {"command": "make"}), id="too deep"),
    ],
)
def test_arguments_beyond_a_bound_are_told(payload: dict[str, object]) -> None:
    """What nothing has looked at must not pass as nothing."""
    assert not list_tool_arguments(payload).is_complete
