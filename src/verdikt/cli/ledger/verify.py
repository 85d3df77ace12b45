"""`verdikt ledger verify` and `verdikt ledger checkpoint`: find tampering, and sign what it is compared with."""

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.exit_status import EXIT_FAILURE, EXIT_NOTHING_TO_VERIFY
from verdikt.cli.operator_access import refuse_agents
from verdikt.cli.output_path import OutputPath
from verdikt.cli.progress import show_status
from verdikt.cli.store_access import home_option, json_option, open_existing_store, resolve_home, resolve_session
from verdikt.errors import LedgerError
from verdikt.ledger import checkpoint as checkpoints
from verdikt.ledger.audit import ACCEPTED, audit
from verdikt.ledger.export_verifier import ExportReport, verify_export
from verdikt.ledger.key_introduction import IntroducedKeys
from verdikt.ledger.keys import Keyring
from verdikt.ledger.log_reader import LogReader
from verdikt.ledger.projections import load_projections
from verdikt.ledger.store import OPERATOR
from verdikt.observe.program_path import find_system_program
from verdikt.report.counted_noun import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable

    from verdikt.ledger.audit import AuditReport
    from verdikt.ledger.audit_finding import AuditFinding, Witness

GIT_NOTE = "git-note"
_NOTES_REF = "verdikt"


@click.command()
@click.option("--session", "sessions", multiple=True, metavar="S", help="Only this session; repeatable.")
@click.option("--all", "all_", is_flag=True, help="Every session (the default).")
@click.option(
    "--witness",
    "witnesses",
    multiple=True,
    metavar="PATH|git-note",
    help="A checkpoint stored elsewhere: a file, a directory of them, or the notes of the repository here.",
)
@click.option("--artifacts/--no-artifacts", default=True, help="Compare artifacts with their digests too.")
@click.option(
    "--file",
    "exported",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Verify exported lines (JSONL) instead of the log of this machine.",
)
@click.option("--without-bodies", is_flag=True, help="Accept entries of which only the digest of the body is left.")
@json_option
@home_option
@click.pass_context
def verify(
    ctx: click.Context,
    *,
    sessions: tuple[str, ...],
    all_: bool,
    witnesses: tuple[str, ...],
    artifacts: bool,
    exported: Path | None,
    without_bodies: bool,
    as_json: bool,
    home: Path | None,
) -> None:
    """Find every edit, drop, swap, insert, truncation, forgery and rollback of the log, with its place.

    Exit status 0 only if the log is intact and not empty, 1 if there are problems, 3 if there was nothing to verify.

    Example: verdikt ledger verify --witness /mnt/backup/verdikt
    """
    if (sessions and all_) or (exported and (sessions or all_)):
        raise click.UsageError("--session, --all and --file exclude each other")
    directory = resolve_home(home)
    operator_entries = LogReader(directory / "ledger").read_intact_entries(OPERATOR)
    keys = IntroducedKeys(Keyring(directory / "keys"), operator_entries)
    loaded_witnesses, witness_findings = _load_witnesses(witnesses, keys)
    if exported:
        ctx.exit(_verify_file(exported, loaded_witnesses, witness_findings, as_json=as_json))
    with show_status("verifying the log"):
        report = audit(
            directory,
            list(sessions) or None,
            witnesses=loaded_witnesses,
            artifacts=artifacts,
            projections=load_projections(),
            bodies_required=not without_bodies,
        )
    # A witness that does not verify is itself a problem: otherwise damaging it would be a way around it.
    report.general_findings += witness_findings
    if as_json:
        click.echo(json.dumps(_audit_to_dict(report), indent=1))
    else:
        _print_audit(report, directory)
    if report.is_intact:
        ctx.exit(0)
    ctx.exit(EXIT_NOTHING_TO_VERIFY if _is_empty(report) else EXIT_FAILURE)


def _is_empty(report: "AuditReport") -> bool:
    return report.entry_count == 0 and not report.findings


def _load_witnesses(witnesses: tuple[str, ...], keyring: Any) -> tuple["list[Witness]", "list[AuditFinding]"]:
    loaded: list[Witness] = []
    findings: list[AuditFinding] = []
    for witness in witnesses:
        documents = (
            list(checkpoints.parse_checkpoints(_read_git_notes(), GIT_NOTE))
            if witness == GIT_NOTE
            else checkpoints.read_checkpoints(Path(witness))
        )
        verified, problems = checkpoints.verify_checkpoints(documents, keyring, witness)
        loaded += verified
        findings += problems
    return loaded, findings


def _verify_file(
    path: Path, witnesses: "list[Witness]", witness_findings: "list[AuditFinding]", *, as_json: bool
) -> int:
    """Verify exported lines, print the result, and return the exit status."""
    with open(path, "rb") as file:
        report = verify_export(file, witnesses)
    report.findings += witness_findings
    if as_json:
        stretches = [stretch._asdict() for stretch in report.stretches]
        findings = [_finding_to_dict(finding) for finding in report.findings]
        record = {"holds": report.is_intact, "entries": report.entry_count, "stretches": stretches, "faults": findings}
        click.echo(json.dumps(record, indent=1))
    else:
        _print_export(report)
    if report.is_intact:
        return 0
    return EXIT_FAILURE if report.findings else EXIT_NOTHING_TO_VERIFY


def _print_export(report: ExportReport) -> None:
    for session, first, last, entry_hash in report.stretches:
        entries = f"entry {first}" if first == last else f"entries {first}–{last}"
        click.echo(f"{session}: {entries}, hash {entry_hash[:12]}")
    _print_findings(report.findings)
    if report.is_intact:
        stretches = format_count(len(report.stretches), "unbroken stretch", "unbroken stretches")
        click.echo(f"{format_count(report.entry_count, 'entry', 'entries')} as they were written, in {stretches}")
    elif report.findings:
        click.echo(format_count(len(report.findings), "problem"))
    else:
        click.echo("nothing to verify in this file")


def _audit_to_dict(report: "AuditReport") -> dict[str, Any]:
    return {
        "holds": report.is_intact,
        "entries": report.entry_count,
        "sessions": [
            {
                "session": session.session,
                "holds": session.is_intact,
                "entries": session.entry_count,
                "signed": session.signature_count,
                "covered": session.last_covered_seq,
                "absent_bodies": session.absent_body_count,
                "head": {"seq": session.head.seq, "hash": session.head.hash},
            }
            for session in report.sessions
        ],
        "faults": [_finding_to_dict(finding) for finding in report.findings],
    }


def _finding_to_dict(finding: "AuditFinding") -> dict[str, Any]:
    return {
        "kind": finding.kind.value,
        "session": finding.session,
        "seq": finding.seq,
        "message": finding.message,
        "note": finding.is_note,
    }


def _print_findings(findings: "Iterable[AuditFinding]") -> None:
    for finding in findings:
        where = f"{finding.session or 'general'}{f' entry {finding.seq}' if finding.seq else ''}"
        # A note is worth reading, but does not make the log fail: such as entries that no signature covers yet.
        word = click.style(finding.kind.value, fg="yellow" if finding.is_note else "red")
        click.echo(f"  {word} at {where}: {finding.message}")


def _print_audit(report: "AuditReport", directory: Path) -> None:
    for session in report.sessions:
        mark = click.style("intact", fg="green") if session.is_intact else click.style("FAILING", fg="red", bold=True)
        if session.entry_count == 0 and not session.findings:
            mark = click.style("no entries", fg="yellow")
        entries = format_count(session.entry_count, "entry", "entries")
        signed = f"signed up to {session.last_covered_seq}" if session.last_covered_seq else "not signed yet"
        click.echo(f"{session.session}: {mark}, {entries}, {signed}, head {session.head.hash[:12]}")
    _print_findings(report.findings)
    if _is_empty(report):
        click.echo(f"nothing to verify in `{directory}`")
    elif report.is_intact:
        entries = format_count(report.entry_count, "entry", "entries")
        sessions = format_count(len(report.sessions), "session")
        notes = format_count(len(report.findings), "note")
        click.echo(f"{entries} in {sessions}: log intact{f', {notes} above' if report.findings else ''}")
    else:
        problem_count = sum(not finding.is_note for finding in report.findings)
        click.echo(format_count(problem_count, "problem"))


@click.command()
@click.option("--session", "sessions", multiple=True, metavar="S", help="Only this session; repeatable.")
@click.option(
    "--export",
    "directory",
    type=OutputPath(file_okay=False, path_type=Path),
    help="Also write it into this directory.",
)
@click.option("--accept", is_flag=True, help="Accept the log as it is after `state.db` was lost; for a person.")
@click.option(
    "--git-note", is_flag=True, help="Also add it to the notes of HEAD of the repository here (ref `verdikt`)."
)
@json_option
@home_option
def checkpoint(
    *,
    sessions: tuple[str, ...],
    directory: Path | None,
    accept: bool,
    git_note: bool,
    as_json: bool,
    home: Path | None,
) -> None:
    """Sign the end of each session, and copy all ends to a place that the agent cannot write.

    Example: verdikt ledger checkpoint --export /mnt/backup/verdikt
    """
    store = open_existing_store(home)
    all_sessions = store.list_sessions()
    sessions = tuple(resolve_session(store, session) for session in sessions)
    if not all_sessions:
        raise LedgerError(f"no session in `{store.home}` to make a checkpoint of")
    if accept:
        refuse_agents("accepting a loss")
        store.append_checkpoint(OPERATOR, ACCEPTED)
    covered = checkpoints.sign_session_ends(store, sessions or all_sessions)
    # All heads, also of sessions that were not asked for: the document is a witness of the whole log.
    with store.state.hold_connection() as db:
        heads = db.read_heads()
    document = checkpoints.build_checkpoint(heads, store.keyring, store.clock.now())
    destinations = []
    if directory is not None:
        destinations.append(str(checkpoints.write_checkpoint(document, directory)))
    if git_note:
        _run_git("notes", f"--ref={_NOTES_REF}", "append", "-m", checkpoints.to_line(document), "HEAD")
        destinations.append(f"git note `{_NOTES_REF}` of HEAD")
    if as_json:
        click.echo(json.dumps({"covered": covered, "places": destinations, "checkpoint": document}, indent=1))
        return
    signed, known_heads = format_count(covered, "session"), format_count(len(heads), "head")
    click.echo(f"{signed} signed, {known_heads} known, key {document['kid']}")
    for destination in destinations:
        click.echo(f"written: {destination}")


def _read_git_notes() -> bytes:
    notes = _run_git("notes", f"--ref={_NOTES_REF}", "list").split()
    # `git notes list` prints pairs: the note's blob, then the commit that it annotates.
    texts = [_run_git("cat-file", "blob", note) for note in notes[::2]]
    if not texts:
        raise LedgerError(
            f"expected a checkpoint in the git notes `{_NOTES_REF}`, found none; make one with --git-note"
        )
    return "\n".join(texts).encode()


def _run_git(*arguments: str) -> str:
    try:
        completed_process = subprocess.run(
            [find_system_program("git"), *arguments], capture_output=True, text=True, check=True
        )
    except FileNotFoundError:
        raise LedgerError("`git` is not installed: use --export DIR") from None
    except subprocess.CalledProcessError as error:
        raise LedgerError(f"`git {' '.join(arguments[:3])}` failed: {error.stderr.strip()}") from error
    return completed_process.stdout
