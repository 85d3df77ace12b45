"""Where a path lies."""

import pytest

from tests.fakes import FakeWorld
from verdikt.effects.target import TargetResolver
from verdikt.model.effect import Zone
from verdikt.model.facts import Facts


@pytest.mark.parametrize(
    ("path", "zone"),
    [
        ("/tmp/someone/Documents", Zone.HOME),
        ("/tmp/someone", Zone.HOME),
        ("/tmp/someone/project/src", Zone.PROJECT),
        ("/tmp/someone/.ssh/id_rsa", Zone.SECRET),
        ("/tmp/scratch", Zone.TEMP),
        ("/tmp/someone-else", Zone.TEMP),
        ("/var/tmp/x", Zone.TEMP),
    ],
)
def test_a_home_among_temporary_things_is_a_home(path: str, zone: Zone) -> None:
    """A container or a test may put it there; what is deleted in it is gone all the same."""
    world = FakeWorld(home="/tmp/someone", cwd="/tmp/someone/project", project_root="/tmp/someone/project")

    assert TargetResolver(Facts(world)).find_zone(path) is zone
