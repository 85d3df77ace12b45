"""`verdikt ledger verify` and `verdikt ledger checkpoint`."""

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.store_access import home_option, json_option, open_existing_store, resolve_home, resolve_session
from verdikt.errors import LedgerError
from verdikt.ledger import checkpoint as checkpoints
from verdikt.ledger.audit import audit
from verdikt.ledger.keys import Keyring
from verdikt.ledger.projections import load_projections

if TYPE_CHECKING:
    from verdikt.ledger.audit import AuditReport
    from verdikt.ledger.audit_finding import AuditFinding, Witness

GIT_NOTE = "git-note"
_NOTES_REF = "verdikt"


@click.command()
@click.option("--session", "sessions", multiple=True, metavar="S", help="Only this session; may be given again.")
@click.option("--all", "all_", is_flag=True, help="Every session (the default).")
@click.option(
    "--witness",
    "witnesses",
    multiple=True,
    metavar="PATH|git-note",
    help="A checkpoint kept elsewhere: a file, a directory of them, or the notes of the repository here.",
)
@click.option("--artifacts/--no-artifacts", default=True, help="Compare artifacts with their digests too.")
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
    as_json: bool,
    home: Path | None,
) -> None:
    """Finds every edit, drop, swap, insert, truncation, forgery and rollback, and says where.

    Exits 0 only if everything holds and there was something to verify, 1 if something is wrong, 3 if there was nothing.

    Example: verdikt ledger verify --witness /mnt/backup/verdikt
    """
    if sessions and all_:
        raise click.UsageError("--session and --all exclude each other")
    place = resolve_home(home)
    words, doubts = _load_witnesses(witnesses, Keyring(place / "keys"))
    found = audit(place, list(sessions) or None, witnesses=words, artifacts=artifacts, projections=load_projections())
    found.general_findings += doubts
    if as_json:
        click.echo(json.dumps(_audit_to_dict(found), indent=1))
    else:
        _print_audit(found, place)
    ctx.exit(0 if found.is_intact else 3 if found.entry_count == 0 and not found.findings else 1)


def _load_witnesses(witnesses: tuple[str, ...], keyring: Any) -> tuple["list[Witness]", "list[AuditFinding]"]:
    words: list[Witness] = []
    doubts: list[AuditFinding] = []
    for witness in witnesses:
        documents = (
            list(checkpoints.parse_checkpoints(_read_git_notes(), GIT_NOTE))
            if witness == GIT_NOTE
            else checkpoints.read_checkpoints(Path(witness))
        )
        said, doubted = checkpoints.verify_checkpoints(documents, keyring, witness)
        words += said
        doubts += doubted
    return words, doubts


def _audit_to_dict(audit: "AuditReport") -> dict[str, Any]:
    return {
        "holds": audit.is_intact,
        "entries": audit.entry_count,
        "sessions": [
            {
                "session": one.session,
                "holds": one.is_intact,
                "entries": one.entry_count,
                "signed": one.signature_count,
                "covered": one.last_covered_seq,
                "head": {"seq": one.head.seq, "hash": one.head.hash},
            }
            for one in audit.sessions
        ],
        "faults": [
            {"kind": f.kind.value, "session": f.session, "seq": f.seq, "message": f.message, "note": f.is_note}
            for f in audit.findings
        ],
    }


def _print_audit(audit: "AuditReport", directory: Path) -> None:
    for one in audit.sessions:
        mark = click.style("holds", fg="green") if one.is_intact else click.style("BROKEN", fg="red", bold=True)
        if one.entry_count == 0 and not one.findings:
            mark = click.style("nothing there", fg="yellow")
        signed = f"signed up to {one.last_covered_seq}" if one.last_covered_seq else "not signed yet"
        click.echo(
            f"{one.session}: {mark}, {_pluralize(one.entry_count, 'entry', 'entries')}, {signed}, head {one.head.hash[:12]}"
        )
    for fault in audit.findings:
        where = f"{fault.session or 'general'}{f' entry {fault.seq}' if fault.seq else ''}"
        word = click.style(fault.kind.value, fg="yellow" if fault.is_note else "red")
        click.echo(f"  {word} at {where}: {fault.message}")
    if audit.entry_count == 0 and not audit.findings:
        click.echo(f"nothing to verify in `{directory}`")
    elif audit.is_intact:
        entries, sessions = (
            _pluralize(audit.entry_count, "entry", "entries"),
            _pluralize(len(audit.sessions), "session", "sessions"),
        )
        click.echo(f"{entries} in {sessions}: all holds")
    else:
        broken = [fault for fault in audit.findings if not fault.is_note]
        click.echo("1 thing is wrong" if len(broken) == 1 else f"{len(broken)} things are wrong")


def _pluralize(count: int, singular: str, plural: str) -> str:
    return f"{count} {singular if count == 1 else plural}"


@click.command()
@click.option("--session", "sessions", multiple=True, metavar="S", help="Only this session; may be given again.")
@click.option("--export", "directory", type=click.Path(file_okay=False, path_type=Path), help="Also write it into DIR.")
@click.option(
    "--git-note", is_flag=True, help="Also add it to the notes of HEAD of the repository here (ref `verdikt`)."
)
@json_option
@home_option
def checkpoint(
    sessions: tuple[str, ...], directory: Path | None, git_note: bool, as_json: bool, home: Path | None
) -> None:
    """Signs the end of each session, and takes a copy of all ends to a place that the agent cannot write.

    Example: verdikt ledger checkpoint --export /mnt/backup/verdikt
    """
    store = open_existing_store(home)
    known = store.list_sessions()
    sessions = tuple(resolve_session(store, session) for session in sessions)
    if not known:
        raise LedgerError(f"no session in `{store.home}` to make a checkpoint of")
    covered = checkpoints.sign_session_ends(store, sessions or known)
    with store.state.hold_connection() as db:
        heads = db.read_heads()
    document = checkpoints.build_checkpoint(heads, store.keyring, store.clock.now())
    places = []
    if directory is not None:
        places.append(str(checkpoints.write_checkpoint(document, directory)))
    if git_note:
        _run_git("notes", f"--ref={_NOTES_REF}", "append", "-m", checkpoints.to_line(document), "HEAD")
        places.append(f"git note `{_NOTES_REF}` of HEAD")
    if as_json:
        click.echo(json.dumps({"covered": covered, "places": places, "checkpoint": document}, indent=1))
        return
    signed, known_ends = _pluralize(covered, "session", "sessions"), _pluralize(len(heads), "head", "heads")
    click.echo(f"{signed} signed, {known_ends} known, key {document['kid']}")
    for written in places:
        click.echo(f"written: {written}")


def _read_git_notes() -> bytes:
    notes = _run_git("notes", f"--ref={_NOTES_REF}", "list").split()
    texts = [_run_git("cat-file", "blob", note) for note in notes[::2]]
    if not texts:
        raise LedgerError(
            f"expected a checkpoint in the git notes `{_NOTES_REF}`, found none; make one with --git-note"
        )
    return "\n".join(texts).encode()


def _run_git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise LedgerError("`git` is not installed: use --export DIR") from None
    except subprocess.CalledProcessError as error:
        raise LedgerError(f"`git {' '.join(arguments[:3])}` failed: {error.stderr.strip()}") from error
    return done.stdout
