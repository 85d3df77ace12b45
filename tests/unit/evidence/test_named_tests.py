"""A request that names a test file: running it is about it, and so is running everything."""

from pathlib import Path

from tests.scene import GREEN, Scene

ASKED = "Fix src/app.py so that tests/test_app.py passes"


def worked(place: Path, command: str) -> Scene:
    scene = Scene(place)
    scene.ask(ASKED)
    scene.edit("src/app.py")
    scene.run(command, GREEN)
    return scene


def test_all_tests_are_about_a_named_one(tmp_path: Path) -> None:
    assert worked(tmp_path, "pytest").say("Done. All tests pass.").allowed


def test_the_named_one_is_enough_for_what_is_said_of_it(tmp_path: Path) -> None:
    assert worked(tmp_path, "pytest tests/test_app.py").say("Done. tests/test_app.py passes.").allowed


def test_what_proves_all_tests_runs_all_tests(tmp_path: Path) -> None:
    refused = worked(tmp_path, "pytest tests/test_app.py").say("Fixed. All tests pass.")
    assert not refused.allowed
    assert "prove it: pytest -q" in refused.reason
