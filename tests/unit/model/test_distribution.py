"""The name under which verdikt is published: no text names another distribution."""

import re
import tomllib
from pathlib import Path

from verdikt.model.distribution import DISTRIBUTION_NAME, INSTALL_COMMAND

ROOT = Path(__file__).parent.parent.parent.parent

# `verdikt` alone belongs to another project at the index: a person who installs it gets foreign code as their guard.
OTHER_DISTRIBUTION = re.compile(
    r"\b(?:(?:pip3?|pipx|uv tool|uv pip|uv|poetry|conda)\s+(?:install|add|run|inject)|uvx)"
    r"\s+(?:-\S+\s+)*['\"]?verdikt(?!-runtime)\b"
)
DIRECTORIES = ("src", "docs", "examples", "tests", "tools", "benchmarks", ".ci")
SUFFIXES = {".py", ".md", ".yaml", ".yml", ".toml", ".sh", ".js", ".json", ".c", ""}


def list_texts() -> list[Path]:
    """Return every text of the repository that a person may read an instruction in."""
    below = [path for name in DIRECTORIES for path in (ROOT / name).rglob("*")]
    return [path for path in (*ROOT.iterdir(), *below) if path.is_file() and path.suffix in SUFFIXES]


def test_the_project_is_published_under_this_name() -> None:
    """The constant in messages is the name in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["name"] == DISTRIBUTION_NAME
    assert INSTALL_COMMAND.endswith(DISTRIBUTION_NAME)


def test_no_text_tells_anyone_to_install_another_distribution() -> None:
    """Neither messages nor documentation nor comments do."""
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in list_texts()
        if path != Path(__file__) and "cases" not in path.parts  # commands that an agent may try
        for match in OTHER_DISTRIBUTION.finditer(path.read_text(errors="replace"))
    ]

    assert found == []


def test_the_pattern_finds_such_an_instruction() -> None:
    """The rule fires on the forms that people write."""
    for line in (
        "pip install verdikt",
        "pip install 'verdikt[cel]'",
        "uv tool install verdikt",
        "pipx install verdikt",
        "python -m pip install --upgrade verdikt",
        "uvx verdikt doctor",
        "poetry add verdikt",
    ):
        assert OTHER_DISTRIBUTION.search(line)
    assert not OTHER_DISTRIBUTION.search("uv tool install verdikt-runtime")
    assert not OTHER_DISTRIBUTION.search("uvx --from verdikt-runtime verdikt doctor")
