"""Which grant lets what past which verdict."""

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


def deletes(*paths: str, certainty: Certainty = Certainty.CERTAIN) -> Effects:
    """Effects that delete these."""
    targets = tuple(Target(path, path=path) for path in paths)
    return Effects((Effect(cls=EffectClass.DESTRUCTIVE, what="fs.delete", targets=targets, certainty=certainty),))


def test_a_grant_covers_what_lies_below_its_place() -> None:
    """At it, or below it."""
    assert find_covering_grant([GRANT], BLOCK, BASH, NOW, deletes("/srv/cache/a")) is GRANT
    assert find_covering_grant([GRANT], BLOCK, BASH, NOW, deletes("/srv/cache", "/srv/cache/b/c")) is GRANT


@pytest.mark.parametrize(
    "effects",
    [
        deletes("/srv/cache2"),
        deletes("/srv"),
        deletes("/srv/cache/../etc"),
        deletes("/srv/cache/a", "/etc"),
        deletes("srv/cache/a"),
        deletes(""),
        deletes("/srv/cache/a", certainty=Certainty.POSSIBLE),
        Effects((Effect(cls=EffectClass.DESTRUCTIVE, what="fs.delete"),)),
        Effects(),
        Effects(
            (
                *deletes("/srv/cache/a"),
                Effect(cls=EffectClass.READ, what="fs.read", targets=(Target("k", path="/root/.ssh/id"),)),
            )
        ),
        None,
    ],
)
def test_a_grant_does_not_cover_what_is_elsewhere_or_unknown(effects: Effects | None) -> None:
    """Everything that the action does must be known to lie there, reads included."""
    assert find_covering_grant([GRANT], BLOCK, BASH, NOW, effects) is None


def test_a_grant_for_a_command_covers_exactly_that_command() -> None:
    """Not one that begins like it."""
    grant = replace(GRANT, target="rm -rf /srv/cache/a ")

    assert find_covering_grant([grant], BLOCK, BASH, NOW) is grant
    longer = replace(BASH, payload={"command": "rm -rf /srv/cache/a; rm -rf /"})
    assert find_covering_grant([grant], BLOCK, longer, NOW) is None


def test_a_grant_for_a_host_covers_effects_on_exactly_that_host() -> None:
    """By the target's text."""
    grant = replace(GRANT, target="api.example.com")
    action = Action(kind=ActionKind.FETCH, payload={"url": "https://api.example.com/x"}, session_id="s")

    def fetch(*hosts: str) -> Effects:
        targets = tuple(Target(host, kind="host") for host in hosts)
        return Effects((Effect(cls=EffectClass.NETWORK, what="net.fetch", targets=targets),))

    assert find_covering_grant([grant], BLOCK, action, NOW, fetch("api.example.com")) is grant
    assert find_covering_grant([grant], BLOCK, action, NOW, fetch("api.example.com", "evil.example")) is None


def test_a_file_tool_without_effects_is_judged_by_its_path() -> None:
    """Below the granted place only."""
    write = Action(kind=ActionKind.WRITE, payload={"file_path": "/srv/cache/x"}, session_id="s")

    assert find_covering_grant([GRANT], BLOCK, write, NOW) is GRANT
    assert find_covering_grant([GRANT], BLOCK, replace(write, payload={"file_path": "/etc/x"}), NOW) is None


def test_a_grant_holds_for_its_guard_session_and_time_only() -> None:
    """And for any session when it says so."""
    effects = deletes("/srv/cache/a")

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
def test_red_lines_and_failures_accept_no_grant(verdict: Verdict) -> None:
    """A crash never becomes permission, and a pass needs none."""
    assert find_covering_grant([GRANT], verdict, BASH, NOW, deletes("/srv/cache/a")) is None


@pytest.mark.parametrize(
    "change",
    [{"guard": ""}, {"target": " "}, {"session": ""}, {"reason": ""}, {"guard": "*"}, {"target": "/"}, {"target": "*"}],
)
def test_a_grant_without_scope_or_reason_cannot_be_built(change: dict[str, str]) -> None:
    """A grant for everything would be a way around the policy."""
    with pytest.raises(LedgerError):
        replace(GRANT, **change)
