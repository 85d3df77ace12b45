"""The page of each SDK says what a user has to know, and names files that exist."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted(path for path in (ROOT / "docs" / "sdks").glob("*.md") if path.name != "README.md")
INDEX = (ROOT / "docs" / "sdks" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_says_how_to_use_it_and_what_it_leaves_open(page: Path) -> None:
    """Three lines to begin with, what is not covered, and what a web application does with an ask."""
    text = page.read_text(encoding="utf-8")

    code = re.search(r"```python(?: run)?\n(.*?)```", text, re.DOTALL)
    assert code is not None
    assert "from verdikt.integrations" in code[1]
    assert "## What is not covered" in text
    assert "web application" in text
    assert f"({page.name})" in INDEX


def test_index_names_extras_that_exist() -> None:
    """Every extra in the table can be installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = set(re.findall(r"`verdikt-runtime\[([\w-]+)\]`", INDEX))

    assert named
    assert named <= set(project["optional-dependencies"])
