"""`verdikt replay`: repeat recorded decisions, with their own policy or another one."""

import gc
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt import __version__
from verdikt.cli.duration import parse_duration
from verdikt.cli.exit_status import EXIT_BAD_POLICY, EXIT_FAILURE
from verdikt.cli.posture import find_newest_session
from verdikt.cli.progress import show_progress
from verdikt.cli.store_access import format_timestamp, home_option, json_option, open_existing_store, resolve_sessions
from verdikt.cli.usage_command import UsageCommand
from verdikt.errors import LedgerError, PolicyError
from verdikt.policy import load_file
from verdikt.recorded_policies import RecordedPolicies
from verdikt.replay import compare_policy, find_differences, read_decision, replay

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy
    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry
    from verdikt.replay import Difference, PolicyComparison, RecordedDecision

MAX_EXAMPLES = 5


def _parse_age(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    seconds = parse_duration(value, "mhdw")
    if seconds is None:
        raise click.BadParameter(f"expected a time such as 30m, 12h, 7d or 4w, found `{value}`")
    return seconds


@click.command(cls=UsageCommand)
@click.argument("seq", type=click.IntRange(min=1), required=False)
@click.option("--session", default="", help="Only this session; default with SEQ: the newest.")
@click.option("--since", callback=_parse_age, metavar="TIME", help="Only decisions of the last 12h, 7d …")
@click.option(
    "--policy", "policy_file", type=click.Path(dir_okay=False), help="Show what this policy would have decided."
)
@json_option
@home_option
def command(
    *, seq: int | None, session: str, since: int | None, policy_file: str | None, as_json: bool, home: Path | None
) -> None:
    """Repeat past decisions from the log alone and compare every byte of the receipts.

    With --policy: show which past decisions would differ under that policy. Exit status: 0 all the same (or compared),
    1 a difference or a decision that cannot be replayed, 64 usage, 65 bad policy.

    \b
    Example: verdikt replay --since 7d
             verdikt replay --policy new.yaml
    """  # noqa: D301
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
    replay_range = _ReplayRange(store, session, seq, since)
    tune_garbage_collector()
    if policy:
        _compare_policy(replay_range, policy, as_json)
    else:
        _verify_decisions(replay_range, as_json)


def tune_garbage_collector() -> None:
    """Exclude what is loaded so far from garbage collection, which would take a third of a long replay."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)


class _ReplayRange:
    """The recorded decisions that the options select."""

    def __init__(self, store: "FileStore", session: str, seq: int | None, since: int | None) -> None:
        self.store = store
        self.seq = seq
        self._not_before = store.clock.now() - since if since is not None else 0.0
        self.sessions = resolve_sessions(store, session)

    def iter_decisions(self) -> "Iterator[RecordedDecision]":
        """Yield the decisions, session by session, and show the progress."""
        length = sum(self.store.read_head(name).seq for name in self.sessions)
        for entry in show_progress(self._iter_entries(), "replaying", length):
            if entry.timestamp_seconds >= self._not_before and (past := read_decision(entry)) is not None:
                yield past

    def _iter_entries(self) -> "Iterator[Entry]":
        for name in self.sessions:
            for entry in self.store.read_entries(name, since=self.seq - 1 if self.seq else 0):
                # Entries are in order: the rest of the session need not be read.
                if self.seq is not None and entry.seq > self.seq:
                    break
                yield entry


def _verify_decisions(replay_range: _ReplayRange, as_json: bool) -> None:
    policies = RecordedPolicies(replay_range.store.home)
    total, engines = 0, set()
    mismatches: list[dict[str, Any]] = []
    for past in replay_range.iter_decisions():
        total += 1
        engines.add(past.receipt["engine"])
        try:
            differences = find_differences(past, replay(past, policies.get_policy(past.policy, past.accepted_policy)))
        except (LedgerError, PolicyError) as error:
            # The policy is gone or broken: reported like a difference, because it cannot be confirmed.
            mismatches.append({**_describe_decision(past), "error": str(error)})
        else:
            if differences:
                rows = [_difference_to_dict(difference) for difference in differences]
                mismatches.append({**_describe_decision(past), "differences": rows})
    if not total:
        raise LedgerError("no decision to replay: the selected part of the log has none")
    if as_json:
        report = {"total": total, "same": total - len(mismatches), "different": mismatches}
        click.echo(json.dumps(report, ensure_ascii=False))
    else:
        for mismatch in mismatches:
            click.echo(_render_mismatch(mismatch))
        # A difference may come from another release; the reader should know before searching elsewhere.
        older = engines - {__version__}
        versions = f" (recorded by {', '.join(sorted(older))}, replayed by {__version__})" if older else ""
        result = "all the same, byte for byte"
        if mismatches:
            result = click.style(f"{len(mismatches)} differ", fg="red", bold=True)
        click.echo(f"{total} decision{'s' if total > 1 else ''} replayed: {result}{versions}")
    sys.exit(EXIT_FAILURE if mismatches else 0)


def _describe_decision(past: "RecordedDecision") -> dict[str, Any]:
    """Return what identifies a decision for a reader: session, entry, time, tool and a text."""
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
    for difference in mismatch.get("differences", ()):
        recorded, replayed = (json.dumps(difference[side], ensure_ascii=False)[:200] for side in ("recorded", "found"))
        lines.append(f"  {difference['field']}: recorded {recorded}, found {replayed}")
    return "\n".join(lines)


def _compare_policy(replay_range: _ReplayRange, policy: "Policy", as_json: bool) -> None:
    comparison = compare_policy(replay_range.iter_decisions(), policy)
    if not comparison.total:
        raise LedgerError("no decision to replay: the selected part of the log has none")
    groups = group_changes(comparison)
    if as_json:
        counted = {name: {"count": len(changes), "examples": changes} for name, changes in groups.items()}
        summary = {"total": comparison.total, "policy": policy.digest, "sentence": comparison.summary}
        click.echo(json.dumps({**summary, **counted}, ensure_ascii=False))
    else:
        click.echo(render_comparison(comparison, groups))


def group_changes(comparison: "PolicyComparison") -> dict[str, list[dict[str, Any]]]:
    """Return the decisions that would differ as plain data, by their new outcome."""
    return {
        name: [_change_to_dict(change) for change in comparison.changes_in_group(name)]
        for name in ("blocked", "asked", "allowed")
    }


def _change_to_dict(change: Any) -> dict[str, Any]:
    was, now = change.past.receipt["verdict"], change.decision.verdict
    return {
        **_describe_decision(change.past),
        "was": {"verdict": was["kind"], "guard": was["guard"]},
        "now": {"verdict": now.kind.word, "guard": now.guard, "reason": now.reason},
    }


_COLOURS = {"blocked": "red", "asked": "magenta", "allowed": "green"}


def render_comparison(comparison: "PolicyComparison", groups: dict[str, list[dict[str, Any]]]) -> str:
    """Return the comparison as text: examples of each group, and a sentence that sums up."""
    lines = []
    for name, changes in groups.items():
        if changes:
            lines.append(click.style(f"newly {name}: {len(changes)}", fg=_COLOURS[name], bold=True))
            lines += _render_examples(changes)
    lines.append(f"{comparison.total} past decision{'s' if comparison.total > 1 else ''}: {comparison.summary}")
    return "\n".join(lines)


def _render_examples(changes: list[dict[str, Any]]) -> list[str]:
    """Return the most frequent changes, each kind once."""
    # Agents repeat commands: without the grouping one habit would fill the whole list.
    similar: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for change in changes:
        key = (change["tool"], change["what"], change["was"]["guard"], change["now"]["guard"])
        similar.setdefault(key, []).append(change)
    ranked = sorted(similar.values(), key=len, reverse=True)
    lines = []
    for first, *others in ranked[:MAX_EXAMPLES]:
        now = f"{first['now']['verdict']} by {first['now']['guard']}"
        reason = f": {first['now']['reason']}" if first["now"]["reason"] else ""
        lines.append(f"  {_render_title(first)}" + (f"  (and {len(others)} more like it)" if others else ""))
        lines.append(f"    was {first['was']['verdict']} by {first['was']['guard']}, now {now}{reason}")
    if len(ranked) > MAX_EXAMPLES:
        omitted = sum(map(len, ranked[MAX_EXAMPLES:]))
        lines.append(f"  … and {omitted} others (--json lists them all)")
    return lines
