"""Program text in written files: by name, first line and key."""

import pytest

from tests.growth import LINEAR_GROWTH, measure_growth
from verdikt.effects.code_sections import blank_comments, detect_file_language, find_code_sections
from verdikt.effects.runner_settings import read_xml
from verdikt.effects.workflow_sections import read_workflow


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


@pytest.mark.parametrize(
    ("directory", "command"),
    [
        ("web", "cd web\nmake"),
        ('"my web" # the page', "cd 'my web'\nmake"),
        ("<<E", "cd '<<E'\nmake"),
        ("$(curl", "cd '$(curl'\nmake"),
        ("${{ matrix.place }}", "make"),
        ("", "make"),
    ],
)
def test_the_directory_of_a_step_is_one_word(directory: str, command: str) -> None:
    """Whatever it is, the commands of the step stay what they are; the value of an expression is not known."""
    sections = read_workflow(f"    steps:\n      - run: make\n        working-directory: {directory}\n")

    assert [section.text for section in sections] == [command]


@pytest.mark.parametrize("part", ["<!--", "<artifactId>maven-clean-plugin</artifactId><directory>"])
def test_a_build_in_xml_that_never_ends_is_read_in_linear_time(part: str) -> None:
    """A plugin or a comment without its end is looked for once."""
    assert measure_growth(read_xml, lambda count: part * count, 8000) < LINEAR_GROWTH
