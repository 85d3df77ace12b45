"""`verdikt stop-check`: list and try the checks that must hold before an agent may stop."""

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.exit_status import EXIT_INCOMPLETE
from verdikt.cli.policy import exit_with_faults
from verdikt.cli.store_access import (
    close_after_command,
    home_option,
    json_option,
    resolve_home,
    resolve_session,
)
from verdikt.cli.suggesting_group import SuggestingGroup
from verdikt.errors import PolicyError
from verdikt.govern import Governance
from verdikt.guidance.completion import CompositeChecker
from verdikt.guidance.section import CHECKERS

if TYPE_CHECKING:
    from verdikt.guidance.completion import Completion

file_option = click.option(
    "-f", "--file", type=click.Path(dir_okay=False), help="Use this policy file instead of those in force."
)


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Show and try the checks before an agent may stop: the section `completion` of the policy.

    Example: verdikt stop-check check
    """


@command.command()
@file_option
@home_option
@json_option
def show(file: str | None, home: Path | None, as_json: bool) -> None:
    """List the checks with their limits.

    Example: verdikt stop-check show
    """
    records = [_completion_to_dict(completion) for completion in _list_completions(_load_governance(file, home))]
    if as_json:
        click.echo(json.dumps(records, indent=2, ensure_ascii=False))
    elif not records:
        click.echo("no completion checks: an agent may stop at any time")
    for record in [] if as_json else records:
        for line in _render_check(record["check"]):
            click.echo(line)
        bounds = [f"at most {record['refusals']} refusals for one reason"]
        bounds += [f"not after {record['deadline_seconds']:g} seconds"] if record["deadline_seconds"] else []
        bounds += [f"not after {amount:g} {name}" for name, amount in record["budget"].items()]
        bounds += [f"for {', '.join(record['agents'])}"] if record["agents"] else []
        click.echo(click.style(f"  {'; '.join(bounds)}", dim=True))


@command.command()
@click.option("--session", default="", help="The session whose log shows what ran; default: none.")
@file_option
@home_option
@json_option
def check(session: str, file: str | None, home: Path | None, as_json: bool) -> None:
    """Try the checks here and now, without refusing anything; status 2 when the work is incomplete.

    Example: verdikt stop-check check --session 8f0c
    """
    governance = _load_governance(file, home)
    session = resolve_session(governance.store, session) if session else ""
    # `try`: neither the attempt nor its result is recorded, so a person can repeat it at will.
    results = governance.try_completion(session, os.getcwd())
    if as_json:
        rows = [{"complete": result.complete, "feedback": result.feedback or ""} for result in results]
        click.echo(json.dumps(rows, indent=2, ensure_ascii=False))
    for result in [] if as_json else results:
        word, colour = ("complete", "green") if result.complete else ("incomplete", "red")
        # The tags are for the agent that reads the feedback; people need only the text.
        text = (result.feedback or "").removeprefix("<blocker>\n").removesuffix("\n</blocker>")
        click.echo(f"{click.style(word, fg=colour, bold=True)}: {text}" if text else click.style(word, fg=colour))
    if not results and not as_json:
        click.echo("no completion checks: an agent may stop at any time")
    sys.exit(0 if all(result.complete for result in results) else EXIT_INCOMPLETE)


def _load_governance(file: str | None, home: Path | None) -> "Governance":
    # The session's log is in this directory; the governance reads it from the environment.
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
    name = next((name for name, checker_class in CHECKERS.items() if isinstance(checker, checker_class)), "")
    if not name:  # a user's own class, whose settings may be anything
        return {"use": f"{type(checker).__module__}:{type(checker).__qualname__}"}
    return {name: {key: value for key, value in asdict(checker).items() if value not in (None, False, {})}}


def _render_check(check: dict[str, Any], depth: int = 0) -> Iterator[str]:
    [(name, inner)] = check.items()
    if name in ("all", "any"):
        yield f"{'  ' * depth}{name} of"
        for inner_check in inner:
            yield from _render_check(inner_check, depth + 1)
        return
    yield f"{'  ' * depth}{click.style(name, bold=True)} {inner if isinstance(inner, str) else _format_settings(inner)}"


def _format_settings(settings: dict[str, Any]) -> str:
    return ", ".join(
        key.replace("_", "-") if value is True else _format_value(value) for key, value in settings.items() if value
    )


def _format_value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
