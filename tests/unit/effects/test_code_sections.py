"""Program text in written files: by name, first line and key."""

import pytest

from verdikt.effects.code_sections import blank_comments, detect_file_language, find_code_sections


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("/p/a.py", "", "python"),
        ("/p/a.tsx", "", "node"),
        ("/p/a.sh", "", "sh"),
        ("/p/bin/run", "#!/usr/bin/env python3\n", "python"),
        ("/p/bin/run", "#!/bin/bash\n", "sh"),
        ("/p/.husky/pre-push", "npm test\n", "sh"),
        ("/p/tox.ini", "", "settings"),
        ("/p/migration.sql", "", ""),
        ("/p/README.md", "", ""),
        ("/p/data.csv", "", ""),
    ],
)
def test_language_is_told_by_name_or_first_line(path: str, text: str, language: str) -> None:
    """Prose, data and migrations have none."""
    assert detect_file_language(path, text) == language


def test_comments_and_quoted_calls_are_blanked_and_lines_stay() -> None:
    """What a comment says is not run, and the lines after it keep their numbers."""
    text = "a()\n/* b()\nc() */\nd('exec(\"x\")') // e()\nexec('node -e \"f(\\'x\\')\"')\n"

    blanked = blank_comments("node", text)

    assert blanked.count("\n") == text.count("\n")
    assert "b()" not in blanked
    assert "e()" not in blanked
    assert 'exec("x")' not in blanked
    assert "node -e" in blanked


def test_settings_give_command_lines_with_their_lines() -> None:
    """Descriptions and comments are no commands."""
    text = "tasks:\n  a:\n    desc: rm -rf it\n    # rm -rf x\n    cmds:\n      - go build ./...\n"

    assert [(s.text, s.line) for s in find_code_sections("/p/Taskfile.yml", text)] == [("go build ./...", 6)]


@pytest.mark.parametrize("text", ["{", "[]", '{"cells": 3}', '{"scripts": []}', "\0", "x" * 5000])
@pytest.mark.parametrize("name", ["a.ipynb", "package.json", "CMakeLists.txt", "tox.ini", "rules.mk", "a.rs"])
def test_odd_text_never_raises(name: str, text: str) -> None:
    """A file that is not what its name says has sections or none."""
    assert isinstance(find_code_sections(f"/p/{name}", text), list)
