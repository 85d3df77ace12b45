"""`verdikt completion`: what must be true before an agent may stop, listed and tried."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.policy import exit_with_faults
from verdikt.cli.store_access import (
    close_after_command,
    home_option,
    json_option,
    resolve_home,
    resolve_session,
)
from verdikt.errors import PolicyError
from verdikt.govern import Governance
from verdikt.guidance.completion import CompositeChecker
from verdikt.guidance.section import CHECKERS

if TYPE_CHECKING:
    from verdikt.guidance.completion import Completion

EXIT_INCOMPLETE = 2

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
    found = [_completion_to_dict(completion) for completion in _list_completions(_load_governance(file, home))]
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif not found:
        click.echo("no completion checks: an agent may stop at any time")
    for record in [] if as_json else found:
        for line in _render_check(record["check"]):
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
    governance = _load_governance(file, home)
    session = resolve_session(governance.store, session) if session else ""
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
    sys.exit(0 if all(each.complete for each in results) else EXIT_INCOMPLETE)


def _load_governance(file: str | None, home: Path | None) -> "Governance":
    env = {**os.environ, "VERDIKT_HOME": str(resolve_home(home))}
    try:
        governance = Governance.load(file, cwd=os.getcwd(), env=env)
    except PolicyError as error:
        exit_with_faults(error)
    close_after_command(governance.store)
    return governance


def _list_completions(governance: "Governance") -> "tuple[Completion, ...]":
    return governance.guidance.completions if governance.guidance else ()


def _completion_to_dict(completion: "Completion") -> dict[str, Any]:
    return {
        "check": _checker_to_dict(completion.checker),
        "refusals": completion.refusals,
        "deadline_seconds": completion.deadline_seconds,
        "budget": completion.budget.get_amounts(),
        "agents": list(completion.scope.agents),
    }


def _checker_to_dict(checker: Any) -> dict[str, Any]:
    if isinstance(checker, CompositeChecker):
        return {"all" if checker.all_must_pass else "any": [_checker_to_dict(inner) for inner in checker.checkers]}
    name = next(name for name, made in CHECKERS.items() if isinstance(checker, made))
    return {name: {key: value for key, value in asdict(checker).items() if value not in (None, False, {})}}


def _render_check(check: dict[str, Any], depth: int = 0) -> Iterator[str]:
    [(name, inner)] = check.items()
    if name in ("all", "any"):
        yield f"{'  ' * depth}{name} of"
        for each in inner:
            yield from _render_check(each, depth + 1)
        return
    words = ", ".join(
        key.replace("_", "-") if value is True else _format_value(value) for key, value in inner.items() if value
    )
    yield f"{'  ' * depth}{click.style(name, bold=True)} {words}"


def _format_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
