"""Text that is read by the words that meet in it: every case of `tests/cases/any_language.yaml`."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.effects.test_cases import ROOT, make_world
from verdikt.effects.any_language.meetings import find_meeting
from verdikt.effects.armed_text import ArmedText, judge_text
from verdikt.effects.script_classifier import ScriptClassifier
from verdikt.effects.target import TargetResolver
from verdikt.model.effect import Effect
from verdikt.model.facts import Facts
from verdikt.shell.command import Command

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parents[3] / "cases" / "any_language.yaml").read_text())
THREATS = [case for case in CASES if "threat" in case]


@pytest.fixture(scope="module")
def resolver() -> TargetResolver:
    """Return the resolver of the project that the cases assume."""
    return TargetResolver(Facts(make_world({})))


def judge(case: dict[str, Any], text: str, resolver: TargetResolver) -> ArmedText | None:
    """Judge a text of a case as it is judged when a tool writes it."""

    def classify_shell(inner: str, command: Command) -> list[Effect]:
        return ScriptClassifier(resolver).classify_shell(inner, command.cwd, command.host)

    return judge_text(f"{ROOT}/{case['file']}", text, resolver, classify_shell)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in THREATS])
def test_threat_arms_with_its_effect_and_a_line_of_the_text(case: dict[str, Any], resolver: TargetResolver) -> None:
    """What harms outside the project arms the file, whichever reader finds it."""
    armed = judge(case, case["threat"], resolver)

    assert armed is not None
    assert armed.what.startswith(case["effect"])
    assert 1 <= armed.line <= case["threat"].count("\n")


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in CASES])
def test_harmless_twin_does_not_arm(case: dict[str, Any], resolver: TargetResolver) -> None:
    """The same words about the project, a temporary directory or an ordinary host are ordinary work."""
    assert judge(case, case["twin"], resolver) is None


def test_cases_number() -> None:
    """There are at least 70 pairs, in at least 30 languages and formats."""
    assert len(THREATS) >= 70
    assert len({case["file"].rpartition(".")[2] for case in THREATS}) >= 30


def test_meeting_names_line_effect_and_place(resolver: TargetResolver) -> None:
    """The line is that of the word, in the file with its comments."""
    text = '// one\n/* two\n   three */\nval d = File(System.getenv("HOME"), "notes")\nd.deleteRecursively()\n'

    assert find_meeting(f"{ROOT}/a.kts", text, resolver) == (5, "fs.delete.tree", "~/notes")


@pytest.mark.parametrize(
    "path", ["README.md", "notes.txt", "docs/a.rst", "yarn.lock", ".gitignore", "tests/fixtures/a.json", ".env"]
)
def test_prose_locks_and_data_are_not_read(path: str, resolver: TargetResolver) -> None:
    """What no build loads arms nothing, whatever it says."""
    assert find_meeting(f"{ROOT}/{path}", 'delete(System.getenv("HOME") + "/notes")\n', resolver) is None


def test_settings_that_name_an_unread_download(resolver: TargetResolver) -> None:
    """An agent, a plugin or a library that the session downloaded and did not read is named by its file."""
    text = "-Xmx1g\n-javaagent:tools/trace.jar\n"
    path = f"{ROOT}/.mvn/jvm.config"

    assert find_meeting(path, text, resolver, [f"{ROOT}/tools/trace.jar"]) == (2, "code.remote", "trace.jar")
    assert find_meeting(path, text, resolver, [f"{ROOT}/tools/other.jar"]) is None
    assert find_meeting(path, "# tools/trace.jar\n-Xmx1g\n", resolver, [f"{ROOT}/tools/trace.jar"]) is None
