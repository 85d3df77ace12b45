"""Which grant overrules which verdict."""

from dataclasses import replace

import pytest

from verdikt.errors import LedgerError
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Certainty, Effect, EffectClass, Effects, Target
from verdikt.model.grant import Grant, find_covering_grant
from verdikt.model.verdict import Verdict

NOW = 1_000.0
GRANT = Grant(id="g", guard="fs_delete", target="/srv/cache", session="s", expires=2_000, reason="cleanup")
BLOCK = Verdict.block(guard="fs_delete", reason="r", fix="f")
BASH = Action(kind=ActionKind.BASH, payload={"command": "rm -rf /srv/cache/a"}, session_id="s")


def delete_effects(*paths: str, certainty: Certainty = Certainty.CERTAIN) -> Effects:
    """Return effects that delete these paths."""
    targets = tuple(Target(path, path=path) for path in paths)
    return Effects((Effect(cls=EffectClass.DESTRUCTIVE, what="fs.delete", targets=targets, certainty=certainty),))


def test_grant_for_a_path_covers_everything_below() -> None:
    """A path grant covers its path and everything below."""
    assert find_covering_grant([GRANT], BLOCK, BASH, NOW, delete_effects("/srv/cache/a")) is GRANT
    assert find_covering_grant([GRANT], BLOCK, BASH, NOW, delete_effects("/srv/cache", "/srv/cache/b/c")) is GRANT


@pytest.mark.parametrize(
    "effects",
    [
        delete_effects("/srv/cache2"),
        delete_effects("/srv"),
        delete_effects("/srv/cache/../etc"),
        delete_effects("/srv/cache/a", "/etc"),
        delete_effects("srv/cache/a"),
        delete_effects(""),
        delete_effects("/srv/cache/a", certainty=Certainty.POSSIBLE),
        Effects((Effect(cls=EffectClass.DESTRUCTIVE, what="fs.delete"),)),
        Effects(),
        Effects(
            (
                *delete_effects("/srv/cache/a"),
                Effect(cls=EffectClass.READ, what="fs.read", targets=(Target("k", path="/root/.ssh/id"),)),
            )
        ),
        None,
    ],
)
def test_grant_for_a_path_does_not_cover_other_or_unknown_targets(effects: Effects | None) -> None:
    """Every effect of the action, reads included, must be known to lie below the path."""
    assert find_covering_grant([GRANT], BLOCK, BASH, NOW, effects) is None


def test_grant_for_a_command_covers_exactly_that_command() -> None:
    """A command that only begins like it is not covered."""
    grant = replace(GRANT, target="rm -rf /srv/cache/a ")

    assert find_covering_grant([grant], BLOCK, BASH, NOW) is grant
    longer = replace(BASH, payload={"command": "rm -rf /srv/cache/a; rm -rf /"})
    assert find_covering_grant([grant], BLOCK, longer, NOW) is None


def test_grant_for_a_host_covers_effects_on_exactly_that_host() -> None:
    """Targets that are no paths are compared by their text."""
    grant = replace(GRANT, target="api.example.com")
    action = Action(kind=ActionKind.FETCH, payload={"url": "https://api.example.com/x"}, session_id="s")

    def fetch_effects(*hosts: str) -> Effects:
        targets = tuple(Target(host, kind="host") for host in hosts)
        return Effects((Effect(cls=EffectClass.NETWORK, what="net.fetch", targets=targets),))

    assert find_covering_grant([grant], BLOCK, action, NOW, fetch_effects("api.example.com")) is grant
    assert find_covering_grant([grant], BLOCK, action, NOW, fetch_effects("api.example.com", "evil.example")) is None


def test_grant_without_effects_compares_the_path_of_the_action() -> None:
    """Without known effects, a file tool is covered only below the granted path."""
    write = Action(kind=ActionKind.WRITE, payload={"file_path": "/srv/cache/x"}, session_id="s")

    assert find_covering_grant([GRANT], BLOCK, write, NOW) is GRANT
    assert find_covering_grant([GRANT], BLOCK, replace(write, payload={"file_path": "/etc/x"}), NOW) is None


def test_grant_for_another_guard_session_or_time_does_not_apply() -> None:
    """A grant applies to its guard, its session and its time, and to every session when it says so."""
    effects = delete_effects("/srv/cache/a")

    assert find_covering_grant([replace(GRANT, guard="other")], BLOCK, BASH, NOW, effects) is None
    assert find_covering_grant([replace(GRANT, session="t")], BLOCK, BASH, NOW, effects) is None
    assert find_covering_grant([GRANT], BLOCK, BASH, 2_000.0, effects) is None
    assert find_covering_grant([replace(GRANT, session="*")], BLOCK, BASH, NOW, effects)


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict.block(guard="fs_delete", reason="r", fix="f", red_line=True),
        Verdict.block(guard="fs_delete", reason="r", fix="f", error=True),
        Verdict.pass_(guard="fs_delete"),
    ],
)
def test_grant_never_overrules_a_red_line_or_a_failure(verdict: Verdict) -> None:
    """A crash never becomes permission, and a pass needs no grant."""
    assert find_covering_grant([GRANT], verdict, BASH, NOW, delete_effects("/srv/cache/a")) is None


@pytest.mark.parametrize(
    "change",
    [{"guard": ""}, {"target": " "}, {"session": ""}, {"reason": ""}, {"guard": "*"}, {"target": "/"}, {"target": "*"}],
)
def test_grant_without_scope_or_reason_cannot_be_built(change: dict[str, str]) -> None:
    """A grant for everything would be a way around the policy."""
    with pytest.raises(LedgerError):
        replace(GRANT, **change)
