"""Exports the decisions of hooks from the log to a collector: `python -m verdikt.daemon.otlp_export HOME [--system]`.

A process of its own, started by the warm process: neither the import of OpenTelemetry nor a collector that does not
answer can hold up a decision. The log is the queue. An entry that is sent twice is the same span twice.
"""

import os
import select
import sys
from itertools import islice
from pathlib import Path
from typing import Protocol

from verdikt.daemon.options import USERS_DIRECTORY
from verdikt.daemon.otlp_settings import OtlpProgress, OtlpSettings
from verdikt.errors import VerdiktError
from verdikt.hosts.registry import HOSTS
from verdikt.integrations.otel import Meters
from verdikt.integrations.otel_export import OtlpExporter
from verdikt.integrations.otel_spans import SpanRecord, build_span, read_decision, read_stop
from verdikt.ledger.changed_sessions import ChangedSessions
from verdikt.ledger.log_reader import LogReader
from verdikt.model.entry import Entry, EntryKind

POLL_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 60.0
BATCH_ENTRIES = 256

_GOVERNED_HOSTS = frozenset({*HOSTS, "mcp"})
"""Hosts whose decisions no program traces itself; an adapter of an SDK does, with `TracedGovernance`."""


class SpanExporter(Protocol):
    """What the log is sent with."""

    meters: Meters

    def send_spans(self, records: list[SpanRecord]) -> bool:
        """Send spans; return whether they were taken."""

    def close(self) -> None:
        """Send what is left."""


class LogExporter:
    """Sends what is new in the log of a data directory. Without progress so far, only what comes from now on."""

    def __init__(self, home: Path, exporter: SpanExporter, *, is_new_log: bool = False) -> None:
        """Send the log of `home`; all of a log that is new since the export was switched on."""
        self._home = home
        self._exporter = exporter
        self._reader = LogReader(home / "ledger")
        self._changes = ChangedSessions(self._reader)
        self._hosts: dict[str, str] = {}
        progress = OtlpProgress.load(home)
        sessions = [] if is_new_log else self._reader.list_sessions()
        self.progress = progress or OtlpProgress({name: self._find_end(name) for name in sessions})
        if progress is None:
            self.progress.save(home)

    def export_new_entries(self) -> bool:
        """Send everything that is new; return False when the collector does not take it."""
        changed = self._changes.find_sessions()
        is_sent = all(self._export_session(session) for session in changed)
        self.progress.problem = "" if is_sent else "the collector does not take spans"
        if not is_sent:
            self._changes.forget_sizes()
        if changed or not is_sent:
            self.progress.save(self._home)
        return is_sent

    def _export_session(self, session: str) -> bool:
        entries = self._reader.read_intact_entries(session, since=self.progress.sent.get(session, 0))
        while batch := list(islice(entries, BATCH_ENTRIES)):
            governed = [entry for entry in batch if self._is_governed(entry)]
            spans = [span for entry in governed if (span := build_span(entry)) is not None]
            if spans and not self._exporter.send_spans(spans):
                return False
            for entry in governed:
                self._count(entry)
            self.progress.sent[session] = batch[-1].seq
            self.progress.spans += len(spans)
        return True

    def _is_governed(self, entry: Entry) -> bool:
        host = _read_host(entry)
        if host is None:
            host = self._hosts.get(entry.session) or self._find_host(entry.session)
        return host in _GOVERNED_HOSTS

    def _find_host(self, session: str) -> str:
        host = next(filter(None, map(_read_host, self._reader.read_intact_entries(session))), "")
        if host:  # an empty one is not kept: the entries that name it may be yet to come
            self._hosts[session] = host
        return host

    def _count(self, entry: Entry) -> None:
        meters = self._exporter.meters
        if entry.kind is EntryKind.DECISION:
            decision, seconds = read_decision(entry), float(entry.body.get("microseconds") or 0) / 1_000_000
            meters.count_decision(decision.verdict, decision.guard, "before", seconds)
        elif entry.kind is EntryKind.COMPLETION:
            meters.count_decision(*read_stop(entry), "stop")
        elif entry.kind is EntryKind.ANSWER:
            meters.count_answer(entry.body.get("approved") is True)

    def _find_end(self, session: str) -> int:
        try:
            return self._reader.read_head(session).seq
        except VerdiktError:
            return 0  # damage at the end: what can be read is sent


class SystemLogExporter:
    """Sends what is new in the logs of all users of a system-wide data directory, in which each has their own."""

    def __init__(self, home: Path, exporter: SpanExporter) -> None:
        self._home = home
        self._exporter = exporter
        self._logs: dict[Path, LogExporter] = {}
        self.progress = OtlpProgress.load(home) or OtlpProgress()
        # What was in the logs before the export was switched on is not sent; a user who comes later is new.
        has_begun = OtlpProgress.load(home) is not None
        self._add_users(are_new=has_begun)
        self.progress.save(home)

    def export_new_entries(self) -> bool:
        """Send everything that is new; return False when the collector does not take it."""
        self._add_users(are_new=True)
        # All of them, also after one that failed: the damaged log of one user must not stop the others'.
        results = [log.export_new_entries() for log in self._logs.values()]
        progress = OtlpProgress(
            spans=sum(log.progress.spans for log in self._logs.values()),
            problem=next((log.progress.problem for log in self._logs.values() if log.progress.problem), ""),
        )
        if progress != self.progress:
            self.progress = progress
            progress.save(self._home)
        return all(results)

    def _add_users(self, *, are_new: bool) -> None:
        for directory in sorted((self._home / USERS_DIRECTORY).glob("[0-9]*")):
            if directory not in self._logs:
                self._logs[directory] = LogExporter(directory, self._exporter, is_new_log=are_new)


def _read_host(entry: Entry) -> str | None:
    """Return the host that an entry names; None for those that name none."""
    if entry.kind is EntryKind.DECISION:
        return read_decision(entry).call.host
    is_named = entry.kind is EntryKind.TOOL_CALL or entry.body.get("host")
    return str(entry.body.get("host", "")) if is_named else None


def run_exporter(home: Path, fd: int, *, system_wide: bool = False) -> None:
    """Export until `fd` is closed, or the settings change: then the warm process starts another exporter."""
    settings = OtlpSettings.load(home)
    if settings is None:
        return
    exporter = OtlpExporter(settings.endpoint, settings.headers)
    log = SystemLogExporter(home, exporter) if system_wide else LogExporter(home, exporter)
    pause = POLL_SECONDS
    while OtlpSettings.load(home) == settings:
        is_sent = log.export_new_entries()
        pause = POLL_SECONDS if is_sent else min(pause * 2, LONGEST_PAUSE_SECONDS)
        if _is_closed_within(fd, pause):
            log.export_new_entries()
            break
    exporter.close()


def _is_closed_within(fd: int, seconds: float) -> bool:
    return bool(select.select([fd], [], [], seconds)[0]) and not os.read(fd, 64)


def main(home: Path, *, system_wide: bool = False) -> int:
    """Export the log of a data directory, and keep the reason if that is not possible."""
    os.nice(19)
    try:
        run_exporter(home, sys.stdin.fileno(), system_wide=system_wide)
    except VerdiktError as error:
        progress = OtlpProgress.load(home)
        if progress is not None:
            progress.problem = str(error)
            progress.save(home)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), system_wide="--system" in sys.argv[2:]))
