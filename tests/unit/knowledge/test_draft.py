"""A record is drafted from what a program says of itself."""

import tomllib

from verdikt.effects.command_verbs import classify_word
from verdikt.knowledge.compiler import compile_files
from verdikt.knowledge.draft import Draft, read_help, render_record

HELP = """Usage: pgcopydb [OPTIONS] COMMAND

Available commands:
  clone     Clone an entire database
  drop      Drop what was copied
  list      List database objects

Options:
  -s, --source <uri>      where to copy from
  -T, --table-jobs=NUM    how many at once
      --dir string        working directory
  -v, --verbose           say more, see --quiet
  -h, --help              show this
"""


def test_help_text_tells_options_and_commands() -> None:
    """An option with a placeholder takes a value; what stands in a description counts for nothing."""
    assert read_help(HELP) == Draft(
        values=("-s", "--source", "-T", "--table-jobs", "--dir"),
        flags=("-v", "--verbose", "-h", "--help"),
        commands=(Draft(names=("clone",)), Draft(names=("drop",)), Draft(names=("list",))),
    )


def test_draft_is_a_record_that_compiles() -> None:
    """What the verbs say becomes a row only for deletion; the other commands are left to the reviewer."""
    text = render_record("pgcopydb", read_help(HELP), classify_word)

    record = compile_files({"draft": tomllib.loads(text)})["pgcopydb"]
    assert record["values"] == "-s --source -T --table-jobs --dir"
    assert list(record["commands"]) == ["drop"]
    assert record["commands"]["drop"]["effects"][0]["does"] == "unknown.destroy"
