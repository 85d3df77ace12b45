"""Completion specs tell which options take a value, which commands there are, and sometimes what they do."""

import json
import tomllib
from collections.abc import Callable
from typing import Any

import pytest

from verdikt.effects.command_verbs import classify_word
from verdikt.knowledge.compiler import compile_files
from verdikt.knowledge.completion_spec import MAX_DEPTH, read_carapace_spec, read_fig_spec, read_usage_spec
from verdikt.knowledge.draft import Draft, DraftError, render_record

CARAPACE = """
name: acme
flags:
  -f, --file=: a file
  -v, --verbose: more
  --color?: when
persistentflags: {--site=: which}
commands:
  - {name: "wipe [site]", aliases: [w]}
  - name: site
    commands: [{name: show}]
"""
FIG = {
    "name": "acme",
    "options": [
        {"name": ["-f", "--file"], "args": {"name": "file"}},
        {"name": ["-v", "--verbose"]},
        {"name": "--color", "args": {"isOptional": True}},
        {"name": "--level", "args": [{}], "requiresSeparator": True},
        {"name": "--purge", "isDangerous": True},
    ],
    "subcommands": [
        {"name": ["erase", "e"], "isDangerous": True, "options": [{"name": "--site", "args": {}}]},
        {"name": "site", "subcommands": [{"name": "show"}]},
        {"name": "run", "args": [{"name": "site"}, {"isCommand": True}]},
    ],
}
USAGE = """
name "Acme"
bin "acme"
flag "-f --file <file>" help="a file"
flag "-v --verbose" count=#true negate="--quiet"
flag "--color [when]"
flag "--site" global=#true { arg "<site>" }
cmd "tidy" effect="destructive" help="removes what is old" { alias "t" hide=#true }
cmd "logs" effect="read" {
  flag "--clear" effect="destructive"
  flag "--follow"
}
cmd "use" { effect "write" }
cmd "site" { cmd "show" }
"""


def test_carapace_spec_marks_values_by_a_character() -> None:
    """An equals sign takes a value, a question mark may take one: such an option is listed nowhere."""
    assert read_carapace_spec(CARAPACE) == Draft(
        values=("-f", "--file", "--site"),
        flags=("-v", "--verbose"),
        commands=(Draft(names=("wipe", "w")), Draft(commands=(Draft(names=("show",)),), names=("site",))),
        names=("acme",),
    )


def test_fig_spec_tells_arguments_dangers_and_wrapped_commands() -> None:
    """An option with `args` takes a value, `isDangerous` destroys, `isCommand` is a command that it runs."""
    draft = read_fig_spec(json.dumps(FIG))

    assert (draft.values, draft.flags, draft.glued) == (
        ("-f", "--file"),
        ("-v", "--verbose", "--purge"),
        ("--level",),
    )
    assert draft.destroying == ("--purge",)
    assert draft.commands[0] == Draft(values=("--site",), names=("erase", "e"), kind="delete")
    assert draft.commands[2].command_at == 1


def test_usage_spec_tells_effects() -> None:
    """What a spec says of a command counts for more than its verb, and an option may raise it."""
    draft = read_usage_spec(USAGE)

    assert (draft.values, draft.flags) == (("-f", "--file", "--site"), ("-v", "--verbose", "--quiet"))
    assert draft.commands[0] == Draft(names=("tidy", "t"), kind="delete")
    assert draft.commands[1] == Draft(
        flags=("--clear", "--follow"), names=("logs",), kind="read", destroying=("--clear",)
    )
    assert draft.commands[2].kind == "write"


@pytest.mark.parametrize(
    ("draft", "destroying"),
    [
        (read_carapace_spec(CARAPACE), ["wipe", "w"]),
        (read_fig_spec(json.dumps(FIG)), ["erase", "e"]),
        (read_usage_spec(USAGE), ["tidy", "t", "logs"]),
    ],
    ids=["carapace", "fig", "usage"],
)
def test_draft_of_a_spec_compiles(draft: Draft, destroying: list[str]) -> None:
    """Commands that destroy have their row; the others are comments for the reviewer."""
    record = compile_files({"draft": tomllib.loads(render_record("acme", draft, classify_word))})["acme"]

    commands = {name: command for name, command in record["commands"].items() if "effects" in command}
    assert list(commands) == destroying
    assert all(command["effects"][0]["does"] == "unknown.destroy" for command in commands.values())


def test_wrapper_of_a_fig_spec_becomes_a_wrapper() -> None:
    """The words before the command are skipped."""
    text = render_record("acme", read_fig_spec(json.dumps(FIG)), classify_word)

    assert compile_files({"draft": tomllib.loads(text)})["acme"]["commands"]["run"]["runs"] == {"skip": 1}


def nest(depth: int) -> dict[str, Any]:
    """Return a spec of fig with commands in commands."""
    return {"name": "a", "subcommands": [nest(depth - 1)]} if depth else {"name": "a"}


def test_deep_commands_are_left_out() -> None:
    """No program has commands as deep, and a record compares four words."""
    draft, depth = read_fig_spec(json.dumps(nest(MAX_DEPTH + 5))), 0
    while draft.commands:
        draft, depth = draft.commands[0], depth + 1
    assert depth == MAX_DEPTH


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_carapace_spec, "- a", "expected a spec of carapace, found list"),
        (read_carapace_spec, "a: [", "expected a spec of carapace, found invalid YAML"),
        (read_fig_spec, "{", "expected a spec of fig, found invalid JSON"),
        (read_fig_spec, "[" * 100_000, "expected a spec of fig, found invalid JSON"),
        (read_fig_spec, "[]", "expected a spec of fig, found JSON without `name`"),
        (read_fig_spec, '{"a": 1}', "expected a spec of fig, found JSON without `name`"),
        (read_usage_spec, "cmd {", "expected a `usage` spec, found invalid KDL: line 1"),
        (read_usage_spec, "hello", "expected a `usage` spec, found no `bin`"),
        (
            read_usage_spec,
            'cmd "a" effect="safe"',
            "expected one of read, write, destructive as `effect`, found `safe`",
        ),
    ],
)
def test_text_that_is_no_spec_is_refused(read: Callable[[str], Draft], text: str, message: str) -> None:
    """A draft of nothing would look like a program that does nothing."""
    with pytest.raises(DraftError) as error:
        read(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    "spec",
    [
        {"name": None, "options": {"name": 3}, "subcommands": "x", "args": 7},
        {"name": ["acme"], "options": [None, {"name": ['-a" ]', "--ok"]}], "subcommands": [{"name": 'x"]\nevil = "1'}]},
        {"name": "acme", "options": [{"name": "-a", "args": []}, {"name": "-a", "args": {}}]},
    ],
)
def test_odd_values_of_a_spec_do_no_harm(spec: dict[str, Any]) -> None:
    """Names that are no names stay out of the record, which compiles whatever the spec holds."""
    text = render_record("acme", read_fig_spec(json.dumps(spec)), classify_word)

    assert "evil" not in text
    compile_files({"draft": tomllib.loads(text)})
