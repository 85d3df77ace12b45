"""Every statement of the earlier programs' documents works as a user would try it, or is different on purpose."""

import re
from pathlib import Path

import pytest

from tests.seed_walk.statements import DIFFERENT, STATEMENTS
from tests.seed_walk.stories import STORIES
from tests.seed_walk.user import Story, User

PAGE = Path(__file__).parent.parent.parent / "docs" / "coming-from.md"


def test_every_statement_has_a_story_or_a_reason() -> None:
    """Each is tried, or is explained in the docs; none is both."""
    assert set(STATEMENTS) == set(STORIES) | set(DIFFERENT)
    assert not set(STORIES) & set(DIFFERENT)


def test_every_reason_stands_in_the_docs() -> None:
    """The page has the heading that the table names."""
    headings = re.findall(r"^### (.+)$", PAGE.read_text(), re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(DIFFERENT.values()) <= anchors


@pytest.mark.parametrize("story", dict.fromkeys(STORIES.values()), ids=lambda story: story.__name__)
def test_story_works(story: Story, tmp_path: Path) -> None:
    """A reader of the document who tries it finds what it says."""
    story(User(tmp_path))
