"""`verdikt ledger verify` and `verdikt ledger checkpoint`."""

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.data import existing, home_option, json_option, the_home, the_session
from verdikt.errors import LedgerError

if TYPE_CHECKING:
    from verdikt.ledger.audit import Audit
    from verdikt.ledger.fault import Fault, Witness

GIT_NOTE = "git-note"
_REF = "verdikt"


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
    from verdikt.ledger.audit import audit
    from verdikt.ledger.keys import Keyring
    from verdikt.projections import projections

    if sessions and all_:
        raise click.UsageError("--session and --all exclude each other")
    place = the_home(home)
    words, doubts = _testimony(witnesses, Keyring(place / "keys"))
    found = audit(place, list(sessions) or None, witnesses=words, artifacts=artifacts, projections=projections())
    found.general += doubts
    if as_json:
        click.echo(json.dumps(_record(found), indent=1))
    else:
        _print(found, place)
    ctx.exit(0 if found.holds else 3 if found.entries == 0 and not found.faults else 1)


def _testimony(witnesses: tuple[str, ...], keyring: Any) -> tuple["list[Witness]", "list[Fault]"]:
    from verdikt.ledger import checkpoint as checkpoints

    words: list[Witness] = []
    doubts: list[Fault] = []
    for witness in witnesses:
        documents = (
            list(checkpoints.documents(_git_notes(), GIT_NOTE))
            if witness == GIT_NOTE
            else checkpoints.read(Path(witness))
        )
        said, doubted = checkpoints.testify(documents, keyring, witness)
        words += said
        doubts += doubted
    return words, doubts


def _record(found: "Audit") -> dict[str, Any]:
    return {
        "holds": found.holds,
        "entries": found.entries,
        "sessions": [
            {
                "session": one.session,
                "holds": one.holds,
                "entries": one.entries,
                "signed": one.signed,
                "covered": one.covered,
                "head": {"seq": one.head.seq, "hash": one.head.hash},
            }
            for one in found.sessions
        ],
        "faults": [
            {"kind": f.kind.value, "session": f.session, "seq": f.seq, "message": f.message, "note": f.note}
            for f in found.faults
        ],
    }


def _print(found: "Audit", place: Path) -> None:
    for one in found.sessions:
        mark = click.style("holds", fg="green") if one.holds else click.style("BROKEN", fg="red", bold=True)
        if one.entries == 0 and not one.faults:
            mark = click.style("nothing there", fg="yellow")
        signed = f"signed up to {one.covered}" if one.covered else "not signed yet"
        click.echo(
            f"{one.session}: {mark}, {_many(one.entries, 'entry', 'entries')}, {signed}, head {one.head.hash[:12]}"
        )
    for fault in found.faults:
        where = f"{fault.session or 'general'}{f' entry {fault.seq}' if fault.seq else ''}"
        word = click.style(fault.kind.value, fg="yellow" if fault.note else "red")
        click.echo(f"  {word} at {where}: {fault.message}")
    if found.entries == 0 and not found.faults:
        click.echo(f"nothing to verify in `{place}`")
    elif found.holds:
        entries, sessions = _many(found.entries, "entry", "entries"), _many(len(found.sessions), "session", "sessions")
        click.echo(f"{entries} in {sessions}: all holds")
    else:
        broken = [fault for fault in found.faults if not fault.note]
        click.echo("1 thing is wrong" if len(broken) == 1 else f"{len(broken)} things are wrong")


def _many(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


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
    from verdikt.ledger import checkpoint as checkpoints

    store = existing(home)
    known = store.sessions()
    sessions = tuple(the_session(store, session) for session in sessions)
    if not known:
        raise LedgerError(f"no session in `{store.home}` to make a checkpoint of")
    covered = checkpoints.cover(store, sessions or known)
    with store.state.reading() as db:
        heads = db.heads()
    document = checkpoints.make(heads, store.keyring, store.clock.now())
    places = []
    if directory is not None:
        places.append(str(checkpoints.write(document, directory)))
    if git_note:
        _git("notes", f"--ref={_REF}", "append", "-m", checkpoints.line(document), "HEAD")
        places.append(f"git note `{_REF}` of HEAD")
    if as_json:
        click.echo(json.dumps({"covered": covered, "places": places, "checkpoint": document}, indent=1))
        return
    signed, known_ends = _many(covered, "session", "sessions"), _many(len(heads), "head", "heads")
    click.echo(f"{signed} signed, {known_ends} known, key {document['kid']}")
    for written in places:
        click.echo(f"written: {written}")


def _git_notes() -> bytes:
    notes = _git("notes", f"--ref={_REF}", "list").split()
    texts = [_git("cat-file", "blob", note) for note in notes[::2]]
    if not texts:
        raise LedgerError(f"expected a checkpoint in the git notes `{_REF}`, found none; make one with --git-note")
    return "\n".join(texts).encode()


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=True)
    except FileNotFoundError:
        raise LedgerError("`git` is not installed: use --export DIR") from None
    except subprocess.CalledProcessError as error:
        raise LedgerError(f"`git {' '.join(words[:3])}` failed: {error.stderr.strip()}") from error
    return done.stdout
