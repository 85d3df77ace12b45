"""Mistyped commands."""

import pytest
from click.testing import CliRunner

from verdikt.cli import root


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["polcy", "show"], "no command `polcy` (did you mean `policy`?)"),
        (["policy", "shw"], "no command `shw` (did you mean `show`?)"),
        (["ledger", "tial"], "no command `tial` (did you mean `tail`?)"),
        (["grant", "lst"], "no command `lst` (did you mean `list`?)"),
        (["findings", "recrod"], "no command `recrod` (did you mean `record`?)"),
        (["xyzzy"], "no command `xyzzy`\n"),
    ],
)
def test_mistyped_command_gets_a_suggestion(words: list[str], message: str) -> None:
    """The closest name is suggested in every group, and a name close to none gets no suggestion."""
    result = CliRunner().invoke(root, words)

    assert result.exit_code == 2
    assert message in result.output
