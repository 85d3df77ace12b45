"""Records mean what the format says: rows, conditions, commands, dry runs, unknown options."""

import itertools
from typing import Any

import pytest

from tests.fakes import FakeWorld
from tests.unit.effects.test_arguments import make_words
from verdikt.effects.invocation import Invocation
from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import build_program
from verdikt.effects.target import TargetResolver
from verdikt.knowledge.compiler import compile_files
from verdikt.model.facts import Facts
from verdikt.shell.command import Command, Word


def make_call(text: str) -> Invocation:
    """Return a command with `NAME=value` before it as its variables; `<` at the end says that it has input."""
    words = make_words(text.removesuffix("<"))
    count = sum(1 for word in itertools.takewhile(lambda word: "=" in word.text, words))
    assignments = tuple((word.text.split("=")[0], Word(word.text.split("=")[1])) for word in words[:count])
    command = Command(argv=words[count:], assignments=assignments, stdin="x" if text.endswith("<") else None)
    return Invocation(command, TargetResolver(Facts(FakeWorld())), (command,))


def evaluate(text: str, **record: Any) -> list[tuple[str, list[str]]]:
    """Return the effects of a command with their targets, by a record as it is written in a file."""
    program = build_program(compile_files({"test": {"program": [{"names": "x", **record}]}})["x"])
    call = make_call(text)
    return [(effect.what, [target.text for target in effect.targets]) for effect in evaluate_program(program, call)]


DOCKER: dict[str, Any] = {
    "does": "container.read",
    "values": "-H",
    "commands": [
        {"names": "volume", "does": "container.read"},
        {"names": "volume rm", "does": "container.volume.remove", "on": "*", "as": "resource"},
        {
            "names": "compose",
            "own": True,
            "values": "-f",
            "commands": [{"names": "down", "does": "container.stop", "on": "*", "as": "resource", "always": True}],
        },
    ],
}


def test_row_applies_only_under_its_conditions() -> None:
    """`when` and `unless` choose rows by one flag, two flags together, or a word."""
    rows = [
        {"does": "fs.delete", "on": "*", "when": "-r+-f"},
        {"does": "fs.list", "on": "*", "unless": "-r"},
        {"does": "db.drop", "when": "flushall"},
    ]

    assert evaluate("x -r -f a", effects=rows) == [("fs.delete", ["a"])]
    assert evaluate("x a", effects=rows) == [("fs.list", ["a"])]
    assert evaluate("x FLUSHALL", effects=rows) == [("fs.list", ["FLUSHALL"]), ("db.drop", [])]


def test_else_row_applies_only_if_no_earlier_row_did() -> None:
    """A list with `else` is read like a chain of conditions."""
    rows = [{"does": "k8s.delete", "when": "--prune"}, {"does": "k8s.read", "else": True}]

    assert evaluate("x --prune", effects=rows) == [("k8s.delete", [])]
    assert evaluate("x", effects=rows) == [("k8s.read", [])]


def test_row_without_its_target_has_no_effect_unless_it_always_has() -> None:
    """`rm` without operands deletes nothing; `docker system prune` needs none."""
    assert evaluate("x", does="fs.delete", on="*") == []
    assert evaluate("x", does="container.prune", on="*", always=True) == [("container.prune", [])]


def test_longest_command_matches_after_options_of_its_program() -> None:
    """In `docker -H x volume rm data` the command is `volume rm` and the operand `data`."""
    assert evaluate("docker -H h volume rm data", **DOCKER) == [("container.volume.remove", ["data"])]
    assert evaluate("docker volume ls", **DOCKER) == [("container.read", [])]
    assert evaluate("docker ps", **DOCKER) == [("container.read", [])]


def test_command_with_its_own_options_does_not_share_those_of_the_program() -> None:
    """`docker compose -f file down web` has a file of its own, though `docker -f` has none."""
    assert evaluate("docker compose -f a.yaml down web", **DOCKER) == [("container.stop", ["web"])]


@pytest.mark.parametrize(
    "text",
    ["docker --new x volume rm data", "docker -z x volume rm data", "docker --a 1 --b 2 volume rm data"],
)
def test_unknown_option_before_a_command_is_read_with_a_value_too(text: str) -> None:
    """An option that no record lists does not hide the command after its value."""
    assert ("container.volume.remove", ["data"]) in evaluate(text, **DOCKER)


def test_unknown_option_keeps_the_reading_without_a_value_when_that_is_stricter() -> None:
    """`docker volume rm --new data` removes `data`."""
    assert evaluate("docker volume rm --new data", **DOCKER) == [("container.volume.remove", ["data"])]


def test_one_of_two_unknown_options_may_take_a_value() -> None:
    """Each unknown option is also read with a value by itself."""
    assert ("container.volume.remove", ["data"]) in evaluate("docker --flag volume --new x rm data", **DOCKER)


def test_dry_run_and_help_have_no_effects() -> None:
    """A dry-run flag or `--help` makes a command harmless, whatever else it says."""
    record = {"does": "fs.delete", "on": "*", "dry_run": "-n --dry-run"}

    assert evaluate("x -n a", **record) == []
    assert evaluate("x --help", **record) == []


def test_unlisted_command_that_says_to_destroy_is_told() -> None:
    """A command that the record lacks is judged by its verb."""
    assert evaluate("docker plugin delete a", **DOCKER) == [("unknown.destroy", ["docker plugin delete a"])]


@pytest.mark.parametrize(
    ("kind", "text", "effects"),
    [
        ("address", "x http://example.com/a", [("net.send", ["example.com"])]),
        ("device", "x /dev/sda", [("net.send", ["/dev/sda"])]),
        ("device", "x disk.img", [("fs.write", ["disk.img"])]),
        ("sent_file", "x a.txt", [("fs.read", ["a.txt"])]),
        ("served", "x /etc", [("net.tunnel", ["/etc"])]),
        ("piped_code", "x a", []),
    ],
)
def test_shape_decides_what_is_told_of_a_target(kind: str, text: str, effects: list[tuple[str, list[str]]]) -> None:
    """A row's `as` can ask to look at the target first: an image file is no device."""
    assert evaluate(text, does="net.send", on="*", **{"as": kind}) == effects


def test_command_without_the_operands_it_needs_does_nothing() -> None:
    """It fails with a message about its use."""
    command = {"names": "delete", "needs": 2, "does": "k8s.delete", "on": "*", "as": "resource"}

    assert evaluate("x delete ns", commands=[command]) == []
    assert evaluate("x delete ns a", commands=[command]) == [("k8s.delete", ["ns", "a"])]


def test_effect_can_be_undone_under_a_condition() -> None:
    """`recoverable_when` overrides what the catalog says."""
    record = {"names": "x", "does": "k8s.delete", "recoverable_when": "--context=kind-*", "values": "--context"}
    program = build_program(compile_files({"test": {"program": [record]}})["x"])

    assert [e.recoverable for e in evaluate_program(program, make_call("x --context kind-a"))] == [True]
    assert [e.recoverable for e in evaluate_program(program, make_call("x --context prod"))] == [False]


def test_rows_that_judge_by_the_verb_replace_the_guess_about_unlisted_commands() -> None:
    """`verb` says where the verb may stand: the name of a service is none."""
    rows = [
        {"does": "cloud.delete", "on": "joined", "as": "resource", "when": "verb:delete"},
        {"does": "cloud.read", "else": True},
    ]
    record = {"verb": "1:", "effects": rows, "commands": [{"names": "login", "does": "cred.write"}]}

    assert evaluate("x vm delete a b", **record) == [("cloud.delete", ["vm delete a b"])]
    assert evaluate("x delete list", **record) == [("cloud.read", [])]
    assert evaluate("x iam tag delete-me", **{**record, "verb": "1"}) == [("cloud.read", [])]


def test_word_before_a_command_is_dropped() -> None:
    """`gcloud beta x delete` is the command `x delete`."""
    record = {"prefixes": "beta alpha", "commands": [{"names": "vm delete", "does": "cloud.delete", "on": "*"}]}

    assert evaluate("x beta vm delete a", **record) == evaluate("x vm delete a", **record)


def test_target_may_be_words_of_a_kind_or_a_fixed_path() -> None:
    """`on` picks words by a pattern, by where they lie, or names a path itself."""
    assert evaluate("x a svn://h/b", does="repo.delete", on="*=*://*", **{"as": "resource"}) == [
        ("repo.delete", ["svn://h/b"])
    ]
    assert evaluate("x README.md ./.env", does="cred.send", on="zone:*=secret") == [("cred.send", ["./.env"])]
    assert evaluate("x", does="fs.overwrite", on="/") == [("fs.overwrite", ["/"])]


def test_sql_row_is_judged_by_its_statements() -> None:
    """`as = "sql:…"` reads the words; the row's own effect stands for text that is elsewhere or unknown."""
    row = {"does": "cloud.write", "on": "--sql|input", "as": "sql:postgres", "always": True, "values": "--sql"}

    assert evaluate("x --sql select", **row) == [("db.read", [])]
    assert evaluate("x", **row) == [("cloud.write", [])]
    assert evaluate("x \ufffc --sql \ufffc", **row)[-1] == ("cloud.write", [])
