"""The words of a refusal: a command of this project that can be pasted, and never one that would do harm."""

import shlex
from pathlib import Path

import pytest

from tests.scripted_turn import TurnPlayer


def refuse(player: TurnPlayer, message: str) -> str:
    """Return the refusal of a message."""
    response = player.step({"say": message})
    assert response is not None
    assert response.exit_code == 2, player.last_stop
    return response.stderr


def find_command(refusal: str) -> str:
    """Return the command that a refusal names; empty without one."""
    lines = (line.partition("prove it: ")[2] for line in refusal.splitlines())
    return next(filter(None, lines), "")


def test_missing_commit_is_suggested_and_a_made_one_is_not_to_be_repeated(tmp_path: Path) -> None:
    """Without a commit the command is named; once there is one, a second would be noise."""
    player = TurnPlayer(tmp_path, "python")
    player.step({"ask": "Bump the version and commit it"})
    player.step({"replace": ["pyproject.toml", "0.1", "0.2"]})

    assert find_command(refuse(player, "I bumped the version and committed it.")) == "git commit"

    player.step({"run": "git add -A && git commit -q -m 0.2"})
    refusal = refuse(player, "I bumped the version, committed it and pushed it.")

    assert find_command(refusal) == "git push"
    assert "git commit" not in refusal


@pytest.mark.parametrize("name", ["my file.py", "it's.py", "$HOME.py", "-x.py", "a;b.py"])
def test_named_file_is_quoted_so_that_the_command_can_be_pasted(tmp_path: Path, name: str) -> None:
    """The shell reads the suggestion as the one file."""
    player = TurnPlayer(tmp_path, "none")
    player.step({"ask": "Write a script"})
    player.step({"edit": {name: "x = 1\n"}})

    command = find_command(refuse(player, "I wrote the script, and it works."))

    assert shlex.split(command)[-1].removeprefix("./") == name
    assert player.shell(command)[0] == 0


@pytest.mark.parametrize(
    ("project", "before", "command"),
    [
        ("python", "git switch -q -c 'fix/price'", "git push -u origin fix/price"),
        ("python", "git remote rename origin upstream && git switch -q -c fix", "git push -u upstream fix"),
        ("bare", "git switch -q -c fix", ""),
    ],
)
def test_missing_push_is_suggested_as_git_accepts_it(tmp_path: Path, project: str, before: str, command: str) -> None:
    """A branch that no remote has is named, with the remote that there is; without one nothing can be pushed."""
    player = TurnPlayer(tmp_path, project)
    player.step({"ask": "Add a note, commit it and push it"})
    player.step({"run": f"{before} && echo note > note.txt && git add note.txt && git commit -q -m note"})

    suggested = find_command(refuse(player, "I added `note.txt`, committed it and pushed the branch."))

    assert suggested == command
    assert not suggested or player.shell(suggested)[0] == 0


def test_refusal_without_a_command_says_what_to_say(tmp_path: Path) -> None:
    """Where nothing can prove it, the way out is to say that it is not verified."""
    player = TurnPlayer(tmp_path, "none")
    player.step({"ask": "Deploy it"})

    refusal = refuse(player, "I deployed it to production.")

    assert find_command(refusal) == ""
    assert "Say what is not verified." in refusal
    assert "make " not in refusal
    assert "2 more refusals, then this turn ends as unproven." in refusal


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"Makefile": "test:\n\ttrue\n"}, "make test"),
        ({"package.json": '{"scripts": {"test": "node --test"}}'}, "npm test"),
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, "pytest -q"),
        ({"tox.ini": "[tox]\n"}, "tox"),
        ({"Cargo.toml": '[package]\nname = "x"\n'}, "cargo test"),
        ({"go.mod": "module x\n"}, "go test ./..."),
        ({"pom.xml": "<project/>"}, "mvn -q test"),
        ({"build.gradle": ""}, "gradle test"),
    ],
)
def test_suggested_check_exists_in_the_project(tmp_path: Path, files: dict[str, str], command: str) -> None:
    """It is found from the files of the project."""
    player = TurnPlayer(tmp_path, "none")
    for name, text in files.items():
        (player.project / name).write_text(text)
    player.step({"ask": "Fix hello.py"})
    player.step({"edit": {"hello.py": "print('hi')\n"}})

    assert find_command(refuse(player, "I fixed hello.py. All tests pass.")) == command
