"""Whether a set of paths can meet a guarded path."""

import pytest

from verdikt.model.path_set import PathSet, PathSetKind, Pathspecs

P = "/p"
SETTINGS = "/p/.claude/settings.json"


@pytest.mark.parametrize(
    ("kind", "path", "below", "guarded", "expected"),
    [
        ("path", "/p/governance.yaml", False, "/p/governance.yaml", True),
        ("path", "/p/.codex/hooks.json", False, "/p/.codex", True),
        ("path", "/p/.claude", False, SETTINGS, False),
        ("path", "/p/governance.yaml.bak", False, "/p/governance.yaml", False),
        ("tree", "/p", False, SETTINGS, True),
        ("tree", "/p/.claude", False, SETTINGS, True),
        ("tree", "/p/.clau", False, SETTINGS, False),
        ("tree", "/p/.codex/x", False, "/p/.codex", True),
        ("glob", "/p/*.yaml", False, "/p/governance.yaml", True),
        ("glob", "/p/*", False, "/p/governance.yaml", True),
        ("glob", "/p/*", False, "/p/.claude", False),
        ("glob", "/p/.*", True, SETTINGS, True),
        ("glob", "/p/.cl*/set*", False, SETTINGS, True),
        ("glob", "/p/.cl*", False, SETTINGS, False),
        ("glob", "/p/.cl*", True, SETTINGS, True),
        ("glob", "/p/**/*.json", False, SETTINGS, True),
        ("glob", "/p/**/*.py", False, "/p/.git/hooks", False),
        ("glob", "/p/.codex/*.json", False, "/p/.codex", True),
        ("glob", "/p/[fg]overnance.y?ml", False, "/p/governance.yaml", True),
        ("copy", "/p", False, SETTINGS, False),
    ],
)
def test_set_meets_a_guarded_path(kind: str, path: str, below: bool, guarded: str, expected: bool) -> None:
    """Paths, directories and patterns are compared as a shell would understand them."""
    assert PathSet(PathSetKind(kind), path, below=below).can_meet(guarded) is expected


@pytest.mark.parametrize(
    ("specs", "cwd", "path", "expected"),
    [
        ([], P, SETTINGS, True),
        (["."], P, SETTINGS, True),
        (["src"], P, SETTINGS, False),
        ([".claude"], P, SETTINGS, True),
        (["."], "/p/src", SETTINGS, False),
        ([".."], "/p/src", SETTINGS, True),
        ([":/"], "/p/src", SETTINGS, True),
        ([".", ":!.claude"], P, SETTINGS, False),
        ([":!src"], P, SETTINGS, True),
        ([":(top,exclude).claude"], "/p/src", SETTINGS, False),
        ([":(exclude,icase).CLAUDE"], P, SETTINGS, True),
        ([":(icase)x"], P, SETTINGS, True),
        (["*.json"], P, SETTINGS, True),
        ([":^.claude", "."], P, "/p/governance.yaml", True),
    ],
)
def test_pathspecs_select_as_git_does(specs: list[str], cwd: str, path: str, expected: bool) -> None:
    """Exclusions, the top, patterns and magic that is not understood; the latter overlooks nothing."""
    assert Pathspecs.parse(specs, cwd=cwd, top=P).selects(path) is expected


def test_pattern_with_many_wildcards_is_matched_at_once() -> None:
    """A hostile pattern takes no longer than a plain one."""
    pattern = "/p/" + "**/*a*b/" * 40 + "x"

    assert not PathSet(PathSetKind.GLOB, pattern).can_meet("/p/" + "aab/" * 60 + "y")
