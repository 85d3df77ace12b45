"""`verdikt allow`: an exception for what was stopped, as narrow as the case, for a while or for good."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.duration import parse_duration
from verdikt.cli.operator_access import get_user_name, require_terminal
from verdikt.cli.policy_editor import AllowedScope, PolicyEditor
from verdikt.cli.posture import find_newest_session
from verdikt.cli.store_access import (
    home_option,
    json_option,
    open_existing_store,
    resolve_session,
    resolve_sessions,
)
from verdikt.errors import LedgerError
from verdikt.graph.rule_exception import RuleException
from verdikt.ledger.grants import add_grant
from verdikt.model.action import action_from_record
from verdikt.model.entry import EntryKind
from verdikt.model.grant import ANY_SESSION, MAX_GRANT_SECONDS, Grant
from verdikt.model.verdict import VerdictKind
from verdikt.observe.world import find_project_root
from verdikt.replay import read_decision, replay
from verdikt.report.counted_noun import format_count
from verdikt.report.entry_line import shorten_session

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore
    from verdikt.replay import RecordedDecision

ALWAYS, SESSION, ONCE = "always", "session", "once"
SESSION_SECONDS = 86_400
"""How long a permission for one session lasts at most."""

_MAX_EXAMPLES = 5


@click.command()
@click.argument("what", metavar="last|#N|RULE")
@click.option("--path", multiple=True, metavar="GLOB", help="Let these paths through; default: what was stopped.")
@click.option("--command", "command_text", default="", help="Let this exact command through.")
@click.option("--tool", default="", help="Let this tool through.")
@click.option("--here", is_flag=True, help="Only in this project.")
@click.option(
    "--for", "duration", default=SESSION, show_default=True, metavar="TIME", help="once, session, 30m, 2h … or always."
)
@click.option("--in-project", is_flag=True, help="Write a lasting exception into the project's file, for the team.")
@click.option("--reason", default="", help="Why; default: asked for.")
@click.option("--session", default="", help="The session of `last` or #N; default: the newest.")
@json_option
@home_option
def command(
    *,
    what: str,
    path: tuple[str, ...],
    command_text: str,
    tool: str,
    here: bool,
    duration: str,
    in_project: bool,
    reason: str,
    session: str,
    as_json: bool,
    home: Path | None,
) -> None:
    """Let through what a rule stopped: the last call, entry N of the session, or what a rule would stop.

    For one call, a session or a time it is a signed grant; `--for always` writes `exceptions:` into your own policy
    file, or with `--in-project` into the project's. Shows what it would let through, and asks for confirmation at the
    terminal. Red lines accept neither.

    \b
    Example: verdikt allow last --for once
             verdikt allow delete_outside --path '~/scratch/**' --for always --reason 'a playground'
    """  # noqa: D301
    seconds = _parse_lifetime(duration)
    if in_project and (here or seconds is not None):
        raise click.UsageError("--in-project goes with `--for always`, and holds in this project alone")
    require_terminal("allowing")
    store = open_existing_store(home)
    scope = AllowedScope(
        path, command_text, tool, find_project_root(os.getcwd(), os.environ.get("HOME", "")) if here else ""
    )
    editor = PolicyEditor(os.getcwd(), str(get_user_name()), int(store.clock.now()), in_project=in_project)
    past = None
    if what == "last" or what.lstrip("#").isdigit():
        past = _find_stopped_call(store, what, session)
        scope = _narrow_scope(past, scope)
        exceptions = editor.find_needed_exceptions(past, scope, reason or "-")
        click.echo(f"{shorten_session(past.session)} #{past.seq}: {_describe_call(past)}", err=True)
    else:
        if scope.is_empty:
            raise click.UsageError("expected what the rule lets through: --path, --command or --tool")
        exceptions = editor.complete_exceptions(editor.build_exception(what, scope, reason or "-"))
    editor.require_allowed(exceptions)
    target_session = _choose_session(store, past, duration)
    click.echo(f"to allow, {_describe_lifetime(duration, target_session)}:", err=True)
    _show_effect(store, editor, exceptions)
    reason = reason or click.prompt("why", err=True)
    exceptions = [replace(exception, reason=reason) for exception in exceptions]
    if click.prompt("type `allow` to confirm", err=True) != "allow":
        raise click.ClickException("nothing was allowed: only the word `allow` confirms")
    if seconds is None:
        result = editor.write(store, exceptions)
    else:
        result = _add_grants(store, exceptions, seconds, target_session, once=duration == ONCE)
    click.echo(json.dumps(result) if as_json else "\n".join(_describe_result(result)))


def _choose_session(store: "FileStore", past: "RecordedDecision | None", duration: str) -> str:
    """Return the session that a grant is for: that of the stopped call, or any."""
    if past is None or duration not in (SESSION, ONCE):
        return ANY_SESSION
    last = next(reversed(list(store.read_entries(past.session, since=past.seq))), None)
    if last is None or last.kind is not EntryKind.CHECKPOINT or last.body.get("reason") != "session_end":
        return past.session
    if duration == ONCE:
        # A session that has ended can't make the call again, and one call is narrow enough.
        return ANY_SESSION
    click.echo(f"session {past.session[:8]} has ended: this holds if it is resumed; a new one needs --for 2h", err=True)
    return past.session


def _parse_lifetime(duration: str) -> int | None:
    """Return the seconds of a permission; None for one that lasts."""
    if duration == ALWAYS:
        return None
    seconds = SESSION_SECONDS if duration in (SESSION, ONCE) else parse_duration(duration, "mhd")
    if not seconds or seconds > MAX_GRANT_SECONDS:
        raise click.UsageError(
            f"--for: expected `once`, `session`, `always` or a time up to 30d such as 2h, found `{duration}`"
        )
    return seconds


def _describe_lifetime(duration: str, session: str) -> str:
    """Return for how long a permission lasts, in words."""
    if duration == ALWAYS:
        return "for good (in your policy file)"
    if duration not in (SESSION, ONCE):
        return f"for {duration}"
    often = "once, " if duration == ONCE else ""
    where = "in any session" if session == ANY_SESSION else f"in session {shorten_session(session)}"
    return f"{often}{where}, for a day at most (`--for` says otherwise)"


def _find_stopped_call(store: "FileStore", what: str, session: str) -> "RecordedDecision":
    """Return the newest call of a session that was asked about or blocked, or the one with this number."""
    session = resolve_session(store, session) if session else find_newest_session(store)
    stopped = None
    seq = None if what == "last" else int(what.lstrip("#"))
    for entry in store.read_entries(session, since=seq - 1 if seq else 0):
        past = read_decision(entry)
        if past is not None and past.kind >= VerdictKind.ASK:
            stopped = past
        if seq is not None:
            break
    if stopped is None:
        where = f"entry {seq} of session `{session}` stopped nothing" if seq else f"session `{session}` stopped nothing"
        raise LedgerError(f"{where}; `verdikt ledger tail` shows what happened")
    return stopped


def _narrow_scope(past: "RecordedDecision", scope: AllowedScope) -> AllowedScope:
    """Return the scope as given, or else the narrowest one that covers a call."""
    if not scope.is_empty:
        return scope
    action = action_from_record(past.receipt["action"])
    if past.receipt["facts"]["secrets"]:
        # The log has a token in its place, and a decision sees neither.
        raise LedgerError("the call holds a secret, so it can't be named exactly: give --path, or take the secret out")
    if action.command:
        return replace(scope, command=action.command.strip())
    if action.path:
        return replace(scope, path=(os.path.normpath(os.path.join(action.cwd, action.path)),))
    return replace(scope, tool=action.tool)


def _describe_call(past: "RecordedDecision") -> str:
    action, verdict = action_from_record(past.receipt["action"]), past.receipt["verdict"]
    text = " ".join((action.command or action.path).split())[:100]
    return f"{verdict['kind']} by {verdict['guard']}: {action.tool} {text}".rstrip()


def _show_effect(store: "FileStore", editor: PolicyEditor, exceptions: Sequence[RuleException]) -> None:
    """Print what the exceptions would have let through, from the log."""
    rules = {exception.rule for exception in exceptions}
    for exception in exceptions:
        click.echo(f"  {exception.scope_summary}", err=True)
    policy = editor.build_policy(exceptions)
    stopped = list(_iter_stopped_calls(store, rules))
    passing = [past for past in stopped if replay(past, policy).passed]
    calls = format_count(len(stopped), "past call")
    click.echo(f"of {calls} that {', '.join(sorted(rules))} stopped, it would let {len(passing)} through", err=True)
    for text in list(dict.fromkeys(map(_describe_call, passing)))[:_MAX_EXAMPLES]:
        click.echo(f"  {text}", err=True)


def _iter_stopped_calls(store: "FileStore", rules: set[str]) -> "Iterator[RecordedDecision]":
    for name in resolve_sessions(store, None):
        for entry in store.reader.read_intact_entries(name):
            past = read_decision(entry)
            if past is not None and past.kind >= VerdictKind.ASK and past.receipt["verdict"]["guard"] in rules:
                yield past


def _add_grants(
    store: "FileStore", exceptions: Sequence[RuleException], seconds: int, session: str, *, once: bool
) -> dict[str, Any]:
    """Add a signed grant for each exception."""
    now = int(store.clock.now())
    grants = [
        Grant(
            id=os.urandom(4).hex(),
            guard=exception.rule,
            target=_find_grant_target(exception),
            session=session,
            expires=now + seconds,
            reason=exception.reason,
            by=exception.by,
            created=now,
            once=once,
        )
        for exception in exceptions
    ]
    for grant in grants:
        add_grant(store, grant)
    return {"grants": [grant.to_record() for grant in grants]}


def _find_grant_target(exception: RuleException) -> str:
    """Return what a grant can cover: an exact command, or a directory with everything below it."""
    if exception.project or exception.tool or len(exception.path) > 1:
        raise LedgerError("a tool, several paths or --here can only be allowed with `--for always`")
    if exception.command:
        return exception.command
    path = os.path.expanduser(exception.path[0]).removesuffix("/**")
    if not path.startswith("/"):
        path = os.path.join(find_project_root(os.getcwd(), os.environ.get("HOME", "")), path)
    if any(mark in path for mark in "*?["):
        raise LedgerError(f"`{exception.path[0]}` can only be allowed with `--for always`: a grant has no wildcards")
    return os.path.normpath(path)


def _describe_result(result: dict[str, Any]) -> Iterator[str]:
    for grant in result.get("grants", ()):
        where = "any session" if grant["session"] == ANY_SESSION else f"session {shorten_session(grant['session'])}"
        until = datetime.fromtimestamp(grant["expires"], UTC).strftime("%Y-%m-%d %H:%M")
        often = "once, " if grant.get("once") else ""
        yield f"granted: {grant['guard']} for `{grant['target']}` {often}in {where} until {until} UTC ({grant['id']})"
    for exception in result.get("exceptions", ()):
        yield f"written: exception for {exception['rule']} in {result['file']}"
    if result.get("layer") == "project":
        yield "commit it; on other machines it counts when a person there has run `verdikt policy accept`"
    if result.get("pending"):
        yield "other changes of the policy wait for `verdikt policy accept`, and this one with them"
    if "grants" in result:
        yield "to end it: " + " && ".join(f"verdikt grant revoke {grant['id']}" for grant in result["grants"])
