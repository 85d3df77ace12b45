"""`verdikt policy pending`: show how the policy on disk differs from the accepted one."""

import difflib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click
import yaml

from verdikt.cli.exit_status import EXIT_FAILURE
from verdikt.cli.policy import exit_with_faults
from verdikt.cli.store_access import json_option
from verdikt.errors import PolicyError
from verdikt.ratchet import LayerChange, PolicySnapshot

project_option = click.option(
    "--project", type=click.Path(exists=True, file_okay=False), default=".", help="The project; default: here."
)


@click.command()
@project_option
@json_option
def command(project: str, as_json: bool) -> None:
    """Show what the policy on disk says and no person has accepted. What is stricter is in force already.

    Exit status: 0 nothing waits, 1 a change waits, 65 a policy file or the record of what is accepted is broken.

    Example: verdikt policy pending
    """
    snapshot = read_snapshot(project)
    if damage := snapshot.find_damage():
        exit_with_faults(damage)
    changes = snapshot.list_changes()
    digest = snapshot.build_policy().digest
    if as_json:
        rows = [change_to_dict(change) for change in changes]
        click.echo(json.dumps({"pending": bool(changes), "root": snapshot.root, "digest": digest, "changes": rows}))
    elif changes:
        for change in changes:
            click.echo("\n".join(render_change(change)))
        click.echo(f"accept it with `verdikt policy accept`, or `--digest {digest}` where no terminal is")
    else:
        click.echo("nothing is pending: the policy on disk is the accepted one")
    sys.exit(EXIT_FAILURE if changes else 0)


def read_snapshot(project: str) -> PolicySnapshot:
    """Return the policy files in force at a project; exit with status 65 if one is broken."""
    try:
        snapshot = PolicySnapshot.read(os.path.realpath(project), os.environ)
        snapshot.build_policy()
    except PolicyError as error:
        exit_with_faults(error)
    return snapshot


def change_to_dict(change: LayerChange) -> dict[str, Any]:
    """Return a change as plain data."""
    return {"layer": change.layer, "file": change.file, "change": change.kind, "diff": list(_diff_texts(change))}


def render_change(change: LayerChange) -> Iterator[str]:
    """Yield the lines that show a change."""
    where = f" {change.file}" if change.file else ""
    yield click.style(f"{change.kind}: {change.layer}{where}", bold=True)
    for line in _diff_texts(change):
        yield "  " + click.style(line, fg={"+": "green", "-": "red"}.get(line[0]))


def _diff_texts(change: LayerChange) -> Iterator[str]:
    """Yield the lines of a diff between what is accepted and what is on disk; comments count for neither."""
    before, after = _render_document(change.accepted), _render_document(change.changed)
    yield from list(difflib.unified_diff(before, after, lineterm="", n=2))[2:]


def _render_document(document: Mapping[str, Any] | None) -> list[str]:
    # Sorted keys, because the accepted copy has no other order.
    return yaml.safe_dump(document, sort_keys=True, allow_unicode=True).splitlines() if document else []
