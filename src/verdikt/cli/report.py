"""`verdikt report`: what agents did, what was stopped, what they did then, and what could be allowed."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verdikt.cli.exception_file import add_exceptions
from verdikt.cli.explain import style_text
from verdikt.cli.ledger.filter_options import place_options
from verdikt.cli.output_path import OutputPath
from verdikt.cli.progress import show_progress
from verdikt.cli.store_access import (
    canaries_option,
    format_timestamp,
    home_option,
    json_option,
    open_existing_store,
    resolve_sessions,
)
from verdikt.errors import LedgerError
from verdikt.graph.rule_exception import exception_from_data
from verdikt.ledger.log_reader import parse_seq
from verdikt.ledger.store import OPERATOR
from verdikt.model.verdict import VerdictKind
from verdikt.observe.policy_files import find_user_policy, open_policy_file, read_policy_files
from verdikt.policy import build_policy
from verdikt.replay import PolicyComparison, read_decision, replay
from verdikt.report.activity.activity import Activity, ReportRange, Suggestion
from verdikt.report.activity.call_scope import is_in_scope
from verdikt.report.activity.collector import ActivityCollector
from verdikt.report.activity.page import render_page
from verdikt.report.activity.suggestions import propose_exceptions
from verdikt.report.activity.terminal import render_terminal
from verdikt.report.entry_filter import EntryFilter
from verdikt.report.explanation import plain_paint

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy
    from verdikt.ledger.files import FileStore
    from verdikt.model.entry import Entry
    from verdikt.replay import RecordedDecision

WEEK_SECONDS = 7 * 86_400
MAX_REPLAYS = 2000
"""How many past calls back the suggestions; replaying a whole year would take minutes."""

_MAX_PERIODS = 31
_MAX_RULES = 4
"""Rules for which one suggestion makes an exception; what more of them object to should not be routine."""


@click.command()
@click.option("--session", metavar="S", help="Only this session.")
@click.option("--html", "html_file", type=OutputPath(dir_okay=False, path_type=Path), help="Write an HTML page here.")
@place_options
@canaries_option
@json_option
@home_option
def command(
    *,
    session: str | None,
    html_file: Path | None,
    entry_filter: EntryFilter,
    canaries: bool,
    as_json: bool,
    home: Path | None,
) -> None:
    """Show what was decided, what agents did after a block, how asks were answered, and what could be allowed.

    The last seven days, unless --since says otherwise. Each suggestion is backed by a replay of past calls.

    \b
    Example: verdikt report
             verdikt report --since 30d --project . --html report.html
    """  # noqa: D301
    store = open_existing_store(home)
    now = store.clock.now()
    entry_filter = replace(
        entry_filter, since=entry_filter.since or now - WEEK_SECONDS, until=entry_filter.until or now
    )
    if entry_filter.since >= entry_filter.until:
        raise click.UsageError("--since must be before --until")
    activity = collect_activity(store, entry_filter, session or "", canaries=canaries)
    if html_file is not None:
        _write_page(html_file, render_page(activity, _format_seconds))
        click.echo(f"written: {html_file}", err=as_json)
    if as_json:
        click.echo(json.dumps(activity.to_record(), indent=1, ensure_ascii=False))
    elif html_file is None:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
        for line in render_terminal(activity, _format_seconds, style_text if width else plain_paint, width=width):
            click.echo(line)


def collect_activity(
    store: "FileStore", entry_filter: EntryFilter, session: str = "", *, canaries: bool = False
) -> Activity:
    """Return the activity of the selected part of the log, with suggestions."""
    sessions = [
        name
        for name in resolve_sessions(store, session, canaries=canaries)
        if name != OPERATOR and _may_have_entries(store, name, entry_filter.since)
    ]
    collector = ActivityCollector(build_range(entry_filter, session), entry_filter)
    for _, entries in groupby(_read_entries(store, sessions, "reading the log"), key=attrgetter("session")):
        collector.add_session(entries)
    if not session:
        collector.add_operator_log(store.reader.read_intact_entries(OPERATOR))
    activity = collector.activity
    proposals = propose_exceptions(activity)
    if proposals:
        activity.suggestions = list(_prove_suggestions(store, sessions, entry_filter, proposals))
    return activity


def build_range(entry_filter: EntryFilter, session: str = "") -> ReportRange:
    """Return the time of a report in periods: hours, days or weeks, so that there are at most 31."""
    length = entry_filter.until - entry_filter.since
    units = (3_600, 6 * 3_600, 86_400, WEEK_SECONDS, 4 * WEEK_SECONDS, 52 * WEEK_SECONDS, length)
    unit = next(unit for unit in units if length / unit <= _MAX_PERIODS)
    count = max(1, -(-int(length) // int(unit)))
    form = "%Y-%m-%d" if unit >= 86_400 else "%m-%d %H:00"
    starts = [entry_filter.since + index * length / count for index in range(count)]
    return ReportRange(
        since=entry_filter.since,
        until=entry_filter.until,
        labels=tuple(datetime.fromtimestamp(start, UTC).strftime(form) for start in starts),
        filters={"project": entry_filter.project, "host": entry_filter.host, "session": session},
    )


def _may_have_entries(store: "FileStore", name: str, since: float) -> bool:
    """Return whether a session can have entries after a time: its file was written to since, or is archived."""
    path = store.reader.hot_file_path(name)
    return not path.exists() or path.stat().st_mtime >= since


def _read_entries(store: "FileStore", sessions: list[str], label: str) -> "Iterator[Entry]":
    """Yield the entries of sessions, one session after the other, and show the progress."""
    total = sum(parse_seq(store.reader.read_last_line(name)) or 0 for name in sessions)
    entries = (entry for name in sessions for entry in store.reader.read_intact_entries(name))
    return show_progress(entries, label, total)


def _prove_suggestions(
    store: "FileStore", sessions: list[str], entry_filter: EntryFilter, proposals: list[Suggestion]
) -> Iterator[Suggestion]:
    """Yield the suggestions that a replay of the stopped calls confirms, with what they would have changed."""
    stopped = list(_iter_stopped_calls(store, sessions, entry_filter))
    policies = _ExceptionPolicies()
    for proposal in proposals:
        calls = [past for past in stopped if past.receipt["verdict"]["guard"] == proposal.rules[0]]
        example = next((past for past in reversed(calls) if is_in_scope(past.receipt, proposal.scope)), None)
        suggestion = proposal if example is None else _add_objecting_rules(proposal, example, policies)
        comparison = PolicyComparison()
        for past in calls:
            policy = policies.get_policy(_find_project(past), suggestion.rules, suggestion.scope)
            comparison.add_decision(past, replay(past, policy))
        # A red line or a rule of a higher layer may object as well: then the exception changes nothing.
        if comparison.changes_in_group("allowed"):
            count = "1 call" if comparison.total == 1 else f"{comparison.total} calls"
            proof = f"Replayed {count} that `{proposal.rules[0]}` stopped: {comparison.summary}."
            yield replace(suggestion, proof=proof, replayed=comparison.total)


def _add_objecting_rules(
    proposal: Suggestion, example: "RecordedDecision", policies: "_ExceptionPolicies"
) -> Suggestion:
    """Return the proposal with the other rules that object to the same call once its own rule lets it through."""
    rules = proposal.rules
    while len(rules) < _MAX_RULES:
        verdict = replay(example, policies.get_policy(_find_project(example), rules, proposal.scope)).verdict
        if verdict.passed or verdict.red_line or verdict.guard in rules:
            break
        rules = (*rules, verdict.guard)
    return replace(proposal, rules=rules)


def _iter_stopped_calls(
    store: "FileStore", sessions: list[str], entry_filter: EntryFilter
) -> "Iterator[RecordedDecision]":
    """Yield the selected calls that were asked about or blocked, at most `MAX_REPLAYS`."""
    count = 0
    for entry in _read_entries(store, sessions, "replaying"):
        if not entry_filter.matches(entry) or count >= MAX_REPLAYS:
            continue
        try:
            past = read_decision(entry)
        except LedgerError:
            continue  # recorded by a newer release, or without a receipt
        if past is not None and past.kind >= VerdictKind.ASK:
            count += 1
            yield past


def _find_project(past: "RecordedDecision") -> str:
    return str(past.receipt["facts"]["place"]["project_root"])


class _ExceptionPolicies:
    """The policies in force in projects, each with the exception of a suggestion in the user's file."""

    def __init__(self) -> None:
        self.get_policy = lru_cache(maxsize=64)(self._build_policy)

    def _build_policy(self, project: str, rules: tuple[str, ...], scope: tuple[str, str]) -> "Policy":
        exceptions = [
            exception_from_data({"rule": rule, "reason": "suggested by the report", scope[0]: scope[1]})
            for rule in rules
        ]
        path = find_user_policy(os.environ)
        files = read_policy_files(project, os.environ)
        data = next((file.data for file in files if file.path == path), b"")
        text = add_exceptions(data.decode("utf-8", "surrogateescape"), exceptions)
        user_file = open_policy_file("user", path, text.encode("utf-8", "surrogateescape"))
        managed = [file for file in files if file.layer == "managed"]
        return build_policy(
            [*managed, user_file, *(file for file in files if file not in managed and file.path != path)]
        )


def _write_page(path: Path, text: str) -> None:
    try:
        # Commands of agents are in it: for the person who asked for it alone.
        with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(text)
    except OSError as error:
        raise LedgerError(f"cannot write `{path}`: {error.strerror}; choose another file") from error


def _format_seconds(seconds: float) -> str:
    return format_timestamp(int(seconds * 1_000_000))
