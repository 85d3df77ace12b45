"""The hook started by its path: isolated, without `site`, and with everything it needs."""

import sys
from pathlib import Path

from tests.contract.hook import fire
from verdikt.adapters.wiring.registration import LAUNCH, is_ours

BARE = (sys.executable, "-I", "-S")
HOOK = (*BARE, LAUNCH, "claude", "PreToolUse")


def test_it_decides_with_what_lies_in_other_directories(tmp_path: Path) -> None:
    """A YAML parser for the first reading, a shell grammar for a script, and nothing for an ordinary command."""
    assert fire(HOOK, "ls -la src", tmp_path).stdout == "{}\n"
    assert fire(HOOK, "for f in a b; do ls $f; done", tmp_path).stdout == "{}\n"
    assert '"block"' in fire(HOOK, "cd / && { rm -rf *; }", tmp_path).stdout
    assert not list((tmp_path / "data" / "crashes").glob("*"))


def test_nothing_in_the_working_directory_stands_in_for_a_module(tmp_path: Path) -> None:
    """Neither for one of ours nor for one that is looked for last."""
    for name in ("verdikt", "json", "yaml", "re2", "tree_sitter", "sitecustomize", "usercustomize", "google"):
        (tmp_path / f"{name}.py").write_text("import os; os.write(1, b'{}'); os._exit(0)")
        (tmp_path / "src" / name).mkdir(parents=True)

    assert '"block"' in fire(HOOK, "cd / && { rm -rf *; }", tmp_path).stdout


def test_a_line_that_starts_the_script_is_known_as_ours() -> None:
    """However it was written down, in this version or an earlier one."""
    assert is_ours(f"guard.sh 20 closed python -I -S {LAUNCH} claude PreToolUse")
    assert is_ours("guard.sh 20 closed python -I -m verdikt.adapters.entry claude PreToolUse")
    assert not is_ours("python my/adapters/launch.py")
