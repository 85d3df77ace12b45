"""`verdikt ledger tail`, `show` and `stats`."""

import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from verdikt.cli.canary_sessions import is_canary_session
from verdikt.cli.ledger.filter_options import filter_options
from verdikt.cli.progress import show_progress
from verdikt.cli.store_access import (
    canaries_option,
    format_timestamp,
    home_option,
    json_option,
    open_existing_store,
    resolve_session,
    resolve_sessions,
)
from verdikt.errors import LedgerError, VerdiktError
from verdikt.ledger.log_reader import parse_seq
from verdikt.ledger.policy_store import load_stored_policy
from verdikt.ledger.store import OPERATOR
from verdikt.model.entry import Entry
from verdikt.policy import restore_policy
from verdikt.replay import read_decision, replay
from verdikt.report.ask_answers import AskAnswers
from verdikt.report.entry_filter import EntryFilter
from verdikt.report.entry_line import (
    granted_verdict_of,
    paused_verdict_of,
    shorten_session,
    summarize_entry,
    verdict_of,
)
from verdikt.report.findings import escape_nonprintable
from verdikt.report.graph_view import render_path
from verdikt.report.log_stats import TABLES, count_entries

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore

_COLOURS = {"block": "red", "ask": "yellow", "warn": "yellow", "pass": "green"}
_POLL_SECONDS = 0.2

_WIDE_COLUMNS = 100
"""From this width on, a line has the full date and time."""

_MIN_TEXT = 8
"""A summary is not cut to less than this, however narrow the terminal."""


@click.command()
@click.option("--session", metavar="S", help="Only this session.")
@click.option("-n", "--lines", "count", default=20, show_default=True, type=click.IntRange(min=0), help="How many.")
@click.option("-f", "--follow", is_flag=True, help="Keep printing as entries are written.")
@filter_options
@canaries_option
@json_option
@home_option
def tail(
    *,
    session: str | None,
    count: int,
    follow: bool,
    entry_filter: EntryFilter,
    canaries: bool,
    as_json: bool,
    home: Path | None,
) -> None:
    """Show the newest entries, oldest first.

    \b
    Example: verdikt ledger tail -f
             verdikt ledger tail --verdict block --since 7d
    """  # noqa: D301
    store = open_existing_store(home)
    newest: list[Entry] = []
    last_seqs: dict[str, int] = {}
    sessions = resolve_sessions(store, session, canaries=canaries)
    session = session and sessions[0]
    for name in sessions:
        last_seqs[name] = parse_seq(store.reader.read_last_line(name)) or 0
        # At most `count` of each session can be among the newest, so the rest of a long log is never parsed; what a
        # filter selects may lie anywhere.
        if count:
            first_seq = max(0, last_seqs[name] - count) if entry_filter.is_empty else 0
            entries = filter(entry_filter.matches, store.reader.read_intact_entries(name, since=first_seq))
            newest = _sort_entries([*newest, *_drop_bookkeeping(entries, session)])[-count:]
    # What a filter leaves out may be the answer to an ask that it selects; then the line has no note.
    answers = AskAnswers()
    answers.add_entries(newest)
    for entry in newest:
        _print_entry(entry, as_json, answers)
    sizes: dict[str, int] = {}
    while follow:
        for entry in _read_new_entries(store, session, last_seqs, sizes):
            answers.add_entry(entry)
            is_shown = canaries or session or not is_canary_session(store, entry.session)
            if is_shown and entry_filter.matches(entry):
                _print_entry(entry, as_json, answers)
        store.clock.sleep(_POLL_SECONDS)


def _read_new_entries(
    store: "FileStore", session: str | None, last_seqs: dict[str, int], sizes: dict[str, int]
) -> list[Entry]:
    """Return the entries written since the last call, and update `last_seqs` and `sizes`."""
    new_entries: list[Entry] = []
    for path in [store.reader.hot_file_path(session)] if session else store.reader.list_hot_files():
        size = path.stat().st_size if path.exists() else 0
        name = session or store.reader.find_session_id(path.stem)
        # Polled five times a second: a file whose size is the same is not opened.
        if name is None or sizes.get(path.name) == size:
            continue
        sizes[path.name] = size
        entries = list(store.reader.read_intact_entries(name, since=last_seqs.get(name, 0)))
        last_seqs[name] = max((entry.seq for entry in entries), default=last_seqs.get(name, 0))
        new_entries += _drop_bookkeeping(entries, session)
    return _sort_entries(new_entries)


def _drop_bookkeeping(entries: Iterable[Entry], session: str | None) -> Iterator[Entry]:
    """Yield the entries without those by which the operator's log follows other sessions, unless it is asked for."""
    return (entry for entry in entries if session or entry.session != OPERATOR or "session" not in entry.body)


def _sort_entries(entries: list[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (entry.ts, entry.session, entry.seq))


def _print_entry(entry: Entry, as_json: bool, answers: AskAnswers) -> None:
    if as_json:
        click.echo(entry.to_line().rstrip(b"\n"))
        return
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    verdict, guard = verdict_of(entry)
    # The id comes from the host, and nothing says that it can be printed.
    session = escape_nonprintable(shorten_session(entry.session))
    # What passes does so by all rules; only a rule that objects is worth a word in a list.
    kind, rule = str(entry.kind), f" by {guard}" if guard and verdict != "pass" else ""
    position = f"{format_timestamp(entry.ts)} {session} {entry.seq}"
    if columns:  # for a person in columns, for programs with one blank between the fields
        timestamp = format_timestamp(entry.ts)
        # On a narrow screen the year and the seconds would take the room of what was done.
        timestamp = timestamp[5:16] if columns < _WIDE_COLUMNS else timestamp
        position = f"{timestamp} {session:<8} {entry.seq:>4}"
        kind, verdict = f"{kind:<10}", verdict and f"{verdict:<5}"
    note = _describe_exemption(entry) or answers.notes.get((entry.session, entry.seq), "")
    text = f"{summarize_entry(entry)}{f' ({note})' if note else ''}"
    room = columns - len(f"{position} {kind} {verdict}{rule} ") + (not verdict)
    if columns and len(text) > room >= _MIN_TEXT:
        text = text[: room - 1] + "…"
    styled = f" {click.style(verdict, fg=_COLOURS.get(verdict.strip()))}{rule}" if verdict else ""
    click.echo(f"{position} {click.style(kind, bold=True)}{styled} {text}")


def _describe_exemption(entry: Entry) -> str:
    """Return why a call ran that the policy would have stopped; empty when that is not so."""
    paused, paused_rule = paused_verdict_of(entry)
    granted, granted_rule, grant_id = granted_verdict_of(entry)
    if paused:
        return f"without the pause: {paused} by {paused_rule}"
    return escape_nonprintable(f"without grant {grant_id}: {granted} by {granted_rule}") if granted else ""


@click.command()
@click.argument("session")
@click.argument("seq", type=click.IntRange(min=1), required=False)
@click.option("--artifact", metavar="NAME", help="Print this artifact of the entry instead, byte for byte.")
@filter_options
@json_option
@home_option
def show(
    *, session: str, seq: int | None, artifact: str | None, entry_filter: EntryFilter, as_json: bool, home: Path | None
) -> None:
    """Show a session's entries, or everything about one of them.

    Example: verdikt ledger show 1f0c… 42
    """
    if artifact and seq is None:
        raise click.UsageError("--artifact needs SEQ")
    store = open_existing_store(home)
    session = resolve_session(store, session)
    if seq is None:
        _print_session(store, session, entry_filter, as_json)
        return
    if artifact:
        # Bytes, not text: an artifact can be anything.
        sys.stdout.buffer.write(store.read_artifact(session, seq, artifact))
        return
    selected = store.reader.read_entry(session, seq)
    if selected is None:
        raise LedgerError(f"no entry {seq} in session `{session}`, or it is damaged; try `verdikt ledger verify`")
    if as_json:
        click.echo(selected.to_line().rstrip(b"\n"))
        return
    _print_entry_details(selected)
    for line in _trace_decision(store, selected):
        click.echo(f"path {line}")


def _print_session(store: "FileStore", session: str, entry_filter: EntryFilter, as_json: bool) -> None:
    """Print a session's entries; read twice, because an ask is answered after it."""
    answers = AskAnswers()
    if not as_json:
        answers.add_entries(store.reader.read_intact_entries(session))
    for entry in filter(entry_filter.matches, store.reader.read_intact_entries(session)):
        _print_entry(entry, as_json, answers)


def _trace_decision(store: "FileStore", entry: Entry) -> list[str]:
    """Return the path that a decision took through the policy that was in force; empty when it cannot be replayed."""
    try:
        past = read_decision(entry)
        if past is None:
            return []
        return render_path(replay(past, restore_policy(load_stored_policy(store.home, past.policy))).trace)
    except VerdiktError:
        return []  # a policy that is no longer stored, or a guard that is no longer installed


def _print_entry_details(entry: Entry) -> None:
    kind = click.style(entry.kind, bold=True)
    click.echo(f"entry {entry.seq} of session {entry.session}: {kind}, {format_timestamp(entry.ts)} UTC")
    verdict, guard = verdict_of(entry)
    said = f"{click.style(verdict, fg=_COLOURS.get(verdict))}{f' by {guard}' if guard else ''}: " if verdict else ""
    click.echo(f"{said}{summarize_entry(entry, 300)}")
    click.echo(f"prev {entry.prev}\nhash {entry.hash}")
    click.echo(f"signed with {entry.kid}" if entry.sig else "covered by the next signed checkpoint")
    for line in json.dumps(entry.body, indent=2, ensure_ascii=False, sort_keys=True).split("\n"):
        # JSON escapes only half of the characters that control a terminal.
        click.echo(escape_nonprintable(line))


@click.command()
@click.option("--session", metavar="S", help="Only this session.")
@filter_options
@canaries_option
@json_option
@home_option
def stats(*, session: str | None, entry_filter: EntryFilter, canaries: bool, as_json: bool, home: Path | None) -> None:
    """Count the entries by verdict, guard, effect, kind and session.

    Example: verdikt ledger stats --json
    """
    store = open_existing_store(home)
    sessions = resolve_sessions(store, session, canaries=canaries)
    entries = (entry for name in sessions for entry in store.reader.read_intact_entries(name))
    selected = filter(entry_filter.matches, _drop_bookkeeping(show_progress(entries, "counting"), session))
    counts = count_entries(selected).record()
    if as_json:
        click.echo(json.dumps(counts, indent=1))
        return
    click.echo(f"{counts['entries']} entries")
    for table in TABLES:
        if counts[table]:
            click.echo(click.style(table, bold=True))
            width = max(map(len, counts[table]))
            for name, number in counts[table].items():
                click.echo(f"  {name:<{width}}  {number}")
