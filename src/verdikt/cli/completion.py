"""`verdikt completion`: what must be true before an agent may stop, listed and tried."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.data import home_option, json_option, the_home, the_session
from verdikt.cli.policy import refuse
from verdikt.errors import PolicyError

if TYPE_CHECKING:
    from verdikt.govern import Governance
    from verdikt.guidance.completion import Completion

INCOMPLETE = 2

file_option = click.option(
    "-f", "--file", type=click.Path(dir_okay=False), help="A policy file, instead of those in force."
)


@click.group()
def command() -> None:
    """What must be true before an agent may stop: the section `completion` of the policy.

    Example: verdikt completion check
    """


@command.command()
@file_option
@home_option
@json_option
def show(file: str | None, home: Path | None, as_json: bool) -> None:
    """Lists the checks with their bounds.

    Example: verdikt completion show
    """
    found = [_record(completion) for completion in _completions(_governance(file, home))]
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif not found:
        click.echo("no completion checks: an agent may stop at any time")
    for record in [] if as_json else found:
        for line in _lines(record["check"]):
            click.echo(line)
        bounds = [f"at most {record['refusals']} refusals for one reason"]
        bounds += [f"not after {record['deadline_seconds']:g} seconds"] if record["deadline_seconds"] else []
        bounds += [f"not after {amount:g} {name}" for name, amount in record["budget"].items()]
        bounds += [f"for {', '.join(record['agents'])}"] if record["agents"] else []
        click.echo(click.style(f"  {'; '.join(bounds)}", dim=True))


@command.command()
@click.option("--session", default="", help="The session whose log tells what ran; none: nothing did.")
@file_option
@home_option
@json_option
def check(session: str, file: str | None, home: Path | None, as_json: bool) -> None:
    """Tries the checks here and now, without refusing anything; status 2 when the work is incomplete.

    Example: verdikt completion check --session 8f0c
    """
    governance = _governance(file, home)
    session = the_session(governance.store, session) if session else ""
    results = governance.try_completion(session, os.getcwd())
    if as_json:
        shown = [{"complete": each.complete, "feedback": each.feedback or ""} for each in results]
        click.echo(json.dumps(shown, indent=2, ensure_ascii=False))
    for each in [] if as_json else results:
        word, colour = ("complete", "green") if each.complete else ("incomplete", "red")
        text = (each.feedback or "").removeprefix("<blocker>\n").removesuffix("\n</blocker>")
        click.echo(f"{click.style(word, fg=colour, bold=True)}: {text}" if text else click.style(word, fg=colour))
    if not results and not as_json:
        click.echo("no completion checks: an agent may stop at any time")
    sys.exit(0 if all(each.complete for each in results) else INCOMPLETE)


def _governance(file: str | None, home: Path | None) -> "Governance":
    from verdikt.govern import Governance

    env = {**os.environ, "VERDIKT_HOME": str(the_home(home))}
    try:
        return Governance.load(file, cwd=os.getcwd(), env=env)
    except PolicyError as error:
        refuse(error)


def _completions(governance: "Governance") -> "tuple[Completion, ...]":
    return governance.guidance.completions if governance.guidance else ()


def _record(completion: "Completion") -> dict[str, Any]:
    return {
        "check": _checker(completion.checker),
        "refusals": completion.refusals,
        "deadline_seconds": completion.deadline_seconds,
        "budget": completion.budget.amounts(),
        "agents": list(completion.scope.agents),
    }


def _checker(checker: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from verdikt.guidance.completion import CompositeChecker
    from verdikt.guidance.section import CHECKERS

    if isinstance(checker, CompositeChecker):
        return {"all" if checker.all_must_pass else "any": [_checker(inner) for inner in checker.checkers]}
    name = next(name for name, made in CHECKERS.items() if isinstance(checker, made))
    return {name: {key: value for key, value in asdict(checker).items() if value not in (None, False, {})}}


def _lines(check: dict[str, Any], depth: int = 0) -> Iterator[str]:
    [(name, inner)] = check.items()
    if name in ("all", "any"):
        yield f"{'  ' * depth}{name} of"
        for each in inner:
            yield from _lines(each, depth + 1)
        return
    words = ", ".join(
        key.replace("_", "-") if value is True else _words(value) for key, value in inner.items() if value
    )
    yield f"{'  ' * depth}{click.style(name, bold=True)} {words}"


def _words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
