"""`verdikt check`: what the policy says about a tool call. Nothing is run and nothing is recorded."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from verdikt.cli.batch import answer_lines
from verdikt.cli.exit_status import EXIT_BAD_PAYLOAD, EXIT_BAD_POLICY, EXIT_BY_DISPOSITION
from verdikt.cli.manifest import read_manifest
from verdikt.cli.permissions import Permissions, decide_with_permissions
from verdikt.cli.usage_command import UsageCommand
from verdikt.effects.declared import ToolCall, judge, receive
from verdikt.errors import CanonicalError, HookError, ManifestError, PolicyError, VerdiktError
from verdikt.graph.layer_reader import PROFILE_NAMES
from verdikt.graph.policy_cache import load_cached_policy
from verdikt.model.action import Action, ActionKind
from verdikt.model.canonical_json import encode_canonical, parse_json
from verdikt.model.posture import Posture
from verdikt.model.tool_kind import classify_tool
from verdikt.policy import load_file, parse_policy
from verdikt.report.graph_view import render_path

if TYPE_CHECKING:
    from verdikt.graph.policy import Policy
    from verdikt.model.verdict import Decision


plain_option: Callable[[Any], Any] = click.option(
    "--plain", is_flag=True, help="The policy alone, without grants and pauses; as with --profile and --policy."
)


@click.command(cls=UsageCommand)
@click.argument("words", nargs=-1, metavar="[COMMAND]")
@click.option("--tool", help="The tool; default: Bash.")
@click.option(
    "--posture", type=click.Choice([posture.value for posture in Posture]), help="Whether a person is there to answer."
)
@click.option("--profile", type=click.Choice(PROFILE_NAMES), help="Use a shipped profile, not the policy in force.")
@click.option("--policy", "policy_file", type=click.Path(dir_okay=False), help="Use this policy file instead.")
@click.option(
    "--manifest",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Decide only by the effects that this manifest declares.",
)
@click.option("--bind", is_flag=True, help="With --manifest: add the manifest's digest to the eight fields.")
@click.option("--cwd", default="", help="The directory of the call; default: here.")
@plain_option
@click.option("--json", "as_json", is_flag=True, help="Print the canonical receipt and a newline.")
@click.option("--trace", is_flag=True, help="Also print the path through the policy graph.")
@click.option(
    "--batch",
    is_flag=True,
    help="Read JSON lines {id, tool, input, cwd}; answer each with a line, by the standard profile unless --profile or "
    "--policy selects another.",
)
def command(
    *,
    words: tuple[str, ...],
    tool: str | None,
    posture: str | None,
    profile: str | None,
    policy_file: str | None,
    manifest: Path | None,
    bind: bool,
    cwd: str,
    plain: bool,
    as_json: bool,
    trace: bool,
    batch: bool,
) -> None:
    """Ask the policy about a tool call, as words or as JSON on stdin. Nothing is run or recorded.

    JSON: {"tool": …, "arguments": {…}}, or a host's own {"tool_name": …, "tool_input": {…}}.
    Exit status: 0 allow, 1 deny, 2 ask, 64 bad payload or usage, 65 bad policy or manifest.

    \b
    Example: verdikt check --tool Bash 'rm -rf build'
             verdikt check --manifest tools.json < call.json
    """  # noqa: D301
    try:
        if batch:
            # A batch is meant for comparisons between machines, so the default does not depend on local policy files.
            policy = select_policy(profile or (None if policy_file else "standard"), policy_file, cwd)
            _check_batch(policy, Posture(posture) if posture else policy.posture)
            return
        if manifest is not None:
            _check_manifest(manifest, words, tool, Posture(posture or Posture.INTERACTIVE), bind=bind)
        policy = select_policy(profile, policy_file, cwd)
        action = read_action(words, tool, cwd)
        load_permissions = select_permissions(plain=plain or bool(profile or policy_file))
        decision, notes = decide_with_permissions(
            action, policy, Posture(posture) if posture else policy.posture, load_permissions
        )
    except HookError as error:
        exit_with_denial(error, EXIT_BAD_PAYLOAD)
    except (ManifestError, PolicyError) as error:
        exit_with_denial(error, EXIT_BAD_POLICY)
    if as_json:
        click.echo(decision.receipt.bytes + b"\n", nl=False)
    else:
        click.echo("\n".join([_render_decision(decision), *(f"  {note}" for note in notes)]))
        if trace:
            click.echo("\n".join(f"  path {line}" for line in render_path(decision.trace)))
    sys.exit(EXIT_BY_DISPOSITION[decision.disposition])


def _check_batch(policy: "Policy", posture: Posture) -> None:
    for line in answer_lines(sys.stdin.buffer, policy, posture=posture, home=os.environ.get("HOME", "")):
        click.echo(line)


def exit_with_denial(error: VerdiktError, status: int) -> NoReturn:
    """Deny what cannot be decided: canonical JSON on stdout for machines, one line on stderr for people."""
    name, message = type(error).__name__, str(error)
    click.echo(encode_canonical({"disposition": "deny", "error": name, "message": message}) + b"\n", nl=False)
    click.echo(f"{name}: {' '.join(message.split())}", err=True)
    sys.exit(status)


def _check_manifest(
    manifest: Path, words: tuple[str, ...], tool: str | None, posture: Posture, *, bind: bool
) -> NoReturn:
    """Decide a call by a manifest alone and print the eight-field receipt."""
    declared = read_manifest(manifest)
    call = ToolCall(tool=tool, arguments=_build_payload(words, tool)) if tool else receive(sys.stdin.buffer.read())
    receipt = judge(call, declared, posture)
    click.echo((receipt.bytes_with_manifest if bind else receipt.bytes) + b"\n", nl=False)
    sys.exit(EXIT_BY_DISPOSITION[receipt.disposition])


def select_policy(profile: str | None, file: str | None, cwd: str) -> "Policy":
    """Return the policy that the options select, or the one in force in `cwd`."""
    if profile and file:
        raise click.UsageError("expected --profile or --policy, found both")
    if profile:
        return parse_policy(f"profile: {profile}")
    return load_file(file) if file else load_cached_policy(cwd, os.environ)


def read_action(words: tuple[str, ...], tool: str | None, cwd: str) -> "Action":
    """Return the tool call from the words of the command line, or from JSON on stdin."""
    if words or tool:
        tool = tool or "Bash"
        payload = _build_payload(words, tool)
    else:
        # At a terminal it would wait for input without a word.
        if sys.stdin.isatty():
            raise click.UsageError("expected a command, or a tool call as JSON on stdin")
        tool, payload, cwd = _parse_call(sys.stdin.buffer.read(), cwd)
    return Action(kind=classify_tool(tool), tool=tool, payload=payload, cwd=os.path.abspath(cwd or os.curdir))


def _parse_call(data: bytes, cwd: str) -> tuple[str, dict[str, Any], str]:
    """Return tool, input and directory of a call, with our own keys or a host's."""
    try:
        document = parse_json(data)
    except CanonicalError:
        document = None
    tool = (document.get("tool_name") or document.get("tool")) if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(tool, str):
        # Raises the error with the promised text for each kind of bad payload.
        receive(data)
        raise HookError("payload missing 'tool' string field")
    key = next((key for key in ("arguments", "tool_input", "input") if key in document), "")
    payload = document[key] if key else {}
    if not isinstance(payload, dict):
        raise HookError(f"'{key}' field must be a JSON object if present")
    return tool, payload, cwd or (document["cwd"] if isinstance(document.get("cwd"), str) else "")


def _build_payload(words: tuple[str, ...], tool: str | None) -> dict[str, Any]:
    """Return the tool's input: a command for a shell, a path for a file tool, or an object written as JSON."""
    # Joined as `sh -c` gets it: quoting inside the command is the caller's, and must survive.
    text = " ".join(words)
    if classify_tool(tool or "") is ActionKind.BASH:
        return {"command": text}
    if not text:
        return {}
    if text.lstrip().startswith("{"):
        try:
            payload: dict[str, Any] = parse_json(text)
        except CanonicalError as error:
            raise HookError(f"payload is not valid JSON: {error}") from error
        return payload
    keys = {ActionKind.READ: "file_path", ActionKind.WRITE: "file_path", ActionKind.FETCH: "url"}
    key = keys.get(classify_tool(tool or ""))
    if key is None:
        raise HookError(f"expected the input of `{tool}` as a JSON object, found `{text}`")
    return {key: text}


def select_permissions(*, plain: bool) -> Callable[[], Permissions]:
    """Return what reads the operator's grants and pause, or none of them when only the policy is asked."""
    return Permissions if plain else Permissions.load


def describe_pause(decision: "Decision") -> str:
    """Return what would be decided without the pause; an empty text when there is none."""
    pause = decision.receipt.dump().get("pause")
    return f"without the pause: {pause['verdict']['kind']} by {pause['verdict']['guard']}" if pause else ""


_COLOURS = {"pass": "green", "warn": "yellow", "ask": "magenta", "block": "red"}


def _render_decision(decision: "Decision") -> str:
    """Return the decision as text for people."""
    verdict = decision.verdict
    head = click.style(verdict.kind.word, fg=_COLOURS[verdict.kind.word], bold=True)
    lines = [f"{head}  {verdict.guard}" + ("  (the host need not ask)" if decision.approved else "")]
    lines += [f"  {name:<5}{text}" for name, text in (("why", verdict.reason), ("fix", verdict.fix)) if text]
    lines += [f"  {text}" for text in [describe_pause(decision)] if text]
    lines += [f"  warn {warning.reason}" for warning in decision.warnings if warning is not verdict]
    for effect in decision.effects:
        sure = "" if effect.certain else " (possible)"
        lost = "" if effect.recoverable else ", can't be undone"
        target = f" {effect.target}" if effect.target else ""
        lines.append(click.style(f"  {effect.cls:<12}", dim=True) + f"{effect.what}{target}{sure}{lost}")
    # Sixteen digits are enough to find the receipt in the log, and short enough to read out.
    receipt = f"  posture {decision.posture}, receipt {decision.receipt.sha256[:16]}"
    return "\n".join([*lines, click.style(receipt, dim=True)])
