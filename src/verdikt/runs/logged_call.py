"""One tool call as evidence: written into the log when it happens, read from it when something is claimed. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.hosts.host import ExitStatus
from verdikt.hosts.registry import HOSTS
from verdikt.knowledge import find_role
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import Entry
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.patch import read_patch_paths
from verdikt.runs.program_kinds import names_task
from verdikt.runs.runner_output import TestCounts, has_clean_summary, parse_test_counts
from verdikt.runs.shell_runs import ProgramRun, find_edited_paths, read_runs

_NO_FILES = compile_lazily(
    r"\bno (?:\w+ )?files? (?:were )?(?:found|matched|to (?:check|lint|format))\b"
    r"|\b0 (?:source )?files? (?:check|lint|scan)ed",
    re.IGNORECASE,
)
_ECHO_PROGRAMS = find_role("echo_printer")
_HOSTS_WITH_STATUS = frozenset(host.name for host in HOSTS.values() if host.exit_status is ExitStatus.ALWAYS)
"""Hosts that report the status whenever there is one: no status means that the command still runs, for example."""

_HOSTS_WITHOUT_STATUS = frozenset(host.name for host in HOSTS.values() if host.exit_status is ExitStatus.NEVER)
"""Hosts that never report it. What a command printed is all there is."""


def build_call_evidence(
    action: Action, outcome: Outcome, *, written: Mapping[str, str], ended: float, edited: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return what the log stores about a call as evidence. `written` is path → digest of the contents."""
    seconds = outcome.duration_seconds
    evidence: dict[str, Any] = {
        "ended": int(ended * 1_000_000),
        "started": int((ended - seconds) * 1_000_000) if seconds is not None else None,
        "written": [{"path": path, "sha256": digest} for path, digest in written.items()],
    }
    if edited:
        evidence["edited"] = list(edited)
    if action.kind is ActionKind.BASH and action.command:
        runs = read_runs(action.command)
        evidence["runs"] = [run.record() for run in runs]
        if (
            outcome.exit_code is None
            and action.host in _HOSTS_WITHOUT_STATUS
            and _has_success_echo(runs, outcome.output)
        ):
            evidence["status"] = 0
        # Parsed once, when it happens: the log keeps the counts, not the whole output.
        if any(run.kind == "test" or names_task(run.argv) for run in runs):
            counts = parse_test_counts(f"{outcome.output}\n{outcome.error}")
            evidence["tests"] = counts.record() if counts else None
        if any(run.kind in ("lint", "build") for run in runs):
            evidence["clean"] = has_clean_summary(f"{outcome.output}\n{outcome.error}")
            # A linter that found nothing to look at is content as well.
            if _NO_FILES.search(f"{outcome.output}\n{outcome.error}"):
                evidence["runs"] = [run | {"dry": run["dry"] or run["kind"] == "lint"} for run in evidence["runs"]]
    status = read_http_status(action, outcome)
    if status is not None:
        evidence["http"] = status
    return evidence


def _has_success_echo(runs: tuple[ProgramRun, ...], output: str) -> bool:
    """Return whether the last line comes from a final `&& echo …`, so that everything before it succeeded."""
    last = runs[-1] if len(runs) > 1 else None
    if last is None or not last.argv or last.argv[0] not in _ECHO_PROGRAMS or not last.status_propagates:
        return False
    echoed_text = " ".join(last.argv[1:])
    return bool(echoed_text) and output.rstrip().rpartition("\n")[2] == echoed_text


def list_edits(action: Action) -> tuple[str, ...]:
    """Return the files that a call changes, as it names them."""
    if action.kind is ActionKind.WRITE:
        return (action.path,) if action.path else _find_patched_paths(action) or ("*",)
    return find_edited_paths(action.command) if action.kind is ActionKind.BASH and action.command else ()


def _find_patched_paths(action: Action) -> tuple[str, ...]:
    """Return the files of the patch that a call hands to a patch tool."""
    for value in action.payload.values() if isinstance(action.payload, Mapping) else ():
        if isinstance(value, str) and (patch := read_patch_paths(value)).files:
            return patch.strip_paths(1)
    return ()


def read_http_status(action: Action, outcome: Outcome) -> int | None:
    """Return the status that a fetch reports; None when it reports none."""
    if action.kind is ActionKind.FETCH:
        response = outcome.raw.get("tool_response") if isinstance(outcome.raw, Mapping) else None
        code = response.get("code") if isinstance(response, Mapping) else None
        if isinstance(code, int) and not isinstance(code, bool):
            return code
    elif not any(run.kind == "http" for run in (read_runs(action.command) if action.kind is ActionKind.BASH else ())):
        return None
    status_lines = re.findall(r"(?m)^(?:< )?HTTP/\d(?:\.\d)? (\d{3})\b", outcome.output + "\n" + outcome.error)
    if status_lines:
        return int(status_lines[-1])
    # `curl -w %{http_code}` prints the bare status as its last word.
    final_number = re.search(r"(?:^|\n|\s)(\d{3})\s*$", outcome.output[-200:])
    return int(final_number[1]) if final_number and final_number[1][0] in "12345" else None


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A tool call from the log."""

    seq: int
    kind: str
    tool: str
    call_id: str
    command: str
    target: str
    cwd: str
    ok: bool
    failed: bool
    status_unknown: bool = False  # a command whose status the host keeps to itself
    runs: tuple[ProgramRun, ...] = ()
    tests: TestCounts | None = None
    http: int | None = None
    written: Mapping[str, str] = field(default_factory=dict)
    edited: tuple[str, ...] = ()
    ended: float = 0.0
    tree: tuple[str, str] = ("", "")  # the root and the digest of the sources when it ended
    tree_head: str = ""  # the commit that was checked out then
    tree_files: Mapping[str, tuple[str, str]] | None = None  # what differed from that commit; None: not recorded
    clean: bool = False  # a linter or compiler printed itself that it found nothing

    def successful_runs(self, *kinds: str) -> tuple[ProgramRun, ...]:
        """Return the runs of these kinds that certainly succeeded: by status, or by what only they can have printed."""
        return tuple(
            run
            for run in self.runs
            if run.kind in kinds
            and not run.dry_run
            and (self.succeeded_by_status(run) or self.succeeded_by_output(run))
        )

    def succeeded_by_status(self, run: ProgramRun) -> bool:
        """Return whether the status of the command shows that this run succeeded."""
        return self.ok and run.status_propagates

    def succeeded_by_output(self, run: ProgramRun) -> bool:
        """Return whether a pipe or the host hides the status, and the run's own summary shows that it succeeded."""
        if self.failed or not (run.piped or (self.status_unknown and run.status_propagates)):
            return False
        if run.kind == "test":
            return self.tests is not None and self.tests.is_green
        return run.kind in ("lint", "build") and self.clean


def read_call(entry: Entry) -> LoggedCall:
    """Return the call that an entry records; what the entry lacks is empty."""
    body = entry.body
    evidence = body.get("evidence")
    evidence = evidence if isinstance(evidence, Mapping) else {}
    payload = body.get("payload")
    payload = payload if isinstance(payload, Mapping) else {}
    status, success, host = body.get("exit_code"), bool(body.get("success")), body.get("host")
    # Recorded when a final `&& echo` proved success on a host that reports no status.
    status = evidence.get("status") if status is None else status
    is_command = body.get("kind") == ActionKind.BASH.value
    tests = evidence.get("tests")
    tree = evidence.get("tree")
    tree = tree if isinstance(tree, Mapping) else {}
    return LoggedCall(
        seq=entry.seq,
        kind=str(body.get("kind", "")),
        tool=str(body.get("tool", "")),
        call_id=str(body.get("call_id", "")),
        command=_first_text(payload, "command", "cmd", "script"),
        target=_first_text(payload, "file_path", "path", "notebook_path", "url", "query", "pattern", "prompt"),
        cwd=str(body.get("cwd", "")),
        # A host that always reports a status and did not: the command may still run in the background.
        ok=(status == 0 and payload.get("run_in_background") is not True)
        or (status is None and success and (host not in _HOSTS_WITH_STATUS | _HOSTS_WITHOUT_STATUS or not is_command)),
        failed=not success or bool(status),
        status_unknown=status is None and success and is_command and host in _HOSTS_WITHOUT_STATUS,
        runs=tuple(ProgramRun.from_record(run) for run in evidence.get("runs", ()) if isinstance(run, Mapping)),
        tests=TestCounts.from_record(tests) if isinstance(tests, Mapping) else None,
        http=evidence.get("http"),
        written={str(file.get("path")): str(file.get("sha256")) for file in evidence.get("written", ())},
        edited=tuple(map(str, evidence.get("edited", ()))),
        ended=float(evidence.get("ended") or 0) / 1_000_000,
        tree=read_tree_digest(tree),
        tree_head=str(tree.get("head", "")),
        tree_files=read_file_pairs(tree.get("dirty")),
        clean=bool(evidence.get("clean")),
    )


def read_tree_digest(record: object) -> tuple[str, str]:
    """Return root and digest of the sources in a record; empty when it has none."""
    return (str(record.get("root", "")), str(record.get("sha256", ""))) if isinstance(record, Mapping) else ("", "")


def read_file_pairs(record: object) -> dict[str, tuple[str, str]] | None:
    """Return path → (content in the commit, content then) from a record; None when it has none."""
    if not isinstance(record, Mapping):
        return None
    return {str(path): (str(pair[0]), str(pair[1])) for path, pair in record.items() if len(pair) == 2}


def _first_text(payload: Mapping[str, Any], *keys: str) -> str:
    return next((value for key in keys if isinstance(value := payload.get(key), str) and value), "")
