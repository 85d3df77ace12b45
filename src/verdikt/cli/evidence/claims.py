"""`verdikt evidence claims`: the claims in a message, or in many."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from verdikt.cli.store_access import json_option
from verdikt.evidence.claims import find_claims

_COLOURS = {"done": "green", "blocked": "red", "delegation": "yellow"}


@click.command()
@json_option
@click.option("--batch", is_flag=True, help='JSON lines {"id", "text"} on stdin; one JSON line each on stdout.')
def claims(as_json: bool, batch: bool) -> None:
    """The claims in the message on stdin: their type, the words and where they stand.

    Exit status 0; 65 when a line of --batch is not as described (it is answered with an `error`, and the rest goes on).

    Example: echo 'Fixed. All tests pass.' | verdikt evidence claims
    """
    if batch:
        faults = 0
        for answer in map(_answer_line, _read_lines()):
            faults += "error" in answer
            click.echo(json.dumps(answer, ensure_ascii=False))
        raise SystemExit(65 if faults else 0)
    found = _extract_claims(sys.stdin.buffer.read().decode("utf-8", "replace"))
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False))
        return
    if not found:
        click.echo("no claims")
    for claim in found:
        kind = click.style(f"{claim['type']:<10}", fg=_COLOURS[claim["type"]])
        click.echo(f"{kind} {claim['start']}-{claim['end']}  {' '.join(claim['words'].split())}")


def _read_lines() -> Iterator[bytes]:
    return (line for line in sys.stdin.buffer if line.strip())


def _answer_line(line: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError):
        return {"id": None, "error": "expected a JSON object, found something else"}
    if not isinstance(asked, dict) or not isinstance(asked.get("text"), str):
        named = asked.get("id") if isinstance(asked, dict) else None
        return {"id": named, "error": 'expected an object {"id", "text"}, found another'}
    return {"id": asked.get("id"), "claims": _extract_claims(asked["text"])}


def _extract_claims(text: str) -> list[dict[str, Any]]:
    return [claim.record() for claim in find_claims(text)]
