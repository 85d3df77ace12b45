"""What an operator has permitted now, for commands that ask what would be decided."""

import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.batch import observe_and_decide
from verdikt.cli.store_access import open_data_store, resolve_home
from verdikt.errors import LedgerError
from verdikt.graph.guard_index import index_guards
from verdikt.ledger.grants import find_live_grants
from verdikt.ledger.pause import find_active_pause
from verdikt.model.grant import ANY_SESSION
from verdikt.model.redaction import redact_action

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy
    from verdikt.model.action import Action
    from verdikt.model.grant import Grant
    from verdikt.model.pause import Pause
    from verdikt.model.posture import Posture
    from verdikt.model.verdict import Decision


@dataclass(frozen=True, slots=True)
class Permissions:
    """The live grants of every session, and the pause that holds now."""

    grants: tuple["Grant", ...] = ()
    pause: "Pause | None" = None

    @classmethod
    def load(cls) -> "Permissions":
        """Return what the log of this user permits now; nothing, and a note on stderr, when it can't be read."""
        try:
            # A question must not create a data directory.
            if not (resolve_home(None) / "ledger").is_dir():
                return cls()
            store = open_data_store(None)
            return cls(find_live_grants(store, None, store.clock.now()), find_active_pause(store))
        except LedgerError as error:
            click.echo(f"grants and pauses are left out: {error}", err=True)
            return cls()


def decide_with_permissions(
    action: "Action",
    policy: "Policy",
    posture: "Posture",
    load_permissions: Callable[[], Permissions] = Permissions,
    memory: "Mapping[str, Any] | None" = None,
) -> "tuple[Decision, tuple[str, ...]]":
    """Return the decision on an action of this user, and notes on what let it pass or would do so in another session.

    As in a hook, permissions are read only when the policy alone does not let the action pass.
    """
    decide = partial(observe_and_decide, home=os.environ.get("HOME", ""), memory=memory)
    decision = decide(action, policy, posture)
    if decision.passed:
        return decision, _describe_exceptions(action, policy, posture)
    permissions = load_permissions()
    grants = tuple(grant for grant in permissions.grants if grant.session in (ANY_SESSION, action.session_id))
    if grants or permissions.pause:
        decision = decide(action, policy, posture, grants=grants, pause=permissions.pause)
    if decision.passed:
        return decision, ()

    def changes_verdict(grant: "Grant") -> bool:
        elsewhere = replace(action, session_id=grant.session)
        other = decide(elsewhere, policy, posture, grants=(*grants, grant))
        return other.verdict != decision.verdict

    others = (grant for grant in permissions.grants if grant not in grants and changes_verdict(grant))
    notes = [
        f"grant `{grant.id}` lifts `{grant.guard}` in session `{grant.session}`: {grant.reason}" for grant in others
    ]
    # A question about the policy alone is about what it says, not about how to get past it.
    return decision, (*notes, *([] if load_permissions is Permissions else _suggest_allow(action, policy, decision)))


def _suggest_allow(action: "Action", policy: "Policy", decision: "Decision") -> list[str]:
    """Return the command with which a person lets a stopped action through; none for a red line."""
    rule = decision.verdict.guard
    # A secret must not be printed, and no exception could name it.
    if decision.verdict.red_line or index_guards(policy).get(rule, True) or redact_action(action)[1]:
        return []
    scope = f"--tool {shlex.quote(action.tool)} --for always"
    if action.command:
        scope = f"--command {shlex.quote(action.command.strip())}"
    elif action.path:
        scope = f"--path {shlex.quote(action.path)}"
    return [f"to allow it: verdikt allow {rule} {scope}"]


def _describe_exceptions(action: "Action", policy: "Policy", posture: "Posture") -> tuple[str, ...]:
    """Return a note on each exception without which the policy would not let an action pass."""
    if not policy.exceptions:
        return ()
    home = os.environ.get("HOME", "")
    strict = observe_and_decide(action, policy.without_exceptions(), posture, home=home).verdict
    if strict.passed:
        return ()
    summaries = [exception.summary for exception in policy.exceptions if exception.rule == strict.guard]
    return (f"without an exception: {strict.kind.word} by {strict.guard}", *(f"exception {text}" for text in summaries))
