"""What names in a sentence make certain about its topics, in nine languages."""

import pytest

from verdikt.claims.reader import SentenceClaim
from verdikt.claims.topics import refine_claims


def refine(text: str, *topics: str) -> tuple[str, ...]:
    """Return the topics of one sentence that claims something done."""
    return refine_claims([SentenceClaim(text, 0, len(text), "done", topics)])[0].topics


@pytest.mark.parametrize(
    "text",
    [
        "Created `docs/runbook.md` with the steps.",
        "`docs/runbook.md` mit den Schritten erstellt.",
        "`docs/runbook.md` créé.",
        "Creé `docs/runbook.md` con los pasos.",
        "Criei `docs/runbook.md` com os passos.",
        "Создал `docs/runbook.md`.",
        "`docs/runbook.md` を作成しました。",
        "新建了 `docs/runbook.md`。",
        "`docs/runbook.md`를 만들었습니다.",
    ],
)
def test_whole_file_that_was_created_is_a_file_operation(text: str) -> None:
    """A report about a whole file is one, in whichever language."""
    assert refine(text, "change") == ("file_operation",)


@pytest.mark.parametrize("text", ["In `cart.py` eine Funktion angelegt.", "Added a check to `cart.py`."])
def test_work_inside_a_file_is_a_change(text: str) -> None:
    """What was created inside a file leaves the file where it was."""
    assert refine(text, "change") == ("change",)


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("`cargo check` is clean.", ("build",)),
        ("Ruff and mypy are clean.", ("lint", "types")),
        ("`cargo check` complains.", ("change",)),
    ],
)
def test_named_check_that_is_clean_is_its_topic(text: str, topics: tuple[str, ...]) -> None:
    """A check by its name is sure to be meant; `cargo check` compiles and lints nothing."""
    assert refine(text) == topics


def test_version_that_is_released_is_no_commit() -> None:
    """A version is named like a tag; only words about git make it one."""
    assert refine("`v5.1.0` está publicada.", "commit", "release") == ("release",)
    assert refine("Released `v5.1.0` and tagged it.", "commit", "release") == ("commit", "release")
