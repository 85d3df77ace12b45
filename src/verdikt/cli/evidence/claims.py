"""`verdikt evidence claims`: find the claims in a message, or in many."""

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from verdikt.claims.reader import read_claims
from verdikt.cli.exit_status import EXIT_BAD_LINE
from verdikt.cli.store_access import json_option

_COLOURS = {"done": "green", "blocked": "red", "delegation": "yellow", "admission": "cyan"}


@click.command()
@json_option
@click.option("--batch", is_flag=True, help='Read JSON lines {"id", "text"}; answer each with a line.')
def claims(as_json: bool, batch: bool) -> None:
    """Find the claims in the message on stdin: type, topics, words and position.

    Exit status 0; 65 when a line of --batch is invalid (it is answered with an `error`, and the others as usual).

    Example: echo 'Fixed. All tests pass.' | verdikt evidence claims
    """
    if batch:
        error_count = 0
        for answer in map(_answer_line, _read_lines()):
            error_count += "error" in answer
            click.echo(json.dumps(answer, ensure_ascii=False))
        raise SystemExit(EXIT_BAD_LINE if error_count else 0)
    # Never fails on bytes: a transcript may be cut in the middle of a character.
    found_claims = _extract_claims(sys.stdin.buffer.read().decode("utf-8", "replace"))
    if as_json:
        click.echo(json.dumps(found_claims, ensure_ascii=False))
        return
    if not found_claims:
        click.echo("no claims")
    for claim in found_claims:
        kind = click.style(f"{claim['type']:<10}", fg=_COLOURS[claim["type"]])
        click.echo(f"{kind} {claim['start']}-{claim['end']}  {' '.join(claim['words'].split())}")


def _read_lines() -> Iterator[bytes]:
    # Line by line: the caller may wait for each answer before it sends the next message.
    return (line for line in sys.stdin.buffer if line.strip())


def _answer_line(line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return {"id": None, "error": "expected a JSON object, found something else"}
    if not isinstance(request, dict) or not isinstance(request.get("text"), str):
        request_id = request.get("id") if isinstance(request, dict) else None
        return {"id": request_id, "error": 'expected an object {"id", "text"}, found another'}
    return {"id": request.get("id"), "claims": _extract_claims(request["text"])}


def _extract_claims(text: str) -> list[dict[str, Any]]:
    return [
        {
            "type": claim.act,
            "topics": list(claim.topics),
            "words": claim.text,
            "start": claim.start,
            "end": claim.end,
            "score": round(claim.score, 3),
        }
        for claim in read_claims(text)
        if claim.act != "none"
    ]
