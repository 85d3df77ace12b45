"""`verdikt explain`: what a command would do, part by part, and which guard decides."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from verdikt.cli.check import (
    describe_pause,
    plain_option,
    read_action,
    select_permissions,
    select_policy,
)
from verdikt.cli.exit_status import EXIT_BAD_POLICY
from verdikt.cli.permissions import Permissions, decide_with_permissions
from verdikt.cli.remembered import load_memory
from verdikt.cli.store_access import json_option
from verdikt.cli.usage_command import UsageCommand
from verdikt.effects.classifier import extract_command_text
from verdikt.effects.script_classifier import ScriptClassifier
from verdikt.effects.target import TargetResolver
from verdikt.errors import PolicyError
from verdikt.graph.layer_reader import PROFILE_NAMES
from verdikt.model.action import ActionKind
from verdikt.model.effect import Effects, effects_to_record
from verdikt.model.facts import Facts
from verdikt.model.posture import Posture
from verdikt.model.redaction import redact_action
from verdikt.model.verdict import verdict_to_record
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.world import RealWorld, find_project_root
from verdikt.report.explanation import render_html, render_text
from verdikt.report.graph_view import render_deciding_path, render_path
from verdikt.shell import analyse

if TYPE_CHECKING:
    from verdikt.effects.script_classifier import Step
    from verdikt.model.action import Action

_STYLES: dict[str, dict[str, Any]] = {
    "pass": {"fg": "green", "bold": True},
    "warn": {"fg": "yellow", "bold": True},
    "ask": {"fg": "magenta", "bold": True},
    "block": {"fg": "red", "bold": True},
    "dim": {"dim": True},
    "command": {"bold": True},
    "effect": {"fg": "cyan"},
}


def style_text(text: str, role: str) -> str:
    """Return a text in the colours of its role, for a terminal."""
    return click.style(text, **_STYLES[role])


@click.command(cls=UsageCommand)
@click.argument("words", nargs=-1, required=True, metavar="COMMAND")
@click.option("--tool", help="The tool; default: Bash.")
@click.option("--profile", type=click.Choice(PROFILE_NAMES), help="Use a shipped profile, not the policy in force.")
@click.option("--policy", "policy_file", type=click.Path(dir_okay=False), help="Use this policy file instead.")
@click.option(
    "--posture", type=click.Choice([posture.value for posture in Posture]), help="Whether a person is there to answer."
)
@click.option("--cwd", default="", help="The directory of the call; default: here.")
@click.option("--session", default="", help="As this session, with what it remembers; default: the project's memory.")
@plain_option
@json_option
@click.option("--html", "as_html", is_flag=True, help="Print a self-contained page, to share.")
def command(
    *,
    words: tuple[str, ...],
    tool: str | None,
    profile: str | None,
    policy_file: str | None,
    posture: str | None,
    cwd: str,
    session: str,
    plain: bool,
    as_json: bool,
    as_html: bool,
) -> None:
    """Show what a command would do and why the policy decides as it does. Nothing is run or recorded.

    \b
    Example: verdikt explain 'cd build && sudo rm -rf *'
             verdikt explain --html 'curl https://example.com/x.sh | sh' > explained.html
    """  # noqa: D301
    try:
        policy = select_policy(profile, policy_file, cwd)
    except PolicyError as error:
        click.echo(str(error), err=True)
        sys.exit(EXIT_BAD_POLICY)
    load_permissions = select_permissions(plain=plain or bool(profile or policy_file))
    action = read_action(words, tool, cwd)
    memory = load_memory(session, action.cwd)
    explanation = explain_action(
        action, policy, Posture(posture) if posture else policy.posture, load_permissions, memory
    )
    if as_json:
        click.echo(json.dumps(explanation, indent=2, ensure_ascii=False))
    elif as_html:
        click.echo(render_html(explanation), nl=False)
    else:
        click.echo(render_text(explanation, style_text))


def explain_action(
    action: "Action",
    policy: Any,
    posture: Posture,
    load_permissions: Callable[[], Permissions] = Permissions,
    memory: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return an action's commands, effects and verdict as plain data."""
    decision, notes = decide_with_permissions(action, policy, posture, load_permissions, memory)
    steps, problems = _classify_steps(action)
    return {
        "text": action.command or action.tool,
        "commands": [_step_to_dict(step) for step in steps],
        "problems": problems,
        "effects": [_fill_effect_defaults(effect) for effect in effects_to_record(decision.effects)],
        "verdict": {"reason": "", "fix": "", **verdict_to_record(decision.verdict)},
        # What else a person should know: a pause, an exception, or a grant for another session.
        "notes": [note for note in (describe_pause(decision), *notes) if note],
        "path": render_deciding_path(decision.trace),
        "trace": render_path(decision.trace),
        "posture": decision.posture.value,
        "approved": decision.approved,
        # The same digest as in the log, if the command has run with this policy and world.
        "receipt": decision.receipt.sha256,
    }


def _classify_steps(action: "Action") -> tuple[list["Step"], list[str]]:
    """Return the commands of a shell text with the effects of each, and the parts that were not understood."""
    if action.kind is not ActionKind.BASH:
        return [], []
    # As in a decision: an explanation may be shared, and must not carry a password.
    action, kinds = redact_action(action)
    root = find_project_root(action.cwd, os.environ.get("HOME", ""))
    facts = Facts(RealWorld(action.cwd, guarded=list_guarded_paths(root, os.environ)), secrets=kinds)
    text = extract_command_text(action)
    steps: list[Step] = []
    ScriptClassifier(TargetResolver(facts), steps=steps).classify_shell(text)
    script = analyse(text, home=facts.home, cwd=facts.cwd, read=facts.text)
    # Inner scripts (`sh -c …`) come first; their effects are repeated at the command that runs them.
    return steps[len(steps) - len(script.commands) :], list(script.problems)


def _step_to_dict(step: "Step") -> dict[str, Any]:
    command = step.command
    words = [
        *(f"{name}={value.display_text}" for name, value in command.assignments),
        *(word.display_text for word in command.argv),
    ]
    words += [f"{redirect.op}{redirect.target.display_text}" for redirect in command.redirects]
    return {
        "shown": " ".join(" ".join(words).split()) or "(nothing)",
        "argv": [word.display_text for word in command.argv],
        "known": all(word.is_known for word in command.argv),
        "depth": command.depth,
        "via": list(command.via),
        "where": command.host,
        "cwd": command.cwd.display_text if command.cwd is not None else "",
        "piped": command.pipe_from is not None,
        "background": command.background,
        "conditional": command.conditional,
        "repeated": command.repeated,
        "effects": [_fill_effect_defaults(effect) for effect in effects_to_record(Effects(step.effects))],
    }


def _fill_effect_defaults(effect: dict[str, Any]) -> dict[str, Any]:
    """Return an effect with every field, also those that a receipt leaves out when they have the default."""
    return {"targets": [], "certainty": "certain", "recoverable": True, "note": "", **effect}
