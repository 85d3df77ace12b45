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
        flags=("-v", "--verbose"),
        commands=tuple(Draft(names=(verb.lower(),), summary_verb=verb) for verb in ("Clone", "Drop", "List")),
    )


def test_draft_is_a_record_that_compiles() -> None:
    """What the verbs say becomes a row only for deletion; the other commands are left to the reviewer."""
    text = render_record("pgcopydb", read_help(HELP), classify_word)

    record = compile_files({"draft": tomllib.loads(text)})["pgcopydb"]
    assert record["values"] == "-s --source -T --table-jobs --dir"
    assert list(record["commands"]) == ["drop"]
    assert record["commands"]["drop"]["effects"][0]["does"] == "unknown.destroy"


def test_short_form_of_a_trial_is_one_and_a_doubtful_value_is_left_out() -> None:
    """`-n, --dry-run` are the same option; what may be a value or a description is read both ways."""
    text = (
        "Options:\n  -n, --dry-run          show it\n      --wait SECONDS how long\n  -v, --verbose          say more\n"
    )

    draft = read_help(text)
    assert (draft.dry_run, draft.flags) == (("-n", "--dry-run"), ("-n", "--dry-run", "-v", "--verbose"))
    assert 'dry_run = "-n --dry-run"' in render_record("x", draft, classify_word)


GROUPED_HELP = """usage: gitlike [-v | --version] [-C <path>] [--exec-path[=<path>]]
               [--git-dir=<path>] <command>

These are common commands:

start a working area
   clone     Clone a repository
 + copy      A group of commands

Options:
  -H, --host list      Sockets to connect to
  -j N                 How many at once
  -q quiet
  --color[=WHEN]       Colours
"""


def test_help_text_with_groups_of_commands_and_options_in_its_usage() -> None:
    """A word of doubt leaves an option out, so that it is read both ways; an attached value is no word of its own."""
    assert read_help(GROUPED_HELP) == Draft(
        values=("-C", "--git-dir", "-H", "--host", "-j"),
        flags=("-v",),
        commands=(Draft(names=("clone",), summary_verb="Clone"), Draft(names=("copy",), summary_verb="A")),
        glued=("--exec-path", "--color"),
    )


def test_own_name_among_the_commands_is_no_command() -> None:
    """Some programs print their own name above the list of their commands."""
    draft = read_help("Available commands:\n  tool\n    drop     Drop it\n")

    assert 'names = "tool"' in render_record("tool", draft, classify_word).splitlines()[3]
    assert render_record("tool", draft, classify_word).count("tool") == 1


def test_description_of_a_command_tells_what_its_name_does_not() -> None:
    """`scuttle  deletes a box` destroys, and an option that makes a dry run is no flag like any other."""
    draft = read_help(
        "Options:\n  --dry-run   only show\n\nCommands:\n  list     list boxes\n  scuttle  deletes a box\n"
    )

    record = render_record("boxferry", draft, classify_word)

    assert 'dry_run = "--dry-run"' in record
    assert '{ names = "scuttle", effects = ["unknown.destroy other"' in record
    assert '# { names = "list" }' in record
