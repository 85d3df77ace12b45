"""A record tells which commands a program runs, and both the shell analysis and the effects use its options."""

import pytest

from tests.growth import LINEAR_GROWTH, measure_growth
from verdikt.shell import analyse
from verdikt.shell.runner import build_runner, find_runner


def list_inner(text: str) -> list[str]:
    """Return the commands inside the first one."""
    return [" ".join(word.text for word in command.argv) for command in analyse(text).commands[1:]]


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("docker -H h exec -u root db rm x", ["rm x"]),
        ("docker container exec db rm x", ["rm x"]),
        ("docker compose -f a.yaml exec -T db rm x", ["rm x"]),
        ("kubectl --request-timeout 30s exec pod -- rm x", ["rm x"]),
        ("docker --new-option v exec db rm x", ["rm x"]),
        ("docker --one 1 --two 2 exec db rm x", ["rm x"]),
        ("docker --debug exec db rm x", ["rm x"]),
        ("docker ps", []),
        ("docker", []),
    ],
)
def test_inner_command_is_found_behind_the_options_of_its_program(text: str, inner: list[str]) -> None:
    """Options of the program and of the command, listed or not, do not hide the inner command."""
    assert list_inner(text) == inner


def test_values_of_one_record_serve_program_and_commands() -> None:
    """An option of the program takes a value before the command and after it."""
    runner = find_runner("kubectl")

    assert runner is not None and runner.commands is not None
    assert "--context" in runner.valued.split()
    assert "--context" in runner.commands.rows["exec"].valued.split()


@pytest.mark.parametrize("name", ["python", "python3.15", "PYTHON.EXE", "python3"])
def test_interpreter_is_found_under_versioned_names(name: str) -> None:
    """A version or a suffix does not hide an interpreter."""
    runner = find_runner(name)

    assert runner is not None and runner.interpreter is not None
    assert runner.interpreter.language == "python"


def test_unknown_program_runs_nothing_that_is_known() -> None:
    """A name without a record has no runner, also when it ends with a digit."""
    assert find_runner("frobnicate") is None
    assert find_runner("rm2") is None


def test_option_is_known_by_each_abbreviation_that_means_no_other() -> None:
    """`--fil` is `--file` beside `--find`, `--fi` may be both, and an option that begins another stays itself."""
    record = {"names": ["pack"], "abbreviate": True, "values": "--file --find-all --x", "flags": "--find --other"}

    valued = build_runner(record).valued.split()

    assert {name for name in valued if name.startswith("--fi")} == {
        *("--fil", "--file"),
        *("--find-", "--find-a", "--find-al", "--find-all"),
    }
    assert "--o" not in valued
    assert "--x" in valued


def test_first_decision_about_a_program_does_not_compare_all_its_options_with_all() -> None:
    """Git has hundreds of options."""

    def build_record(number: int) -> dict[str, object]:
        return {"names": ["pack"], "abbreviate": True, "values": " ".join(f"--{index:05}" for index in range(number))}

    growth = measure_growth(lambda text: build_runner(build_record(int(text))), str, 2_400)

    assert growth < LINEAR_GROWTH
