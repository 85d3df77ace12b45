"""Where a path lies: the quick look never disagrees with the tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeWorld
from verdikt.effects import zone
from verdikt.effects.target import TargetResolver
from verdikt.model.effect import Zone
from verdikt.model.facts import Facts

TABLES = (
    zone._GUARD_GLOBS,
    zone._HOOK_GLOBS,
    zone._PERSISTENCE_GLOBS,
    zone._SECRET_GLOBS,
    " ".join("/x/" + name for name in zone._SECRET_NAME_GLOBS.split()),
)
ENTRIES = sorted({entry for table in TABLES for entry in table.split()})
FILLINGS = ("a", "x.y", "prod", "1", "a/b")


def special(path: str) -> bool:
    """What the tables say of a path that is written with `~`."""
    return zone.is_guard_path(path) or zone.is_git_hook(path) or zone.is_persistence(path) or zone.is_secret(path)


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_entry_of_a_table_looks_plain(entry: str) -> None:
    """Whatever stands in the place of its wildcards, below a home, a project or the root."""
    for filling in FILLINGS:
        path = entry.replace("**", filling).replace("*", filling).replace("?", " ")
        for place in ("", "/home/dev/project/", "~/work/"):
            full = path if path.startswith(("/", "~")) else f"{place}{path}"
            if special(full):
                assert not zone.is_ordinary(full), full
                assert not zone.is_ordinary(full.replace("~", "/home/dev", 1)), full


@given(
    st.lists(
        st.sampled_from(
            [
                *"~ . etc home dev project src .ssh id_rsa x.py a.pem secrets.yml .env Library var cron.d x.json b_rsa site-packages x.pth".split()
            ]
        ),
        min_size=1,
        max_size=6,
    )
)
def test_a_plain_path_is_in_no_table(parts: list[str]) -> None:
    """Put together at random of telling parts."""
    path = "/" + "/".join(parts)

    if zone.is_ordinary(path):
        assert not special(zone.abbreviate_home(path, "/home/dev"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/dev/project/src/app.py", Zone.PROJECT),
        ("/home/dev/project", Zone.PROJECT),
        ("/home/dev/project/.env", Zone.SECRET),
        ("/home/dev/project/.env.example", Zone.PROJECT),
        ("/home/dev/project/.git/hooks/pre-commit", Zone.GUARD),
        ("/home/dev/project/.claude/settings.json", Zone.GUARD),
        ("/home/dev/project/src/token.ts", Zone.PROJECT),
        ("/home/dev/Documents/x.txt", Zone.HOME),
        ("/home/dev/.bashrc", Zone.PERSIST),
        ("/home/dev/.ssh/id_rsa", Zone.SECRET),
        ("/home/dev/.ssh/id_rsa.pub", Zone.HOME),
        ("/home/dev/.ssh/known_hosts", Zone.HOME),
        ("/home/alice/x", Zone.SYSTEM),
        ("/root/.bashrc", Zone.PERSIST),
        ("/tmp/x", Zone.TEMP),
        ("/tmp", Zone.OUTSIDE),
        ("/etc/hosts", Zone.SYSTEM),
        ("/etc/cron.d/x", Zone.PERSIST),
        ("/etc/shadow", Zone.SECRET),
        ("/usr/bin/env", Zone.SYSTEM),
        ("/mnt/disk", Zone.OUTSIDE),
        ("/", Zone.SYSTEM),
    ],
)
def test_every_place_has_its_zone(path: str, expected: Zone) -> None:
    """The examples that the tables are made for."""
    assert TargetResolver(Facts(FakeWorld())).find_zone(path) is expected


@pytest.mark.parametrize("home", ["/", "/home/dev/project"])
def test_a_home_or_a_disk_is_no_project(home: str) -> None:
    """Work there is outside of one, so that nobody's whole home counts as disposable."""
    world = FakeWorld(home=home, project_root=home, cwd=home)

    assert TargetResolver(Facts(world)).find_zone("/home/dev/project/x") is not Zone.PROJECT
