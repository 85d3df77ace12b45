"""One suite for every adapter, over payloads recorded from the real clients."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verdikt.errors import HookError, PolicyError
from verdikt.govern import Governance
from verdikt.hosts.hook_call import HookCall
from verdikt.hosts.hook_event import HookEvent, HookEventKind
from verdikt.hosts.hook_response import HookResponse
from verdikt.hosts.host_decision import HostDecision
from verdikt.hosts.registry import HOSTS, load_adapter
from verdikt.model.action import ActionKind
from verdikt.model.posture import Posture
from verdikt.model.verdict import Verdict, VerdictKind

PAYLOADS = Path(__file__).parent / "payloads"
RECORDED = sorted(str(path.relative_to(PAYLOADS).with_suffix("")) for path in PAYLOADS.glob("*/*.json"))

REASON = "[verdikt] blocked (no_rm): `/` can't be undone\nInstead: name a path"
DECISIONS = {
    "pass": HostDecision(),
    "warn": HostDecision(kind=VerdictKind.WARN, context="[verdikt] careful"),
    "approved": HostDecision(approved=True),
    "ask": HostDecision(kind=VerdictKind.ASK, reason=REASON),
    "block": HostDecision(kind=VerdictKind.BLOCK, reason=REASON, context="[verdikt] careful"),
}


def load(name: str) -> dict[str, Any]:
    """Return a recorded payload with its environment."""
    recorded: dict[str, Any] = json.loads((PAYLOADS / f"{name}.json").read_text())
    return recorded


def event_of(name: str) -> str:
    """Return the event in the name of a payload: `claude/PreToolUse.Bash` → `PreToolUse`."""
    host, file = name.split("/")
    if host == "opencode":
        return file.removeprefix("event.")
    return file.split(".")[0]


def decode(name: str, *, event: str | None = None) -> HookEvent:
    """Return the event of a recorded payload, by its host's adapter."""
    recorded = load(name)
    host = name.split("/", maxsplit=1)[0].split("_", maxsplit=1)[0]
    return load_adapter(host).decode(
        recorded["payload"], event_of(name) if event is None else event, recorded.get("env", {})
    )


def members(value: object) -> Iterator[object]:
    """Yield every value inside a JSON document."""
    yield value
    if isinstance(value, dict):
        for member in value.values():
            yield from members(member)
    elif isinstance(value, list):
        for member in value:
            yield from members(member)


@pytest.mark.parametrize("name", RECORDED)
def test_decode_of_every_recorded_payload_returns_the_kind_of_its_event(name: str) -> None:
    """The event carries what belongs to its kind."""
    host = name.split("/", maxsplit=1)[0].split("_", maxsplit=1)[0]
    hook_event = decode(name)

    assert hook_event.kind is HOSTS[host].events.get(event_of(name), HookEventKind.NOTICE)
    assert hook_event.host == host
    assert hook_event.session_id != "default"
    acts = (HookEventKind.BEFORE, HookEventKind.PERMISSION, HookEventKind.AFTER)
    assert (hook_event.action is not None) == (hook_event.kind in acts)
    assert (hook_event.outcome is not None) == (hook_event.kind is HookEventKind.AFTER)
    assert (hook_event.prompt is not None) == (hook_event.kind is HookEventKind.PROMPT)
    assert (hook_event.turn is not None) == (hook_event.kind is HookEventKind.STOP)


@pytest.mark.parametrize(
    ("name", "tool", "kind", "text"),
    [
        ("claude/PreToolUse.Bash", "Bash", ActionKind.BASH, "false"),
        ("claude/PreToolUse.Monitor", "Monitor", ActionKind.BASH, "echo MON > ran.txt; echo ev"),
        ("claude/PreToolUse.Write", "Write", ActionKind.WRITE, "/home/dev/proj/a.txt"),
        ("claude/PreToolUse.Agent", "Agent", ActionKind.AGENT, ""),
        ("claude/PreToolUse.mcp__mock__echo", "mcp__mock__echo", ActionKind.MCP, ""),
        ("claude/PermissionRequest.Write", "Write", ActionKind.WRITE, "/home/dev/proj/.claude/settings.local.json"),
        ("codex/PreToolUse.Bash", "Bash", ActionKind.BASH, "echo RAN-42 | tee ran.txt"),
        ("codex/PreToolUse.spawn_agent", "spawn_agent", ActionKind.AGENT, ""),
        ("codex/PreToolUse.multi_agent_v1wait_agent", "wait_agent", ActionKind.OTHER, ""),
        ("gemini/BeforeTool.run_shell_command", "run_shell_command", ActionKind.BASH, "echo RAN-42 | tee ran.txt"),
        ("gemini/BeforeTool.replace", "replace", ActionKind.WRITE, "/home/dev/proj/a.txt"),
        ("copilot/preToolUse.bash", "bash", ActionKind.BASH, "echo RAN-42 | tee ran.txt"),
        ("copilot/permissionRequest.bash", "bash", ActionKind.BASH, "echo RAN-42 | tee ran.txt"),
        ("opencode/tool.execute.before", "bash", ActionKind.BASH, "echo RAN-42 | tee ran.txt"),
        ("cursor/beforeShellExecution", "Shell", ActionKind.BASH, "git push --force"),
        ("cursor/beforeReadFile", "Read", ActionKind.READ, "/home/dev/proj/.env"),
        ("cursor/beforeMCPExecution", "MCP:delete", ActionKind.MCP, "a.txt"),
        ("generic/before", "Bash", ActionKind.BASH, "ls"),
    ],
)
def test_decode_of_a_call_returns_the_same_action_on_every_host(
    name: str, tool: str, kind: ActionKind, text: str
) -> None:
    """Tool, kind, and command or path are found under each host's own names."""
    action = decode(name).action

    assert action is not None
    assert (action.tool, action.kind, action.command or action.path) == (tool, kind, text)


def test_every_recorded_tool_is_known_to_the_policy(tmp_path: Path) -> None:
    """Otherwise the agent would be stopped at tools of its own client."""
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "data")}
    governance = Governance.load(cwd=str(tmp_path), env=env)
    calls = [hook_event.action for name in RECORDED if (hook_event := decode(name)).kind is HookEventKind.BEFORE]
    known = [action for action in calls if action and action.kind is not ActionKind.MCP]
    verdicts = {action.tool: governance.before(action).verdict.guard for action in known}
    governance.store.close()

    assert len(verdicts) > 20
    assert [tool for tool, guard in verdicts.items() if guard == "unknown_tool"] == []


@pytest.mark.parametrize(
    ("name", "success", "code", "output"),
    [
        ("claude/PostToolUse.Write", True, None, ""),
        ("claude/PostToolUse.Bash", True, None, ""),  # still running in the background
        ("claude/PostToolUse.Bash.in_subagent", True, 0, ""),
        ("claude/PostToolUse.Read", True, None, "one\ntwo\n"),
        ("claude/PostToolUse.mcp__mock__echo", True, None, "ECHO:hi"),
        ("claude/PostToolUseFailure.Bash", False, 1, ""),
        ("claude/PostToolUseFailure.mcp__mock__boom", False, None, ""),
        ("codex/PostToolUse.Bash", True, None, "RAN-42\n"),
        ("codex/PostToolUse.mcp__mock__echo", True, None, "ECHO:hi"),
        (
            "gemini/AfterTool.run_shell_command",
            True,
            0,
            "<untrusted_context>\nOutput: RAN-42\nProcess Group PGID: 27718\n</untrusted_context>",
        ),
        ("copilot/postToolUse.bash", True, 0, "RAN-42\n<shellId: 0 completed with exit code 0>"),
        ("opencode/tool.execute.after", True, 0, "RAN-42\n"),
        ("generic/after", True, 0, "a"),
    ],
)
def test_decode_of_an_outcome_returns_success_status_and_output(
    name: str, success: bool, code: int | None, output: str
) -> None:
    """The exit status is None where the host does not report it."""
    outcome = decode(name).outcome

    assert outcome is not None
    assert (outcome.success, outcome.exit_code, outcome.output) == (success, code, output)


TRAILER = "\nExit Code: 3\nProcess Group PGID: 7\n</untrusted_context>"


def test_decode_of_a_failure_without_an_error_text_is_still_a_failure() -> None:
    """The event itself says that the call failed."""
    payload = load("claude/PostToolUseFailure.Bash")["payload"]
    del payload["error"]
    outcome = load_adapter("claude").decode(payload, "PostToolUseFailure").outcome

    assert outcome is not None
    assert not outcome.success


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        ("claude/PostToolUse.Bash.in_subagent", {"tool_response": {"stdout": "o", "stderr": "e"}}, (True, 0, "o", "e")),
        ("claude/PostToolUse.Bash.in_subagent", {"tool_response": {"interrupted": True}}, (True, None, "", "")),
        ("claude/PostToolUse.Bash.in_subagent", {"tool_response": {"backgroundTaskId": "b"}}, (True, None, "", "")),
        (
            "claude/PostToolUse.Bash.in_subagent",
            {"tool_response": {"stdout": "x", "returnCodeInterpretation": "No matches found"}},
            (True, None, "x", ""),
        ),
        ("claude/PostToolUse.WebSearch", {"tool_response": {"result": "found"}}, (True, None, "found", "")),
        ("claude/PostToolUse.Read", {"tool_response": [{"text": "a"}, {"text": "b"}]}, (True, None, "a\nb", "")),
        (
            "claude/PostToolUseFailure.Bash",
            {"error": "Exit code 137\nkilled"},
            (False, 137, "", "Exit code 137\nkilled"),
        ),
        ("claude/PostToolUseFailure.Bash", {"error": None}, (False, None, "", "")),
        ("codex/PostToolUse.apply_patch", {"tool_response": "Exit code: 1\nno"}, (False, 1, "Exit code: 1\nno", "")),
        ("codex/PostToolUse.Bash", {"tool_response": "Exit code: 1\nno"}, (True, None, "Exit code: 1\nno", "")),
        (
            "codex/PostToolUse.mcp__mock__echo",
            {"tool_response": {"isError": True, "content": [{"text": "BOOM"}]}},
            (False, None, "BOOM", ""),
        ),
        (
            "gemini/AfterTool.run_shell_command",
            {"tool_response": {"llmContent": "x", "error": {"message": "m"}}},
            (False, None, "x", "m"),
        ),
        (
            "gemini/AfterTool.run_shell_command",
            {"tool_response": {"llmContent": f"x{TRAILER}", "error": {"message": "m"}}},
            (False, None, f"x{TRAILER}", "m"),
        ),
        (
            "gemini/AfterTool.read_file",
            {"tool_response": {"llmContent": "\nExit Code: 3"}},
            (True, None, "\nExit Code: 3", ""),
        ),
        ("copilot/postToolUse.bash", {"toolResult": {"resultType": "failure"}}, (False, None, "", "")),
        (
            "copilot/postToolUse.bash",
            {"toolResult": {"resultType": "success", "textResultForLlm": "<shellId: 0 completed with exit code 2>"}},
            (False, 2, "<shellId: 0 completed with exit code 2>", ""),
        ),
        ("cursor/postToolUse.Shell", {"error_message": "no"}, (False, None, "ok", "no")),
        (
            "opencode/tool.execute.after",
            {"output": {"output": "x", "metadata": {"exit": 2}}},
            (False, 2, "x", ""),
        ),
        ("generic/after", {"outcome": {"success": False}}, (False, None, "", "")),
        ("generic/after", {"outcome": {"exit_code": 4, "output": "o"}}, (False, 4, "o", "")),
        ("generic/after", {"outcome": "text"}, (True, None, "text", "")),
        ("generic/after", {"outcome": "text", "error": "x"}, (False, None, "text", "")),
    ],
)
def test_decode_of_every_form_of_an_outcome_returns_how_the_action_ended(
    name: str, change: dict[str, Any], expected: tuple[bool, int | None, str, str]
) -> None:
    """Success, status, output and error, as each host reports them."""
    host = name.split("/", maxsplit=1)[0]
    outcome = load_adapter(host).decode(load(name)["payload"] | change, event_of(name)).outcome

    assert outcome is not None
    assert (outcome.success, outcome.exit_code, outcome.output, outcome.error) == expected


@pytest.mark.parametrize(
    ("host", "payload"),
    [
        ("copilot", {"toolName": "bash", "toolInput": {"command": "ls"}}),
        ("generic", {"tool": "bash", "args": {"command": "ls"}}),
        ("generic", {"toolName": "bash", "toolArgs": {"command": "ls"}}),
        ("generic", {"tool_name": "bash", "parameters": {"command": "ls"}}),
        ("generic", {"tool": "bash", "input": {"command": "ls"}}),
        ("cursor", {"hook_event_name": "beforeMCPExecution", "tool_name": "bash", "tool_input": '{"command": "ls"}'}),
        ("cursor", {"hook_event_name": "beforeShellExecution", "command": "ls", "workspace_roots": ["/home/dev/proj"]}),
        (
            "opencode",
            {
                "ev": "event",
                "type": "tool.execute.before",
                "input": {"tool": "bash"},
                "output": {"args": {"command": "ls"}},
            },
        ),
    ],
)
def test_decode_accepts_alternative_field_names(host: str, payload: dict[str, Any]) -> None:
    """Hosts were seen to use these names, or document them."""
    hook_event = load_adapter(host).decode(payload)

    assert hook_event.kind is HookEventKind.BEFORE
    assert hook_event.action is not None
    assert hook_event.action.command == "ls"
    assert hook_event.cwd == payload.get("workspace_roots", [""])[0]


@pytest.mark.parametrize(
    ("context", "tool"),
    [
        ({"server_name": "my_notes", "tool_name": "get_note"}, "mcp__my_notes__get_note"),
        ({"server_name": "a__b", "tool_name": "c"}, "mcp_mock_echo"),
        ({"server_name": "mock"}, "mcp_mock_echo"),
        ("text", "mcp_mock_echo"),
    ],
)
def test_decode_in_gemini_names_a_tool_of_a_server_as_every_other_host_does(context: object, tool: str) -> None:
    """Its own name does not tell where the server's ends; one that could be read in two ways stays as it is."""
    payload = load("gemini/BeforeTool.mcp_mock_echo")["payload"] | {"mcp_context": context}
    action = load_adapter("gemini").decode(payload).action

    assert action is not None
    assert (action.tool, action.kind) == (tool, ActionKind.MCP)


def test_decode_of_a_failed_mcp_call_in_gemini_is_a_failure() -> None:
    """The error is in the response, not in the event."""
    outcome = decode("gemini/AfterTool.mcp_mock_boom").outcome

    assert outcome is not None
    assert not outcome.success
    assert "BOOM" in outcome.error


@pytest.mark.parametrize(
    ("told", "success", "code"),
    [
        ("Output: ok\nProcess Group PGID: 7", True, 0),
        ("Output: (empty)\nExit Code: 3\nProcess Group PGID: 7", False, 3),
        ("Output: (empty)\nSignal: 9\nProcess Group PGID: 7", False, 137),
        ("Output: bg\nBackground PIDs: 8, 9\nProcess Group PGID: 7", True, 0),
        ("Output: Exit Code: 0\nExit Code: 4\nProcess Group PGID: 7", False, 4),
        ("Output: x\nExit Code: 0\nProcess Group PGID: 7\nSignal: 9\nProcess Group PGID: 7", False, 137),
        ("something that this client never wrote before", True, None),
    ],
)
def test_decode_in_gemini_reads_the_status_only_from_the_end_of_the_text(
    told: str, success: bool, code: int | None
) -> None:
    """A killed command is a failure, and the output of a command cannot pass for its status."""
    payload = load("gemini/AfterTool.run_shell_command")["payload"]
    payload["tool_response"] = {"llmContent": f"<untrusted_context>\n{told}\n</untrusted_context>"}
    outcome = load_adapter("gemini").decode(payload, "AfterTool").outcome

    assert outcome is not None
    assert (outcome.success, outcome.exit_code) == (success, code)


@pytest.mark.parametrize("host", ["claude", "codex"])
def test_decode_of_a_call_by_a_sub_agent_returns_a_session_of_its_own(host: str) -> None:
    """Its counters are its own, and a policy can name it by its type."""
    hook_event = decode(f"{host}/PreToolUse.Bash.in_subagent")
    session, _, agent = hook_event.session_id.partition(".")

    assert session == load(f"{host}/PreToolUse.Bash.in_subagent")["payload"]["session_id"]
    assert agent == load(f"{host}/PreToolUse.Bash.in_subagent")["payload"]["agent_id"]
    assert hook_event.action is not None
    assert hook_event.action.agent in ("general-purpose", "default")


def test_decode_of_a_sub_agent_without_a_type_names_it_by_its_id() -> None:
    """A policy can tell it from its parent."""
    payload = load("claude/PreToolUse.Bash.in_subagent")["payload"] | {"agent_type": None}

    assert load_adapter("claude").decode(payload, "PreToolUse").agent == payload["agent_id"]


def test_build_failure_response_names_only_the_class_of_an_internal_error() -> None:
    """The message of an exception can name our files; errors about the call or the policy are shown in full."""
    call = HookCall(["codex", "PreToolUse"], {}, "/")

    assert "RuntimeError" in call.build_failure_response(RuntimeError("/home/dev/.local/share/verdikt/state.db")).stdout
    assert "state.db" not in call.build_failure_response(RuntimeError("/home/dev/.local/share/verdikt/state.db")).stdout
    assert "expected a policy" in call.build_failure_response(PolicyError("expected a policy")).stdout


def test_decode_of_a_stop_returns_the_agents_that_still_run() -> None:
    """They come with the turn."""
    turn = decode("claude/SubagentStop.in_subagent").turn

    assert turn is not None
    assert turn.raw["background_tasks"][0]["status"] == "running"
    assert turn.transcript_path.endswith("agent-ac8961660afa0bf4c.jsonl")


def test_decode_in_opencode_reads_directory_and_last_message_from_the_plugin() -> None:
    """OpenCode itself does not put them into its events."""
    opencode = load_adapter("opencode")
    call = load("opencode/tool.execute.before")["payload"] | {"directory": "/home/dev/proj"}
    idle = load("opencode/event.session.idle")["payload"] | {"message": "all done"}

    assert opencode.decode(call, "tool.execute.before").cwd == "/home/dev/proj"
    assert (turn := opencode.decode(idle, "session.idle").turn) and turn.message == "all done"


def test_decode_of_a_prompt_that_no_person_wrote_marks_it_as_not_human() -> None:
    """Notifications, our own refusals and the prompts for sub-agents come as prompts."""
    payload = load("claude/UserPromptSubmit")["payload"]
    notification = payload | {"prompt": "<task-notification>done</task-notification>"}
    ours = payload | {"prompt": "[verdikt] the file is missing"}
    claude = load_adapter("claude")

    assert (prompt := claude.decode(payload).prompt) and prompt.human
    assert (prompt := claude.decode(notification).prompt) and not prompt.human
    assert (prompt := claude.decode(ours).prompt) and not prompt.human
    assert (prompt := decode("codex/UserPromptSubmit.in_subagent").prompt) and not prompt.human


@pytest.mark.parametrize(
    ("env", "mode", "asks", "posture"),
    [
        ({"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "1"}, "default", True, None),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, "acceptEdits", True, None),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, "bypassPermissions", True, Posture.AUTONOMOUS),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, "plan", True, Posture.DRY_RUN),
        ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, "default", False, Posture.AUTONOMOUS),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "0"}, "default", False, Posture.AUTONOMOUS),
        ({"CLAUDE_CODE_SESSION_ATTENDED": "?"}, "default", False, Posture.AUTONOMOUS),
    ],
)
def test_decode_in_claude_reads_attendance_and_posture(
    env: dict[str, str], mode: str, asks: bool, posture: Posture | None
) -> None:
    """The environment says whether a person watches, and the permission mode what that person wants."""
    payload = load("claude/PreToolUse.Bash")["payload"] | {"permission_mode": mode}
    hook_event = load_adapter("claude").decode(payload, "PreToolUse", env)

    assert (hook_event.can_ask, hook_event.posture) == (asks, posture)


@pytest.mark.parametrize("host_decision", DECISIONS)
@pytest.mark.parametrize("name", RECORDED)
def test_encode_of_every_decision_returns_one_document_that_no_client_misreads(name: str, host_decision: str) -> None:
    """One line of JSON, an object without null or empty text; status 0, or 2 with a text on stderr."""
    hook_event = decode(name)
    response = load_adapter(hook_event.host).encode(hook_event, DECISIONS[host_decision].resolve_ask(hook_event))
    document = json.loads(response.stdout)

    assert response.stdout.isascii()
    assert "\n" not in response.stdout
    assert isinstance(document, dict)
    assert all(member is not None and member != "" for member in members(document))
    assert response.exit_code in (0, 2)
    assert response.exit_code == 0 or response.stderr
    if not hook_event.can_ask:
        assert "ask" not in members(document)
    if host_decision == "block" and hook_event.kind is HookEventKind.BEFORE:
        assert is_refusal(response)


def is_refusal(response: HookResponse) -> bool:
    """Whether the response refuses in the form of one of the clients, with the reason and the fix."""
    document = json.loads(response.stdout)
    specific = document.get("hookSpecificOutput", {}).get("decision", {})
    flat = document.get("permission") or document.get("permissionDecision") or document.get("behavior")
    is_denied = document.get("decision") in ("block", "deny") or "deny" in (specific.get("behavior"), flat)
    return is_denied and "can't be undone" in response.stdout and "Instead: name a path" in response.stdout


CODEX_KEYS = {
    "PreToolUse": {"decision", "reason", "hookSpecificOutput", "systemMessage"},
    "PostToolUse": {"decision", "reason", "hookSpecificOutput", "systemMessage"},
    "PermissionRequest": {"hookSpecificOutput", "systemMessage"},
    "Stop": {"decision", "reason", "systemMessage"},
}


@pytest.mark.parametrize("host_decision", DECISIONS)
@pytest.mark.parametrize("name", [name for name in RECORDED if name.startswith("codex/")])
def test_encode_for_codex_uses_only_keys_that_it_knows(name: str, host_decision: str) -> None:
    """Its schema is closed: one unknown key turns a deny into an allow."""
    hook_event = decode(name)
    document = json.loads(
        load_adapter("codex").encode(hook_event, DECISIONS[host_decision].resolve_ask(hook_event)).stdout
    )
    allowed = CODEX_KEYS.get(hook_event.name, {"decision", "reason", "hookSpecificOutput", "systemMessage"})

    assert set(document) <= allowed
    assert set(document.get("hookSpecificOutput", {})) <= {"hookEventName", "additionalContext", "decision"}
    assert document.get("decision", "block") == "block"


BLOCK_EVERYWHERE = HookResponse(
    stdout='{"decision":"block","reason":"[verdikt] blocked (no_rm): `/` can\'t be undone\\nInstead: name a path"}',
    stderr=REASON,
    exit_code=2,
)
SHORT = HostDecision(kind=VerdictKind.BLOCK, reason="R")
ASK = HostDecision(kind=VerdictKind.ASK, reason="R")
WARN = HostDecision(kind=VerdictKind.WARN, context="C")
ALLOWED = HostDecision(approved=True)


@pytest.mark.parametrize(
    ("name", "host_decision", "stdout", "code"),
    [
        ("claude/PreToolUse.Bash", SHORT, '{"decision":"block","reason":"R"}', 2),
        ("claude/PreToolUse.Bash", HostDecision(), "{}", 0),
        (
            "claude/PreToolUse.Bash",
            ASK,
            '{"hookSpecificOutput":{"hookEventName":"PreToolUse",'
            '"permissionDecision":"ask","permissionDecisionReason":"R"}}',
            0,
        ),
        (
            "claude/PreToolUse.Bash",
            WARN,
            '{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"C"}}',
            0,
        ),
        (
            "claude/PreToolUse.Bash",
            ALLOWED,
            '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow",'
            '"permissionDecisionReason":"the policy approves this"}}',
            0,
        ),
        (
            "claude/PermissionRequest.Write",
            SHORT,
            '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"R"}}}',
            0,
        ),
        (
            "claude/PostToolUse.Bash",
            WARN,
            '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"C"}}',
            0,
        ),
        ("claude/Stop", SHORT, '{"hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"R"}}', 0),
        (
            "claude/PostToolUse.Bash",
            SHORT,
            '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"R"}}',
            0,
        ),
        ("claude/Stop", WARN, '{"systemMessage":"C"}', 0),
        ("claude/ConfigChange.local_settings", SHORT, '{"decision":"block","reason":"R"}', 2),
        ("claude/UserPromptSubmit", SHORT, '{"decision":"block","reason":"R"}', 2),
        ("claude/SessionEnd", SHORT, "{}", 0),
        ("codex/PreToolUse.Bash", SHORT, '{"decision":"block","reason":"R"}', 2),
        ("codex/PreToolUse.Bash", ALLOWED, "{}", 0),
        (
            "codex/PostToolUse.Bash",
            SHORT,
            '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"R"}}',
            0,
        ),
        ("codex/Stop", SHORT, '{"decision":"block","reason":"R"}', 0),
        ("gemini/BeforeTool.run_shell_command", SHORT, '{"decision":"deny","reason":"R","systemMessage":"R"}', 0),
        ("gemini/BeforeTool.run_shell_command", WARN, '{"systemMessage":"C"}', 0),
        (
            "gemini/AfterTool.write_file",
            WARN,
            '{"hookSpecificOutput":{"hookEventName":"AfterTool","additionalContext":"C"}}',
            0,
        ),
        ("gemini/AfterAgent", SHORT, '{"decision":"deny","reason":"R"}', 0),
        ("copilot/preToolUse.bash", SHORT, '{"permissionDecision":"deny","permissionDecisionReason":"R"}', 0),
        ("copilot/preToolUse.bash", ASK, '{"permissionDecision":"ask","permissionDecisionReason":"R"}', 0),
        ("copilot/postToolUse.bash", WARN, '{"additionalContext":"C"}', 0),
        ("copilot/agentStop", SHORT, '{"decision":"block","reason":"R"}', 0),
        ("opencode/tool.execute.before", SHORT, '{"decision":"block","reason":"R"}', 2),
        ("cursor/preToolUse.Shell", SHORT, '{"permission":"deny","user_message":"R","agent_message":"R"}', 0),
        ("cursor/beforeShellExecution", ASK, '{"permission":"ask","user_message":"R","agent_message":"R"}', 0),
        ("cursor/preToolUse.Shell", HostDecision(), '{"permission":"allow"}', 0),
        ("cursor/stop", SHORT, '{"followup_message":"R"}', 0),
        ("generic/before", SHORT, '{"decision":"block","reason":"R"}', 2),
    ],
)
def test_encode_returns_the_bytes_that_each_client_was_seen_to_obey(
    name: str, host_decision: HostDecision, stdout: str, code: int
) -> None:
    """The responses are those that were measured on the real clients."""
    hook_event = decode(name)
    response = load_adapter(hook_event.host).encode(hook_event, host_decision)

    assert (response.stdout, response.exit_code) == (stdout, code)
    assert response.stderr == ("R" if code == 2 else "")


def test_encode_of_a_second_refused_stop_in_claude_is_a_block() -> None:
    """A context makes Claude Code go on once; after that only a block does."""
    claude = load_adapter("claude")
    hook_event = claude.decode(load("claude/Stop")["payload"] | {"stop_hook_active": True})

    assert claude.encode(hook_event, SHORT).stdout == '{"decision":"block","reason":"R"}'


def test_an_unregistered_host_gets_the_block_that_holds_everywhere() -> None:
    """The client is unknown, so the response is the one that all measured clients obey."""
    hook_event = load_adapter("something-new").decode(load("claude/PreToolUse.Bash")["payload"])

    assert load_adapter("something-new").encode(hook_event, DECISIONS["block"]) == BLOCK_EVERYWHERE


@pytest.mark.parametrize(
    "name", ["codex/PreToolUse.Bash", "gemini/BeforeTool.read_file", "opencode/tool.execute.before"]
)
def test_an_ask_that_would_reach_no_person_becomes_a_block_that_says_so(name: str) -> None:
    """Codex runs the tool on `ask`, Gemini CLI hangs, and OpenCode cannot ask at all."""
    hook_event = decode(name)
    host_decision = DECISIONS["ask"].resolve_ask(hook_event)

    assert host_decision.is_blocked
    assert "No person can be asked in this session" in host_decision.reason


def test_an_ask_that_waits_elsewhere_does_not_say_that_no_person_is_asked() -> None:
    """Where an approval waits in the browser, the agent must not hear that there is no person to ask."""
    hook_event = HookEvent(kind=HookEventKind.BEFORE, host="generic", name="before", can_ask=False)
    waiting = HostDecision(kind=VerdictKind.ASK, reason="waiting for approval 7f3a", awaited_approval="7f3a")
    host_decision = waiting.resolve_ask(hook_event)

    assert host_decision.is_blocked
    assert host_decision.awaited_approval == "7f3a"
    assert host_decision.reason == "waiting for approval 7f3a\nUntil it is answered, this counts as a block."


@pytest.mark.parametrize(
    ("host", "payload", "kind"),
    [
        (
            "claude",
            {"hook_event_name": "BeforeEverything", "tool_name": "Read", "tool_input": {}},
            HookEventKind.BEFORE,
        ),
        ("claude", {"hook_event_name": "Afterwards", "tool_name": "Bash", "tool_response": "x"}, HookEventKind.AFTER),
        ("claude", {"hook_event_name": "Afterwards", "tool_name": "Bash", "error": "x"}, HookEventKind.AFTER),
        ("claude", {"hook_event_name": "TeammateIdle"}, HookEventKind.NOTICE),
        ("codex", {"hook_event_name": "Interrupt"}, HookEventKind.NOTICE),
        ("gemini", {"hook_event_name": "BeforeNap", "tool_name": "nap"}, HookEventKind.BEFORE),
        ("generic", {"tool": "Bash", "arguments": {"command": "ls"}}, HookEventKind.BEFORE),
    ],
)
def test_decode_of_an_unknown_event_judges_it_by_its_payload(
    host: str, payload: dict[str, Any], kind: HookEventKind
) -> None:
    """A tool call without a result is about to happen, whatever the event is called."""
    assert load_adapter(host).decode(payload).kind is kind


UNKNOWN = {
    "claude": {"tool_name": "Bash", "tool_input": {"command": "ls"}},
    "codex": {"tool_name": "Bash", "tool_input": {"command": "ls"}},
    "gemini": {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}},
    "copilot": {"toolName": "bash", "toolArgs": {"command": "ls"}},
    "opencode": {"input": {"tool": "bash"}, "output": {"args": {"command": "ls"}}},
    "cursor": {"tool_name": "Shell", "tool_input": {"command": "ls"}},
    "generic": {"tool": "Bash", "arguments": {"command": "ls"}, "attended": True},
}


@pytest.mark.parametrize("event", ["", "BeforeWhatever"])
@pytest.mark.parametrize("host_decision", ["ask", "block"])
@pytest.mark.parametrize("host", HOSTS)
def test_a_refusal_at_an_unknown_event_is_a_block(host: str, host_decision: str, event: str) -> None:
    """An ask could be ignored there, and then the tool would run."""
    adapter = load_adapter(host)
    hook_event = adapter.decode(UNKNOWN[host], event, {"CLAUDE_CODE_SESSION_ATTENDED": "1"})

    assert hook_event.kind is HookEventKind.BEFORE
    assert is_refusal(adapter.encode(hook_event, DECISIONS[host_decision].resolve_ask(hook_event)))


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ([], "expected the payload to be an object, found a list"),
        (None, "expected the payload to be an object, found nothing"),
        ({"tool_name": 5}, "expected `tool_name` to be text, found a number"),
        ({"tool_name": ""}, "expected a tool's name in `tool_name`, found none"),
        ({"tool_name": "Bash", "tool_input": "ls"}, "expected `tool_input` to be an object, found text"),
        ({"tool_name": "Bash", "session_id": []}, "expected `session_id` to be text, found a list"),
        ({"tool_name": "Bash", "cwd": {}}, "expected `cwd` to be text, found an object"),
        ({"tool_name": "Bash", "hook_event_name": 1}, "expected `hook_event_name` to be text, found a number"),
        ({"tool_name": "Bash", "permission_mode": True}, "expected `permission_mode` to be text, found a truth value"),
        ({"hook_event_name": "Stop", "tool_name": "Bash"}, "expected the event `PreToolUse`, found `Stop`"),
    ],
)
def test_decode_of_a_malformed_payload_raises(payload: object, message: str) -> None:
    """The message says what was expected and what was found."""
    for host in ("claude", "codex"):
        with pytest.raises(HookError) as refused:
            load_adapter(host).decode(payload, "PreToolUse")
        assert str(refused.value) == message


ILLEGIBLE = [
    ("command", 5, "expected `command` to be text, found a number"),
    ("command", True, "expected `command` to be text, found a truth value"),
    ("command", {"a": "rm -rf /"}, "expected `command` to be text, found an object"),
    ("command", ["rm", 5], "expected `command` to be text, found a list"),
    ("command", None, "expected a command for the shell, found none"),
    ("command", "", "expected a command for the shell, found none"),
    ("command", [], "expected a command for the shell, found none"),
    ("cmd", "rm -rf ~", "expected one text to run, found `command` and `cmd`"),
    ("script", ["rm", "-rf", "/"], "expected one text to run, found `command` and `script`"),
    ("path", 5, "expected `path` to be text, found a number"),
    ("file_path", {}, "expected `file_path` to be text, found an object"),
    ("content", 5, "expected `content` to be text, found a number"),
]


@pytest.mark.parametrize(("key", "value", "message"), ILLEGIBLE)
@pytest.mark.parametrize("host", HOSTS)
def test_decode_of_a_call_whose_input_is_not_text_raises(host: str, key: str, value: object, message: str) -> None:
    """Such a call could not be classified. Its outcome is still recorded."""
    given = {"command": "ls", key: value}
    payload = {
        "copilot": {"toolName": "bash", "toolArgs": given},
        "opencode": {"input": {"tool": "bash"}, "output": {"args": given}},
        "gemini": {"tool_name": "run_shell_command", "tool_input": given},
    }.get(host, {"tool_name": "Bash", "tool_input": given})
    before = next(event for event, kind in HOSTS[host].events.items() if kind is HookEventKind.BEFORE)
    with pytest.raises(HookError) as refused:
        load_adapter(host).decode(payload, before)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("write_stdin", {"session_id": 1, "chars": "rm -rf ~\n", "command": "ls"}),
        ("write_bash", {"sessionId": "1", "input": "rm -rf ~\n", "cmd": "ls"}),
        ("execute_code", {"code": "print(1)", "source": "import shutil; shutil.rmtree('/')"}),
    ],
)
def test_decode_of_a_call_with_two_texts_to_run_raises(tool: str, given: dict[str, Any]) -> None:
    """A model that adds a harmless text does not hide the one that its tool reads."""
    with pytest.raises(HookError, match="expected one text to run, found `"):
        load_adapter("generic").decode({"tool_name": tool, "tool_input": given}, "PreToolUse")


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("shell", {"command": ["bash", "-lc", "ls"]}),
        ("exec_command", {"command": "ls", "cmd": "ls"}),
        ("write_stdin", {"session_id": 1, "chars": "ls\n"}),
        ("mcp__db__query", {"path": {"a": 1}, "command": 5}),
        ("SomethingNew", {"command": 5}),
        ("Read", {}),
        ("Grep", {"pattern": "x", "path": None}),
    ],
)
def test_decode_of_a_call_with_other_valid_input_returns_an_action(tool: str, given: dict[str, Any]) -> None:
    """Lists of texts, input for a terminal, and the input of undeclared tools are left to the policy."""
    hook_event = load_adapter("claude").decode({"tool_name": tool, "tool_input": given}, "PreToolUse")

    assert hook_event.action is not None
    assert hook_event.action.payload == given


def test_host_decision_renders_reason_fix_and_warnings_for_the_model() -> None:
    """The text holds nothing that breaks a JSON parser."""
    block = Verdict.block(guard="no_rm", reason="`/` can't be undone", fix="name a path")
    warn = Verdict.warn(guard="slow", reason="this takes long", fix="run one test")
    host_decision = HostDecision.from_verdict(block, warnings=(warn,))

    assert host_decision.reason == REASON
    assert host_decision.context == "[verdikt] this takes long\nInstead: run one test"
    assert HostDecision.from_verdict(warn).context == host_decision.context
    assert HostDecision.from_verdict(warn, warnings=(warn, warn)).context == host_decision.context
    assert HostDecision(kind=VerdictKind.BLOCK, reason="a\ud800b\x00c\u00a0d").reason == "a\ufffdb\ufffdc d"
    assert len(HostDecision(kind=VerdictKind.BLOCK, reason="x" * 100_000).reason) == 6000
    assert (
        HostDecision(kind=VerdictKind.BLOCK, reason=" \n").reason
        == "[verdikt] the policy does not allow this and gave no reason"
    )
    assert replace(SHORT, reason="").reason


HINTED = HostDecision(kind=VerdictKind.BLOCK, reason="R", how_to_allow="H")


@pytest.mark.parametrize(
    ("recording", "decision", "person", "model"),
    [
        ("claude/PreToolUse.Bash", HINTED, "systemMessage", "reason"),
        ("cursor/preToolUse.Shell", HINTED, "user_message", "agent_message"),
        ("gemini/BeforeTool.run_shell_command", HINTED, "systemMessage", "reason"),
    ],
)
def test_how_to_allow_is_in_the_text_for_the_person_alone(
    recording: str, decision: HostDecision, person: str, model: str
) -> None:
    """Every other field, and stderr, may reach the model."""
    hook_event = decode(recording)
    response = load_adapter(hook_event.host).encode(hook_event, decision)
    document = json.loads(response.stdout)

    assert "H" in document.pop(person)
    assert document[model] == "R"
    assert "H" not in json.dumps(document) + response.stderr


def test_a_block_in_codex_has_a_line_for_the_person_and_a_red_line_keeps_its_status() -> None:
    """Codex reads a document with status 0 only; a block that nothing lifts needs no document."""
    hook_event = decode("codex/PreToolUse.Bash")
    encode = load_adapter("codex").encode
    specific = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "R"}
    response = encode(hook_event, HINTED)

    assert json.loads(response.stdout) == {"systemMessage": "H", "hookSpecificOutput": specific}
    assert (response.exit_code, response.stderr) == (0, "")
    assert encode(hook_event, replace(HINTED, kind=VerdictKind.ASK)) == response
    assert encode(hook_event, replace(HINTED, how_to_allow="")).exit_code == 2
