"""`verdikt replay`: recorded decisions made again, by their own policy or by another."""

import gc
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt import __version__
from verdikt.cli.posture import find_newest_session
from verdikt.cli.store_access import format_timestamp, home_option, json_option, open_existing_store, resolve_sessions
from verdikt.cli.usage_command import UsageCommand
from verdikt.errors import LedgerError, PolicyError
from verdikt.ledger.policy_store import load_stored_policy
from verdikt.policy import load_file, load_policy, restore_policy
from verdikt.replay import compare_policy, find_differences, read_decision, replay

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy
    from verdikt.ledger.files import FileStore
    from verdikt.replay import Difference, PolicyComparison, RecordedDecision

EXIT_BAD_POLICY = 65
MAX_EXAMPLES = 5
PROGRESS_MIN_ENTRIES = 500
"""Entries from which on a progress bar is worth showing."""

_UNIT_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def _parse_duration(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    match = re.fullmatch(r"([0-9]{1,5})([mhdw])", value)
    if not match:
        raise click.BadParameter(f"expected a time such as 30m, 12h, 7d or 4w, found `{value}`")
    return int(match[1]) * _UNIT_SECONDS[match[2]]


@click.command(cls=UsageCommand)
@click.argument("seq", type=click.IntRange(min=1), required=False)
@click.option("--session", default="", help="Only this session; with SEQ, the newest one when not given.")
@click.option("--since", callback=_parse_duration, metavar="TIME", help="Only what was decided in the last 12h, 7d …")
@click.option("--policy", "policy_file", type=click.Path(dir_okay=False), help="What would this policy have said?")
@json_option
@home_option
def command(
    *, seq: int | None, session: str, since: int | None, policy_file: str | None, as_json: bool, home: Path | None
) -> None:
    """Decides again what was decided, from the log alone, and compares every byte of the receipts.

    With --policy: which past decisions would differ under that policy. Exit status: 0 all the same (or compared), 1 a
    difference or something that cannot be replayed, 64 usage, 65 bad policy.

    \b
    Example: verdikt replay --since 7d
             verdikt replay --policy new.yaml
    """
    policy = None
    if policy_file:
        try:
            policy = load_file(policy_file)
        except PolicyError as error:
            click.echo(f"PolicyError: {error}", err=True)
            sys.exit(EXIT_BAD_POLICY)
    store = open_existing_store(home)
    if seq is not None and not session:
        session = find_newest_session(store)
    span = _ReplayRange(store, session, seq, since)
    tune_garbage_collector()
    if policy:
        _compare_policy(span, policy, as_json)
    else:
        _verify_decisions(span, as_json)


def tune_garbage_collector() -> None:
    """Takes what is loaded by now out of the garbage collector's rounds, which would take a third of a long replay."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


class _ReplayRange:
    """The recorded decisions that a call is about."""

    def __init__(self, store: "FileStore", session: str, seq: int | None, since: int | None) -> None:
        self.store = store
        self.seq = seq
        self._not_before = store.clock.now() - since if since is not None else 0.0
        self.sessions = resolve_sessions(store, session)

    def iter_decisions(self) -> "Iterator[RecordedDecision]":
        """Each of them, session by session."""
        length = sum(self.store.read_head(name).seq for name in self.sessions)
        with _show_progress(length) as step:
            for name in self.sessions:
                for entry in self.store.read_entries(name, since=self.seq - 1 if self.seq else 0):
                    step()
                    if self.seq is not None and entry.seq > self.seq:
                        break
                    if entry.timestamp_seconds >= self._not_before and (past := read_decision(entry)) is not None:
                        yield past


@contextmanager
def _show_progress(entry_count: int) -> "Iterator[Any]":
    if entry_count < PROGRESS_MIN_ENTRIES or not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(length=entry_count, label="replaying", file=sys.stderr) as bar:
        yield lambda: bar.update(1)


def _verify_decisions(replay_range: _ReplayRange, as_json: bool) -> None:
    policies = _PolicyCache(replay_range.store)
    total, engines = 0, set()
    wrong: list[dict[str, Any]] = []
    for past in replay_range.iter_decisions():
        total += 1
        engines.add(past.receipt["engine"])
        try:
            found = find_differences(past, replay(past, policies.get_policy(past.policy)))
        except (LedgerError, PolicyError) as error:
            wrong.append({**_describe_decision(past), "error": str(error)})
        else:
            if found:
                wrong.append({**_describe_decision(past), "differences": [_difference_to_dict(each) for each in found]})
    if not total:
        raise LedgerError("no decision to replay: nothing was decided in what you named")
    if as_json:
        click.echo(json.dumps({"total": total, "same": total - len(wrong), "different": wrong}, ensure_ascii=False))
    else:
        for each in wrong:
            click.echo(_render_mismatch(each))
        older = engines - {__version__}
        by = f" (recorded by {', '.join(sorted(older))}, replayed by {__version__})" if older else ""
        said = "all the same, byte for byte" if not wrong else click.style(f"{len(wrong)} differ", fg="red", bold=True)
        click.echo(f"{total} decision{'s' if total > 1 else ''} replayed: {said}{by}")
    sys.exit(1 if wrong else 0)


class _PolicyCache:
    """Policies by digest: those that were kept, else the one in force here."""

    def __init__(self, store: "FileStore") -> None:
        self.get_policy = lru_cache(maxsize=64)(self._load_policy)
        self._home = store.home

    def _load_policy(self, digest: str) -> "Policy":
        try:
            return restore_policy(load_stored_policy(self._home, digest))
        except LedgerError:
            policy = load_policy()
            if policy.digest != digest:
                raise
            return policy


def _describe_decision(past: "RecordedDecision") -> dict[str, Any]:
    """Which decision it was."""
    action = past.receipt["action"]
    payload = action["payload"] if isinstance(action["payload"], dict) else {}
    texts = (payload.get(key) for key in ("command", "cmd", "file_path", "path", "url"))
    what = next((text for text in texts if isinstance(text, str) and text), "")
    return {
        "session": past.session,
        "seq": past.seq,
        "time": format_timestamp(int(past.seconds * 1_000_000)),
        "tool": action["tool"],
        "what": " ".join(what.split())[:120],
    }


def _difference_to_dict(difference: "Difference") -> dict[str, Any]:
    return {"field": difference.field, "recorded": difference.recorded, "found": difference.replayed}


def _render_title(decision: dict[str, Any]) -> str:
    return (
        f"{decision['session']} #{decision['seq']}  {decision['time']}  {decision['tool']} {decision['what']}".rstrip()
    )


def _render_mismatch(mismatch: dict[str, Any]) -> str:
    lines = [click.style(_render_title(mismatch), bold=True)]
    if "error" in mismatch:
        lines.append(f"  cannot be replayed: {mismatch['error']}")
    for one in mismatch.get("differences", ()):
        recorded, found = (json.dumps(one[side], ensure_ascii=False)[:200] for side in ("recorded", "found"))
        lines.append(f"  {one['field']}: recorded {recorded}, found {found}")
    return "\n".join(lines)


def _compare_policy(replay_range: _ReplayRange, policy: "Policy", as_json: bool) -> None:
    comparison = compare_policy(replay_range.iter_decisions(), policy)
    if not comparison.total:
        raise LedgerError("no decision to replay: nothing was decided in what you named")
    groups = {
        name: [_change_to_dict(change) for change in comparison.changes_in_group(name)]
        for name in ("blocked", "asked", "allowed")
    }
    if as_json:
        told = {name: {"count": len(found), "examples": found} for name, found in groups.items()}
        summary = {"total": comparison.total, "policy": policy.digest, "sentence": comparison.summary}
        click.echo(json.dumps({**summary, **told}, ensure_ascii=False))
    else:
        click.echo(_render_comparison(comparison, groups))


def _change_to_dict(change: Any) -> dict[str, Any]:
    was, now = change.past.receipt["verdict"], change.decision.verdict
    return {
        **_describe_decision(change.past),
        "was": {"verdict": was["kind"], "guard": was["guard"]},
        "now": {"verdict": now.kind.word, "guard": now.guard, "reason": now.reason},
    }


_COLOURS = {"blocked": "red", "asked": "magenta", "allowed": "green"}


def _render_comparison(comparison: "PolicyComparison", groups: dict[str, list[dict[str, Any]]]) -> str:
    lines = []
    for name, found in groups.items():
        if found:
            lines.append(click.style(f"newly {name}: {len(found)}", fg=_COLOURS[name], bold=True))
            lines += _render_examples(found)
    lines.append(f"{comparison.total} past decision{'s' if comparison.total > 1 else ''}: {comparison.summary}")
    return "\n".join(lines)


def _render_examples(changes: list[dict[str, Any]]) -> list[str]:
    """The commonest of them, each told once."""
    alike: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for each in changes:
        key = (each["tool"], each["what"], each["was"]["guard"], each["now"]["guard"])
        alike.setdefault(key, []).append(each)
    ranked = sorted(alike.values(), key=len, reverse=True)
    lines = []
    for first, *others in ranked[:MAX_EXAMPLES]:
        now = f"{first['now']['verdict']} by {first['now']['guard']}"
        reason = f": {first['now']['reason']}" if first["now"]["reason"] else ""
        lines.append(f"  {_render_title(first)}" + (f"  (and {len(others)} more like it)" if others else ""))
        lines.append(f"    was {first['was']['verdict']} by {first['was']['guard']}, now {now}{reason}")
    if len(ranked) > MAX_EXAMPLES:
        left = sum(map(len, ranked[MAX_EXAMPLES:]))
        lines.append(f"  … and {left} others (--json lists them all)")
    return lines
