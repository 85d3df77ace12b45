"""`verdikt status`: one screen about this project: what is wired, what is in force, and what happened today."""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.daemon_control import query_status, require_run_directory
from verdikt.cli.posture import find_newest_session
from verdikt.cli.store_access import format_timestamp, json_option, open_data_store, resolve_sessions
from verdikt.daemon.client import SOCKET_NAME
from verdikt.errors import DaemonError, LedgerError, McpError, PolicyError
from verdikt.hosts.wiring.inspection import find_wired_files
from verdikt.hosts.wiring.installation import Installation
from verdikt.ledger.audit import audit
from verdikt.ledger.council_findings import is_council_session
from verdikt.ledger.data_directory import get_data_directory
from verdikt.ledger.grants import find_live_grants
from verdikt.ledger.log_reader import parse_seq
from verdikt.ledger.pause import find_active_pause
from verdikt.ledger.projections import FINDINGS
from verdikt.ledger.store import OPERATOR
from verdikt.mcp.pin_store import list_books
from verdikt.model.entry import EntryKind
from verdikt.model.session_state import CANARY_SESSION
from verdikt.policy import load_policy
from verdikt.ratchet import PolicySnapshot
from verdikt.report.counted_noun import format_count
from verdikt.report.entry_line import receipt_of, verdict_of

if TYPE_CHECKING:
    from verdikt.ledger.files import FileStore

_MAX_CANARIES = 400
"""How many of doctor's newest calls are searched for the last proof of each host."""


@click.command()
@json_option
def command(as_json: bool) -> None:
    """Show which hosts are wired here, the policy in force, and what was decided today.

    Example: verdikt status
    """
    status = collect_status(os.getcwd())
    click.echo(json.dumps(status, indent=1) if as_json else "\n".join(render_status(status)))


def is_governed(directory: str) -> bool:
    """Return whether a policy file or a wired host governs a directory."""
    installation = _open_installation(directory)
    try:
        return any(layer["layer"] != "default" for layer in _describe_policy(directory)["layers"]) or any(
            True for _ in find_wired_files(installation)
        )
    except PolicyError:
        return True


def _open_installation(directory: str) -> Installation:
    return Installation(
        project=os.path.realpath(directory), data_directory=str(get_data_directory(os.environ)), env=os.environ
    )


def collect_status(directory: str) -> dict[str, Any]:
    """Return everything that the screen shows, as plain data."""
    installation = _open_installation(directory)
    data_directory = Path(installation.data_directory)
    # A look must not create a data directory.
    store = open_data_store(data_directory) if (data_directory / "ledger").is_dir() else None
    proofs = _find_proofs(store) if store else {}
    try:
        policy: dict[str, Any] = _describe_policy(directory)
    except PolicyError as error:
        policy = {"fault": str(error)}
    return {
        "project": installation.project,
        "hosts": [
            {"host": wired.host, "scope": wired.scope, "file": wired.file, "proven": proofs.get(wired.host, "")}
            for wired in find_wired_files(installation)
        ],
        "policy": policy,
        "warm": _describe_daemon(),
        "hidden_tools": _count_hidden_tools(data_directory),
        **(_describe_log(store) if store else {"today": {}, "log": {}}),
    }


def _describe_policy(directory: str) -> dict[str, Any]:
    policy = load_policy(directory)
    return {
        "digest": policy.digest[:12],
        "layers": [{"layer": layer.name, "file": layer.file, "profile": layer.profile} for layer in policy.layers],
        "posture": policy.posture.value,
        "rules": len(policy.rules),
        "exceptions": len(policy.exceptions),
        "pending": [
            {"layer": change.layer, "file": change.file, "kind": change.kind}
            for change in PolicySnapshot.read(directory, os.environ).list_changes()
        ],
    }


def _describe_daemon() -> dict[str, Any]:
    try:
        answer = query_status(require_run_directory() / SOCKET_NAME)
    except DaemonError as error:
        return {"running": False, "fault": str(error)}
    return {"running": answer is not None, "calls": int(answer["calls"]) if answer else 0}


def _count_hidden_tools(data_directory: Path) -> dict[str, int]:
    """Return how much of each MCP server is hidden, because it changed since a person accepted it."""
    try:
        books = list_books(data_directory)
    except McpError:
        return {}
    counts = {book.name: len(book.list_hidden()) for book in books}
    return {name: count for name, count in counts.items() if count}


def _find_proofs(store: "FileStore") -> dict[str, str]:
    """Return when each host last blocked a canary."""
    last_seq = parse_seq(store.reader.read_last_line(CANARY_SESSION)) or 0
    proofs = {}
    for entry in store.reader.read_intact_entries(CANARY_SESSION, since=max(0, last_seq - _MAX_CANARIES)):
        action = receipt_of(entry).get("action")
        if verdict_of(entry)[0] == "block" and isinstance(action, dict):
            proofs[str(action.get("host", ""))] = format_timestamp(entry.ts)
    return proofs


def _describe_log(store: "FileStore") -> dict[str, Any]:
    now = store.clock.now()
    midnight = now - now % 86_400
    verdicts: Counter[str] = Counter()
    unproven = 0
    sessions = resolve_sessions(store, None)
    for name in sessions:
        # A file that was not written to since midnight has nothing of today.
        path = store.reader.hot_file_path(name)
        if not path.exists() or path.stat().st_mtime < midnight:
            continue
        for entry in store.reader.read_intact_entries(name):
            if entry.timestamp_seconds >= midnight:
                verdicts[verdict_of(entry)[0]] += entry.kind is EntryKind.DECISION
                is_stop = entry.kind is EntryKind.COMPLETION and entry.body.get("by") == "evidence"
                # A refusal that is enforced sends the agent on; in shadow mode the turn ended with it.
                is_open_end = entry.body.get("result") == "refused" and not entry.body.get("enforced")
                unproven += is_stop and (is_open_end or entry.body.get("result") == "ended_unproven")
    pause = find_active_pause(store)
    return {
        "today": {
            "decisions": sum(verdicts.values()),
            "asks": verdicts["ask"],
            "blocks": verdicts["block"],
            "unproven_turns": unproven,
        },
        "grants": len(find_live_grants(store, None, now)),
        "paused": pause.reason if pause else "",
        "open_findings": sum(
            len(store.read_projection(FINDINGS.name, name) or {}) for name in sessions if is_council_session(name)
        ),
        "log": {"sessions": sum(name != OPERATOR for name in sessions), **_verify_newest(store)},
    }


def _verify_newest(store: "FileStore") -> dict[str, Any]:
    """Return how far the log of the newest session holds; a look at all of them is `verdikt ledger verify`."""
    try:
        newest = find_newest_session(store)
    except LedgerError:
        return {}
    report = audit(store.home, [newest], artifacts=False).sessions[0]
    return {
        "newest": newest,
        "intact": report.is_intact,
        "entries": report.entry_count,
        "signed_up_to": report.last_covered_seq,
        "posture": store.read_projection("posture", newest) or "",
    }


def render_status(status: dict[str, Any]) -> Iterator[str]:
    """Yield the screen line by line."""
    yield click.style(status["project"], bold=True)
    for host in status["hosts"]:
        proof = f"proven {host['proven']} UTC" if host["proven"] else "not proven yet; run `verdikt doctor`"
        yield f"  {'host':<10}{host['host']} ({host['scope']}), {proof}"
    if not status["hosts"]:
        yield f"  {'host':<10}" + click.style("none wired here", fg="red") + "; run `verdikt init`"
    yield from _render_policy(status)
    today = status["today"]
    if today:
        yield (
            f"  {'today':<10}{format_count(today['decisions'], 'decision')}, {format_count(today['asks'], 'ask')},"
            f" {format_count(today['blocks'], 'block')}, {format_count(today['unproven_turns'], 'unproven turn')}"
        )
        # Plans of every repository are in one log.
        where = " in all projects" if status["open_findings"] else ""
        yield f"  {'findings':<10}{status['open_findings']} open{where}"
    else:
        yield f"  {'today':<10}nothing recorded yet"
    for server, count in status["hidden_tools"].items():
        hidden = click.style(f"{format_count(count, 'definition')} of `{server}` hidden", fg="yellow")
        yield f"  {'mcp':<10}{hidden}: changed since accepted; see `verdikt mcp pins show {server}`"
    warm = status["warm"]
    yield f"  {'warm':<10}" + (
        f"running, {format_count(warm['calls'], 'call')} answered" if warm["running"] else "not running"
    )
    yield from _render_log(status["log"])


def _render_policy(status: dict[str, Any]) -> Iterator[str]:
    policy = status["policy"]
    if "fault" in policy:
        fault = click.style("can't be loaded, every call is blocked", fg="red")
        yield f"  {'policy':<10}{fault}: {policy['fault']}"
        return
    layers = ", ".join(
        layer["layer"] if layer["profile"] == "none" else f"{layer['layer']} on {layer['profile']}"
        for layer in policy["layers"]
    )
    counts = f"{format_count(policy['rules'], 'rule')}, {format_count(policy['exceptions'], 'exception')}"
    yield f"  {'policy':<10}{policy['digest']}: {layers}; {counts}"
    if pending := policy["pending"]:
        files = ", ".join(f"{os.path.basename(change['file'])} ({change['kind']})" for change in pending)
        waiting = click.style(f"{files} is not accepted", fg="yellow")
        yield f"  {'pending':<10}{waiting}: what it loosens does not count; see `verdikt policy pending`"
    posture = status["log"].get("posture") or policy["posture"]
    grants = f", {format_count(status['grants'], 'grant')}" if status.get("grants") else ""
    yield f"  {'posture':<10}{posture}{grants}"
    if status.get("paused"):
        yield f"  {'paused':<10}" + click.style(status["paused"], fg="yellow") + "; `verdikt pause --end` ends it"


def _render_log(log: dict[str, Any]) -> Iterator[str]:
    if "newest" not in log:
        yield f"  {'log':<10}no session yet"
        return
    state = "intact" if log["intact"] else click.style("FAILING", fg="red")
    signed = f"signed up to {log['signed_up_to']}" if log["signed_up_to"] else "not signed yet"
    entries = format_count(log["entries"], "entry", "entries")
    yield f"  {'log':<10}{format_count(log['sessions'], 'session')}; the newest ({log['newest'][:8]}) is {state}:"
    yield f"  {'':<10}{entries}, {signed}; `verdikt ledger verify` verifies all"
