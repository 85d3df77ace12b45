"""What a tool's schema says about its arguments."""

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

    arguments = list_tool_arguments({"command": "make deploy"}, schema)

    assert arguments == [Argument(URL, "make deploy"), Argument(SHELL, "make deploy")]
