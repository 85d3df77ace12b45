"""Try every statement and print a table: works, different on purpose, or what failed."""

import sys
import tempfile
from pathlib import Path

from tests.seed_walk.statements import DIFFERENT, STATEMENTS
from tests.seed_walk.stories import STORIES
from tests.seed_walk.user import Story, User


def main() -> int:
    """Print the table; return 1 when a statement does not work."""
    results: dict[Story, str] = {}
    for story in dict.fromkeys(STORIES.values()):
        with tempfile.TemporaryDirectory(prefix="verdikt-walk-") as folder:
            try:
                story(User(Path(folder)))
                results[story] = "works"
            except AssertionError as error:
                results[story] = f"FAILS in {story.__name__}: {str(error)[:200]}"
    for id, words in STATEMENTS.items():
        different = f"different on purpose: docs/coming-from.md#{DIFFERENT[id]}" if id in DIFFERENT else ""
        print(f"{id:<7} {different or results[STORIES[id]]:<40} {words}")
    return int(any(result != "works" for result in results.values()))


sys.exit(main())
