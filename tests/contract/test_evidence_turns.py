"""The same turns through every host: what a client leaves out of its reports makes no claim true or false."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.scripted_turn import TurnPlayer, list_commands, load_turns
from verdikt.hosts.dispatch import dispatch_event
from verdikt.hosts.host import ExitStatus
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.registry import HOSTS, load_adapter

PAYLOADS = Path(__file__).parent / "payloads"

EVENTS = {
    "claude": ("UserPromptSubmit", "PostToolUse.Bash", "Stop"),
    "codex": ("UserPromptSubmit", "PostToolUse.Bash", "Stop"),
    "gemini": ("BeforeAgent", "AfterTool.run_shell_command", "AfterAgent"),
    "copilot": ("userPromptSubmitted", "postToolUse.bash", "agentStop"),
    "opencode": ("chat.message", "tool.execute.after", "event.session.idle"),
    "cursor": ("beforeSubmitPrompt", "postToolUse.Shell", "stop"),
}
"""Host → its recorded payloads of a prompt, of a command that ran, and of a stop."""

NAMES = (
    "a fix with a test and a green run",
    "a run through a pipe that shows the summary",
    "a changed colour needs no test",
    "a renamed file",
    "a new branch",
    "a commit that git shows",
    "partially done and said so",
    "only read, and the old tests are green",
    "tested and committed without a commit",
    "a failing test marked as expected to fail",
    "red tests called green",
    "a branch that does not exist",
    "lint and types each with their own check",
    "types called clean after a linter",
    "said again while the sources are the same",
    "said again after the sources changed",
    "a script that ran",
    "a script that did not run",
    "installed without installing",
    "deployed without deploying",
    "a deployment by a script",
    "a deployment that failed",
    "a migration that ran",
    "a migration that did not run",
    "valid JSON is proven by parsing it",
    "broken JSON",
    "a deleted build directory",
    "a merge that git shows",
    "a merge that did not happen",
    "a tag that git shows",
    "a stash that is not there",
    "a push that the remote has",
    "pushed without a push",
    "a remote that was added",
    "a remote that was only listed",
    "a ratio that no run had",
    "an image that was not built",
    "a report that was sent",
    "a newsletter that was not sent",
)
FILES = ("turns_python", "turns_effects", "turns_uncommon")
TURNS = {turn["name"]: turn for turn in load_turns() if turn["file"] in FILES}


EFFECTS = ("a script that ran", "a deployment by a script", "a deployment that failed", "a migration that ran")
"""Turns about commands that should not be run again only to show how they ended."""


def fill_payload(value: Any, fields: dict[str, Any]) -> Any:
    """Return a recorded payload with these fields replaced, wherever they stand."""
    if isinstance(value, list):
        return [fill_payload(member, fields) for member in value]
    if not isinstance(value, dict):
        return value
    return {key: fields[key] if key in fields else fill_payload(member, fields) for key, member in value.items()}


def report_claude(payload: dict[str, Any], status: int, output: str) -> dict[str, Any]:
    """Report a failure as its own event, as Claude Code does."""
    payload["tool_input"].pop("run_in_background", None)
    if status:
        payload.pop("tool_response")
        return payload | {"hook_event_name": "PostToolUseFailure", "error": f"Exit code {status}\n{output}"}
    return payload | {"tool_response": {"stdout": output, "stderr": "", "interrupted": False}}


def report_gemini(payload: dict[str, Any], status: int, output: str) -> dict[str, Any]:
    """Report the status in the text, and only when it is not 0."""
    code = f"\nExit Code: {status}" if status else ""
    text = f"<untrusted_context>\nOutput: {output}{code}\nProcess Group PGID: 1\n</untrusted_context>"
    return payload | {"tool_response": {"llmContent": text, "returnDisplay": output}}


def report_opencode(payload: dict[str, Any], status: int, output: str) -> dict[str, Any]:
    """Report status and output as metadata."""
    return payload | {"output": {"title": "x", "metadata": {"output": output, "exit": status}, "output": output}}


def report_copilot(payload: dict[str, Any], status: int, output: str) -> dict[str, Any]:
    """Report the status in the last line."""
    text = f"{output}\n<shellId: 0 completed with exit code {status}>"
    return payload | {"toolResult": {"resultType": "failure" if status else "success", "textResultForLlm": text}}


REPORTS: dict[str, Callable[[dict[str, Any], int, str], dict[str, Any]]] = {
    "claude": report_claude,
    "codex": lambda payload, status, output: payload | {"tool_response": output},
    "gemini": report_gemini,
    "copilot": report_copilot,
    "opencode": report_opencode,
    "cursor": lambda payload, status, output: payload | {"tool_output": output},
}


class HostPlayer(TurnPlayer):
    """A turn in which a host reports prompts, commands and stops in its own words."""

    def __init__(self, directory: Path, project: str, host: str) -> None:
        super().__init__(directory, project)
        self.host = host

    def report(self, event: str, text: str = "", **fields: Any) -> HostDecision:
        """Send one recorded payload, filled with this session's values, and return the decision about it."""
        recorded = json.loads((PAYLOADS / self.host / f"{event}.json").read_text())
        self.calls += 1
        values = dict.fromkeys(("session_id", "sessionId", "sessionID", "conversation_id"), "s1")
        values |= {"cwd": str(self.project), "workspace_roots": [str(self.project)]}
        values |= dict.fromkeys(("tool_use_id", "callID"), f"c{self.calls}")
        command = fields.pop("command", None)
        payload = fill_payload(copy.deepcopy(recorded["payload"]), values | ({"command": command} if command else {}))
        if command:
            payload = REPORTS[self.host](payload, fields["status"], fields["output"])
        # Copilot CLI does not say in the payload which event it is; its wiring does.
        event_name = event.partition(".")[0] if self.host == "copilot" else ""
        hook_event = load_adapter(self.host).decode(payload, event_name, recorded["env"])
        if hook_event.prompt:
            hook_event = hook_event._replace(prompt=hook_event.prompt._replace(text=text, cwd=str(self.project)))
        if hook_event.turn:
            # Some hosts leave the message to the transcript.
            turn = hook_event.turn._replace(message=text, cwd=str(self.project))
            hook_event = hook_event._replace(turn=turn)
        if hook_event.action:
            hook_event = hook_event._replace(action=replace(hook_event.action, cwd=str(self.project)))
        return dispatch_event(self.governance, hook_event, self.env)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("host", EVENTS)
def test_turn_has_the_same_result_on_every_host(tmp_path: Path, host: str, name: str) -> None:
    """The work tree and git decide, so that a missing exit status neither proves nor refutes anything."""
    turn = TURNS[name]
    if name == "a deployment that failed" and HOSTS[host].exit_status is ExitStatus.NEVER:
        # What cannot be known is not held against the agent, and not signed as proof either.
        turn = turn | {"expect": "pass", "missing": ""}
    player = HostPlayer(tmp_path, turn["project"], host)
    prompt, after, stop = EVENTS[host]
    for step in (*([{"ask": turn["ask"]}] if "ask" in turn else []), *turn["steps"]):
        ((kind, value),) = step.items()
        if kind in ("ask", "say"):
            player.report(prompt if kind == "ask" else stop, value)
        elif kind == "outside":
            player.shell(value)
        else:
            for command in list_commands(step):
                status, output = player.shell(command)
                player.report(after, command=command, status=status, output=output)

    decision = player.report(stop, turn["say"])

    assert decision.is_blocked is (turn["expect"] == "refuse"), decision.reason
    assert turn.get("missing", "") in decision.reason
    if turn["expect"] == "pass" and name in EFFECTS and HOSTS[host].exit_status is ExitStatus.NEVER:
        assert player.last_stop["result"] == "silent"
        assert "this client does not tell how" in player.last_stop["note"]


@pytest.mark.parametrize("host", [name for name in EVENTS if HOSTS[name].exit_status is ExitStatus.NEVER])
def test_client_without_a_status_is_told_how_to_show_it(tmp_path: Path, host: str) -> None:
    """A run of the program that was changed can be repeated so that its end shows."""
    player = HostPlayer(tmp_path, "none", host)
    prompt, after, stop = EVENTS[host]

    def run(command: str) -> None:
        status, output = player.shell(command)
        player.report(after, command=command, status=status, output=output)

    player.report(prompt, "Fix hello.py")
    run("printf 'print(1)\\n' > hello.py")
    run("python3 hello.py")
    refused = player.report(stop, "I fixed hello.py.")

    assert refused.is_blocked
    assert "prove it: python3 hello.py && echo succeeded" in refused.reason

    run("python3 hello.py && echo succeeded")

    assert not player.report(stop, "I fixed hello.py.").is_blocked
    assert player.last_stop["result"] == "proven"
