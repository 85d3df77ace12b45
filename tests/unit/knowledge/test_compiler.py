"""Records are compiled from TOML into JSON texts, and mistakes in them are told with file and program."""

import json
from pathlib import Path
from typing import Any

import pytest

from verdikt.knowledge import find_record, find_role, list_programs
from verdikt.knowledge.compiler import (
    RecordError,
    build_namespace,
    build_tables,
    build_tasks,
    compile_files,
    iter_entries,
    read_files,
    render_module,
    write_module,
)


def compile_programs(*programs: dict[str, Any], **file: Any) -> dict[str, Any]:
    """Return the compiled records of one file."""
    return compile_files({"test": {"program": list(programs), **file}})


def test_single_effect_becomes_a_list_of_effects() -> None:
    """`does` in an entry itself is short for `effects` with one row."""
    record = compile_programs({"names": "x y", "does": "fs.read", "on": "*", "values": "-o"})["x"]

    assert record == {
        "names": ["x", "y"],
        "family": "test",
        "values": "-o",
        "effects": [{"does": "fs.read", "on": "*"}],
    }


def test_commands_with_several_names_are_looked_up_by_each() -> None:
    """Names of a command are separated by commas, because they may have several words."""
    record = compile_programs({"names": "x", "commands": [{"names": "rm, volume  rm", "does": "fs.delete"}]})["x"]

    assert list(record["commands"]) == ["rm", "volume rm"]
    assert [path for path, _ in iter_entries(record)] == ["", "rm", "volume rm"]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("fs.read", {"does": "fs.read"}),
        ("k8s.write resource", {"does": "k8s.write", "on": "*", "as": "resource", "always": True}),
        ("else fs.write on 0|-o", {"does": "fs.write", "on": "0|-o", "else": True}),
        (
            "db.drop on -d --db as database always possible recoverable when -f+!-n -x unless input: note all of it",
            {
                "does": "db.drop",
                "on": "-d --db",
                "as": "database",
                "always": True,
                "possible": True,
                "recoverable": True,
                "when": "-f+!-n -x",
                "unless": "input:",
                "note": "all of it",
            },
        ),
        ("vm.delete recoverable_when @local", {"does": "vm.delete", "recoverable_when": "--context=kind-*"}),
    ],
)
def test_effect_as_text_is_the_same_as_a_table(text: str, row: dict[str, Any]) -> None:
    """The text has the keys of a row as its words, in `effects`, after `does`, and in rows of the file."""
    sets = {"local": "--context=kind-*"}

    assert compile_programs({"names": "x", "effects": [text]}, sets=sets)["x"]["effects"] == [row]
    assert compile_programs({"names": "x", "does": text}, sets=sets)["x"]["effects"] == [row]
    assert compile_programs({"names": "x", "does": "@a"}, sets=sets, rows={"a": [text]})["x"]["effects"] == [row]


def test_entry_as_text_has_one_effect_and_nothing_else() -> None:
    """`EFFECT: NAMES` is a command, or a program of the short notation; `@rows: NAMES` refers to rows of the file."""
    records = compile_files(
        {
            "test": {
                "simple": ["fs.delete on *: unlink remove", {"names": "x", "commands": ["@put: a, b c", "db.read: d"]}],
                "rows": {"put": ["db.write when -f", "else db.read"]},
            }
        }
    )

    assert records["unlink"]["names"] == ["unlink", "remove"]
    assert records["unlink"]["effects"] == [{"does": "fs.delete", "on": "*"}]
    put = {"effects": [{"does": "db.write", "when": "-f"}, {"does": "db.read", "else": True}]}
    assert records["x"]["commands"] == {"a": put, "b c": put, "d": {"effects": [{"does": "db.read"}]}}


def test_set_is_replaced_by_its_words() -> None:
    """`@name` stands for the words of a set, after `=` for alternatives."""
    record = compile_programs(
        {"names": "x", "effects": [{"does": "fs.read", "when": "@loud 0=@kinds", "unless": "user@host"}]},
        sets={"loud": "-v --verbose", "kinds": "ns node*"},
    )["x"]

    assert record["effects"] == [{"does": "fs.read", "when": "-v --verbose 0=ns|node*", "unless": "user@host"}]


def test_words_after_a_set_belong_to_each_alternative() -> None:
    """`@name:*` stands for each word of the set with `:*` after it."""
    record = compile_programs({"names": "x", "does": "fs.read", "when": "*=@a|@a:*+-v"}, sets={"a": "libc6 bash"})["x"]

    assert record["effects"][0]["when"] == "*=libc6|bash|libc6:*|bash:*+-v"


def test_named_rows_are_the_effects_of_each_entry_that_refers_to_them() -> None:
    """`does = "@name"` stands for a list of rows of the file, in which sets are replaced too."""
    record = compile_programs(
        {"names": "x", "does": "@remove", "commands": [{"names": "rm", "does": "@remove"}]},
        rows={"remove": [{"does": "sys.crash", "when": "*=@vital"}, {"does": "pkg.remove", "else": True}]},
        sets={"vital": "bash init"},
    )["x"]

    rows = [{"does": "sys.crash", "when": "*=bash|init"}, {"does": "pkg.remove", "else": True}]
    assert record["effects"] == record["commands"]["rm"]["effects"] == rows


def test_name_of_a_set_is_no_name_of_rows() -> None:
    """Both are referred to as `@name`."""
    with pytest.raises(RecordError, match="`a` is the name of a set and of rows"):
        compile_programs({"names": "x"}, rows={"a": []}, sets={"a": "b"})


def test_program_like_another_has_its_entries_and_its_own() -> None:
    """`like` copies another record; own keys and commands replace or add."""
    records = compile_programs(
        {
            "names": "docker",
            "values": "-H",
            "does": "container.read",
            "commands": [{"names": "rm", "does": "fs.delete"}],
        },
        {"names": "podman", "like": "docker", "values": "--url", "commands": [{"names": "ps", "does": "fs.read"}]},
    )

    assert records["podman"]["values"] == "--url"
    assert records["podman"]["effects"] == [{"does": "container.read"}]
    assert list(records["podman"]["commands"]) == ["rm", "ps"]


def test_command_like_one_of_an_earlier_program_has_its_rows() -> None:
    """`like = "docker rm"` in a command copies that command, and its own options replace those of the other."""
    records = compile_programs(
        {"names": "docker", "commands": [{"names": "rm", "own": True, "values": "-t", "does": "fs.delete"}]},
        {"names": "buildah", "commands": [{"names": "remove", "like": "docker rm", "values": "-x"}]},
    )

    assert records["buildah"]["commands"]["remove"] == {"own": True, "values": "-x", "effects": [{"does": "fs.delete"}]}


def test_each_set_of_a_term_is_replaced_and_an_unknown_one_refused() -> None:
    """`token:@a+token:@b` has two sets; a misspelt one would be a condition that never holds."""
    sets = {"a": "x y", "b": "z"}
    record = compile_programs({"names": "p", "does": "fs.read", "when": "token:@a+!token:@b"}, sets=sets)["p"]

    assert record["effects"][0]["when"] == "token:x|y+!token:z"
    with pytest.raises(RecordError, match="p: unknown set `@c`"):
        compile_programs({"names": "p", "does": "fs.read", "when": "@c"}, sets=sets)


@pytest.mark.parametrize(
    ("programs", "message"),
    [
        ([{"does": "fs.read"}], "test.toml: a program without `names`"),
        ([{"names": "x"}, {"names": "y x"}], "test.toml: `x` is already in test.toml"),
        ([{"names": "x", "on": "*"}], "test.toml: x: `on` without `does`"),
        ([{"names": "x", "does": "a", "effects": []}], "test.toml: x: expected `does` or `effects`, found both"),
        ([{"names": "x", "does": "@y"}], "test.toml: x: expected the name of rows of the file after `@`, found `y`"),
        ([{"names": "x", "like": "y"}], "expected another program after `like`, found `y`"),
        ([{"names": "x", "like": "x"}], "x: expected another program after `like`, found `x`"),
        (
            [{"names": "x", "commands": [{"names": "a, a"}]}],
            "test.toml: x: expected a new name of a command, found `a`",
        ),
    ],
)
def test_mistake_in_a_record_is_told_with_its_place(programs: list[dict[str, Any]], message: str) -> None:
    """The text of an error names file, program and what was expected."""
    with pytest.raises(RecordError, match=message):
        compile_programs(*programs)


def test_invalid_toml_is_told_with_its_file(tmp_path: Path) -> None:
    """A syntax error names the file."""
    (tmp_path / "bad.toml").write_text("[[program]\n")

    with pytest.raises(RecordError, match="bad.toml: invalid TOML"):
        read_files(tmp_path)


def test_compiled_module_holds_what_the_sources_say(tmp_path: Path) -> None:
    """Writing twice changes nothing, and every name leads to its record."""
    target = tmp_path / "_compiled.py"
    namespace: dict[str, Any] = {}

    assert write_module(target)
    assert not write_module(target)
    exec(target.read_text(), namespace)

    records = compile_files(read_files())
    assert sorted(namespace["INDEX"]) == sorted(list_programs())
    assert (
        json.loads(namespace["RECORDS"][namespace["INDEX"]["kubectl"]]) == records["kubectl"] == find_record("kubectl")
    )


def test_roles_list_the_names_of_their_programs() -> None:
    """A role is looked up without parsing any record."""
    programs = [{"names": "curl wget", "roles": "downloader"}, {"names": "nc", "roles": "socket"}]
    files: dict[str, dict[str, Any]] = {"test": {"program": programs, "roles": {"ordinary_word": "mail"}}}

    roles = {"ordinary_word": ["mail"], "downloader": ["curl", "wget"], "socket": ["nc"]}
    assert build_tables(files)[2] == roles
    assert "INDEX = {'curl': 0, 'wget': 0, 'nc': 1}" in render_module(files)
    assert "bash" in find_role("shell")
    with pytest.raises(KeyError):
        find_role("no such role")


def test_tasks_are_compiled_by_program_and_word() -> None:
    """Each word of a kind leads to that kind, for every name of the row; an alias leads to the first name."""
    row = {"names": "mvn x", "aliases": "mvnw", "test": "test verify", "build": "compile", "goals": True}

    tasks, aliases = build_tasks({"test": {"tasks": [row]}})

    assert tasks["mvn"] == tasks["x"]
    assert tasks["mvn"] == {"goals": True, "kinds": {"test": "test", "verify": "test", "compile": "build"}}
    assert aliases == {"mvnw": "mvn"}


def test_tasks_of_one_program_stand_in_one_row() -> None:
    """A second row would hide the first."""
    with pytest.raises(RecordError, match=r"test\.toml: `x` has tasks already"):
        build_tasks({"test": {"tasks": [{"names": "x"}, {"names": "x"}]}})


def test_checkout_that_was_never_built_has_the_same_tables() -> None:
    """What is compiled on the fly equals what the module holds."""
    namespace: dict[str, Any] = {}
    exec(render_module(read_files()), namespace)

    built = build_namespace(read_files())

    assert {name: namespace[name] for name in built} == built
