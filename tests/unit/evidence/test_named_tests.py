"""A request that names a test file."""

from pathlib import Path

from tests.scene import GREEN, Scene

ASKED = "Fix src/app.py so that tests/test_app.py passes"


def fix_named_test(directory: Path, command: str) -> Scene:
    """Play a request that names a test file, and an edit."""
    scene = Scene(directory)
    scene.ask(ASKED)
    scene.edit("src/app.py")
    scene.run(command, GREEN)
    return scene


def test_full_run_covers_the_named_test(tmp_path: Path) -> None:
    """Running all tests covers the named file."""
    assert fix_named_test(tmp_path, "pytest").say("Done. All tests pass.").allowed


def test_named_test_alone_proves_a_claim_about_it(tmp_path: Path) -> None:
    """A claim about the named file needs only that file."""
    assert fix_named_test(tmp_path, "pytest tests/test_app.py").say("Done. tests/test_app.py passes.").allowed


def test_claim_about_all_tests_needs_a_full_run(tmp_path: Path) -> None:
    """The refusal suggests a command that runs everything."""
    refused = fix_named_test(tmp_path, "pytest tests/test_app.py").say("Fixed. All tests pass.")
    assert not refused.allowed
    assert "prove it: pytest\n" in refused.reason
