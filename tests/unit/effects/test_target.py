"""The zone of a path: the tables, the quick check before them, and homes in unusual places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes import FakeWorld
from verdikt.effects import target, zone_tables
from verdikt.effects.target import TargetResolver
from verdikt.model.effect import Zone
from verdikt.model.facts import Facts

TABLES = (
    zone_tables.GUARD_GLOBS,
    zone_tables.HOOK_GLOBS,
    zone_tables.PERSISTENCE_GLOBS,
    zone_tables.SECRET_GLOBS,
    " ".join("/x/" + name for name in zone_tables.SECRET_NAME_GLOBS.split()),
)
GLOBS = sorted({glob for table in TABLES for glob in table.split()})
WILDCARD_VALUES = ("a", "x.y", "prod", "1", "a/b")
PATH_PARTS = (
    "~ . etc home dev project src .ssh id_rsa x.py a.pem secrets.yml .env Library var cron.d x.json b_rsa "
    "site-packages x.pth"
).split()


def is_in_a_table(path: str) -> bool:
    """Return whether any table lists a path that is written with `~`."""
    predicates = (target.is_guard_path, target.is_git_hook, target.is_persistence, target.is_secret)
    return any(predicate(path) for predicate in predicates)


@pytest.mark.parametrize("glob", GLOBS)
def test_path_that_a_table_lists_is_not_ordinary(glob: str) -> None:
    """Whatever its wildcards stand for, and whether it lies below a home, a project or the root."""
    for value in WILDCARD_VALUES:
        path = glob.replace("**", value).replace("*", value).replace("?", " ")
        for directory in ("", "/home/dev/project/", "~/work/"):
            full_path = path if path.startswith(("/", "~")) else f"{directory}{path}"
            if is_in_a_table(full_path):
                assert not target.is_ordinary(full_path), full_path
                assert not target.is_ordinary(full_path.replace("~", "/home/dev", 1)), full_path


@given(st.lists(st.sampled_from(PATH_PARTS), min_size=1, max_size=6))
def test_ordinary_path_is_in_no_table(parts: list[str]) -> None:
    """The quick check never calls a path ordinary that a table lists; paths are random mixtures of telling parts."""
    path = "/" + "/".join(parts)

    if target.is_ordinary(path):
        assert not is_in_a_table(target.abbreviate_home(path, "/home/dev"))


@pytest.mark.parametrize(
    ("path", "expected_zone"),
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
def test_find_zone_of_a_typical_path_returns_its_zone(path: str, expected_zone: Zone) -> None:
    """Each zone has examples that the tables are made for."""
    assert TargetResolver(Facts(FakeWorld())).find_zone(path) is expected_zone


@pytest.mark.parametrize("home", ["/", "/home/dev/project"])
def test_home_or_whole_disk_is_never_a_project(home: str) -> None:
    """Work in a home or at the root is outside any project, so that a whole home never counts as disposable."""
    world = FakeWorld(home=home, project_root=home, cwd=home)

    assert TargetResolver(Facts(world)).find_zone("/home/dev/project/x") is not Zone.PROJECT


@pytest.mark.parametrize(
    ("path", "expected_zone"),
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
def test_home_below_a_temporary_directory_is_still_a_home(path: str, expected_zone: Zone) -> None:
    """Containers and tests put homes there; what is deleted in one is gone all the same."""
    world = FakeWorld(home="/tmp/someone", cwd="/tmp/someone/project", project_root="/tmp/someone/project")

    assert TargetResolver(Facts(world)).find_zone(path) is expected_zone
