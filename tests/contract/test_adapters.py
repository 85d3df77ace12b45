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

REASON = "[verdikt] blocked (no_rm): `/` cannot be brought back\nInstead: name a path"
RULINGS = {
    "pass": HostDecision(),
    "warn": HostDecision(kind=VerdictKind.WARN, context="[verdikt] careful"),
    "approved": HostDecision(approved=True),
    "ask": HostDecision(kind=VerdictKind.ASK, reason=REASON),
    "block": HostDecision(kind=VerdictKind.BLOCK, reason=REASON, context="[verdikt] careful"),
}


def load(name: str) -> dict[str, Any]:
    """Load a recorded payload with its environment."""
    recorded: dict[str, Any] = json.loads((PAYLOADS / f"{name}.json").read_text())
    return recorded


def event_of(name: str) -> str:
    """`claude/PreToolUse.Bash` → `PreToolUse`, as the wiring names it to the hook."""
    host, file = name.split("/")
    if host == "opencode":
        return file.removeprefix("event.")
    return file.split(".")[0]


def decode(name: str, *, event: str | None = None) -> HookEvent:
    """Decode a recorded payload with its host's adapter."""
    recorded = load(name)
    host = name.split("/", maxsplit=1)[0].split("_", maxsplit=1)[0]
    return load_adapter(host).decode(
        recorded["payload"], event_of(name) if event is None else event, recorded.get("env", {})
    )


def members(value: object) -> Iterator[object]:
    """Every value inside a JSON document."""
    yield value
    if isinstance(value, dict):
        for member in value.values():
            yield from members(member)
    elif isinstance(value, list):
        for member in value:
            yield from members(member)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_payload_is_understood(name: str) -> None:
    """Each stands for the moment that its host's table says, and carries what belongs to that moment."""
    host = name.split("/", maxsplit=1)[0].split("_", maxsplit=1)[0]
    moment = decode(name)

    assert moment.kind is HOSTS[host].events.get(event_of(name), HookEventKind.NOTICE)
    assert moment.host == host
    assert moment.session_id != "default"
    acts = (HookEventKind.BEFORE, HookEventKind.PERMISSION, HookEventKind.AFTER)
    assert (moment.action is not None) == (moment.kind in acts)
    assert (moment.outcome is not None) == (moment.kind is HookEventKind.AFTER)
    assert (moment.prompt is not None) == (moment.kind is HookEventKind.PROMPT)
    assert (moment.turn is not None) == (moment.kind is HookEventKind.STOP)


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
def test_the_same_action_from_every_host(name: str, tool: str, kind: ActionKind, text: str) -> None:
    """Tool, kind, command or path, whatever the host calls its fields."""
    action = decode(name).action

    assert action is not None
    assert (action.tool, action.kind, action.command or action.path) == (tool, kind, text)


def test_every_tool_that_a_client_was_seen_to_call_is_known(tmp_path: Path) -> None:
    """Or the agent would be stopped at its own client's tools: nobody could be asked about them."""
    env = {"HOME": str(tmp_path), "VERDIKT_HOME": str(tmp_path / "data")}
    governance = Governance.load(cwd=str(tmp_path), env=env)
    calls = [moment.action for name in RECORDED if (moment := decode(name)).kind is HookEventKind.BEFORE]
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
def test_what_came_of_an_action(name: str, success: bool, code: int | None, output: str) -> None:
    """The exit status where the host tells it, and None where it does not."""
    outcome = decode(name).outcome

    assert outcome is not None
    assert (outcome.success, outcome.exit_code, outcome.output) == (success, code, output)


TRAILER = "\nExit Code: 3\nProcess Group PGID: 7\n</untrusted_context>"


def test_a_failure_without_a_word_is_still_one() -> None:
    """The event says so."""
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
def test_how_an_action_can_end(name: str, change: dict[str, Any], expected: tuple[bool, int | None, str, str]) -> None:
    """As each host tells it: success, status, output and error."""
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
def test_other_names_for_the_same_things(host: str, payload: dict[str, Any]) -> None:
    """Which hosts were seen to use, or their documentation has."""
    moment = load_adapter(host).decode(payload)

    assert moment.kind is HookEventKind.BEFORE
    assert moment.action is not None
    assert moment.action.command == "ls"
    assert moment.cwd == payload.get("workspace_roots", [""])[0]


def test_a_failed_mcp_call_in_gemini_is_a_failure() -> None:
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
def test_gemini_writes_how_a_command_ended_below_what_it_printed(told: str, success: bool, code: int | None) -> None:
    """A killed command is no success, and what a command prints cannot pass for how it ended."""
    payload = load("gemini/AfterTool.run_shell_command")["payload"]
    payload["tool_response"] = {"llmContent": f"<untrusted_context>\n{told}\n</untrusted_context>"}
    outcome = load_adapter("gemini").decode(payload, "AfterTool").outcome

    assert outcome is not None
    assert (outcome.success, outcome.exit_code) == (success, code)


@pytest.mark.parametrize("host", ["claude", "codex"])
def test_a_sub_agent_has_its_own_session_and_its_name(host: str) -> None:
    """Its counters are its own, and a policy can name it."""
    moment = decode(f"{host}/PreToolUse.Bash.in_subagent")
    session, _, agent = moment.session_id.partition(".")

    assert session == load(f"{host}/PreToolUse.Bash.in_subagent")["payload"]["session_id"]
    assert agent == load(f"{host}/PreToolUse.Bash.in_subagent")["payload"]["agent_id"]
    assert moment.action is not None
    assert moment.action.agent in ("general-purpose", "default")


def test_a_sub_agent_without_a_type_goes_by_its_id() -> None:
    """So that a policy can tell it from its parent."""
    payload = load("claude/PreToolUse.Bash.in_subagent")["payload"] | {"agent_type": None}

    assert load_adapter("claude").decode(payload, "PreToolUse").agent == payload["agent_id"]


def test_of_a_failure_of_our_own_the_model_hears_only_the_kind() -> None:
    """What an exception says can name our files; what we say about its call or the policy, it needs."""
    call = HookCall(["codex", "PreToolUse"], {}, "/")

    assert "RuntimeError" in call.build_failure_response(RuntimeError("/home/dev/.local/share/verdikt/state.db")).stdout
    assert "state.db" not in call.build_failure_response(RuntimeError("/home/dev/.local/share/verdikt/state.db")).stdout
    assert "expected a policy" in call.build_failure_response(PolicyError("expected a policy")).stdout


def test_background_agents_are_known_at_stop() -> None:
    """What is still running comes with the turn."""
    turn = decode("claude/SubagentStop.in_subagent").turn

    assert turn is not None
    assert turn.raw["background_tasks"][0]["status"] == "running"
    assert turn.transcript_path.endswith("agent-ac8961660afa0bf4c.jsonl")


def test_the_plugin_of_opencode_tells_where_it_is_and_what_was_said_last() -> None:
    """Which OpenCode itself does not put into its events."""
    opencode = load_adapter("opencode")
    call = load("opencode/tool.execute.before")["payload"] | {"directory": "/home/dev/proj"}
    idle = load("opencode/event.session.idle")["payload"] | {"message": "all done"}

    assert opencode.decode(call, "tool.execute.before").cwd == "/home/dev/proj"
    assert (turn := opencode.decode(idle, "session.idle").turn) and turn.message == "all done"


def test_what_only_looks_like_a_person_is_not_taken_for_one() -> None:
    """Notifications, our own refusals and a parent's words to its sub-agent come as prompts."""
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
def test_whether_anybody_is_there(env: dict[str, str], mode: str, asks: bool, posture: Posture | None) -> None:
    """Claude Code tells by its environment whether a person sits there, and by its mode what that person wants."""
    payload = load("claude/PreToolUse.Bash")["payload"] | {"permission_mode": mode}
    moment = load_adapter("claude").decode(payload, "PreToolUse", env)

    assert (moment.can_ask, moment.posture) == (asks, posture)


@pytest.mark.parametrize("ruling", RULINGS)
@pytest.mark.parametrize("name", RECORDED)
def test_an_answer_is_one_document_that_no_client_misreads(name: str, ruling: str) -> None:
    """One line of JSON, an object, no null and no empty text in it; status 0, or 2 with something on stderr."""
    moment = decode(name)
    reply = load_adapter(moment.host).encode(moment, RULINGS[ruling].resolve_ask(moment))
    document = json.loads(reply.stdout)

    assert reply.stdout.isascii()
    assert "\n" not in reply.stdout
    assert isinstance(document, dict)
    assert all(member is not None and member != "" for member in members(document))
    assert reply.exit_code in (0, 2)
    assert reply.exit_code == 0 or reply.stderr
    if not moment.can_ask:
        assert "ask" not in members(document)
    if ruling == "block" and moment.kind is HookEventKind.BEFORE:
        assert blocks(reply)


def blocks(reply: HookResponse) -> bool:
    """Whether the reply says no in the words of one of the clients, with the reason and the fix."""
    document = json.loads(reply.stdout)
    specific = document.get("hookSpecificOutput", {}).get("decision", {})
    flat = document.get("permission") or document.get("permissionDecision") or document.get("behavior")
    said = document.get("decision") == "block" or specific.get("behavior") == "deny" or flat == "deny"
    return said and "cannot be brought back" in reply.stdout and "Instead: name a path" in reply.stdout


CODEX_KEYS = {
    "PreToolUse": {"decision", "reason", "hookSpecificOutput", "systemMessage"},
    "PostToolUse": {"decision", "reason", "hookSpecificOutput", "systemMessage"},
    "PermissionRequest": {"hookSpecificOutput", "systemMessage"},
    "Stop": {"decision", "reason", "systemMessage"},
}


@pytest.mark.parametrize("ruling", RULINGS)
@pytest.mark.parametrize("name", [name for name in RECORDED if name.startswith("codex/")])
def test_codex_gets_no_key_it_does_not_know(name: str, ruling: str) -> None:
    """Its schema is closed: one unknown key turns a deny into an allow."""
    moment = decode(name)
    document = json.loads(load_adapter("codex").encode(moment, RULINGS[ruling].resolve_ask(moment)).stdout)
    allowed = CODEX_KEYS.get(moment.name, {"decision", "reason", "hookSpecificOutput", "systemMessage"})

    assert set(document) <= allowed
    assert set(document.get("hookSpecificOutput", {})) <= {"hookEventName", "additionalContext", "decision"}
    assert document.get("decision", "block") == "block"


BLOCK_EVERYWHERE = HookResponse(
    stdout='{"decision":"block","reason":'
    '"[verdikt] blocked (no_rm): `/` cannot be brought back\\nInstead: name a path"}',
    stderr=REASON,
    exit_code=2,
)
SHORT = HostDecision(kind=VerdictKind.BLOCK, reason="R")
ASK = HostDecision(kind=VerdictKind.ASK, reason="R")
WARN = HostDecision(kind=VerdictKind.WARN, context="C")
ALLOWED = HostDecision(approved=True)


@pytest.mark.parametrize(
    ("name", "ruling", "stdout", "code"),
    [
        ("claude/PreToolUse.Bash", SHORT, '{"decision":"block","reason":"R"}', 2),
        ("claude/PreToolUse.Bash", HostDecision(), "{}", 0),
        (
            "claude/PreToolUse.Bash",
            ASK,
            '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask","permissionDecisionReason":"R"}}',
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
        ("gemini/BeforeTool.run_shell_command", SHORT, '{"decision":"block","reason":"R"}', 2),
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
def test_the_words_each_client_was_seen_to_obey(name: str, ruling: HostDecision, stdout: str, code: int) -> None:
    """Byte for byte what was measured on the real clients."""
    moment = decode(name)
    reply = load_adapter(moment.host).encode(moment, ruling)

    assert (reply.stdout, reply.exit_code) == (stdout, code)
    assert reply.stderr == ("R" if code == 2 else "")


def test_a_second_refusal_to_stop_is_a_block() -> None:
    """A context makes Claude Code go on once; after that only a block does."""
    claude = load_adapter("claude")
    moment = claude.decode(load("claude/Stop")["payload"] | {"stop_hook_active": True})

    assert claude.encode(moment, SHORT).stdout == '{"decision":"block","reason":"R"}'


def test_an_unknown_host_gets_the_deny_that_blocks_everywhere() -> None:
    """Nobody knows the client, so the answer is the one that all of them obey."""
    moment = load_adapter("something-new").decode(load("claude/PreToolUse.Bash")["payload"])

    assert load_adapter("something-new").encode(moment, RULINGS["block"]) == BLOCK_EVERYWHERE


@pytest.mark.parametrize(
    "name", ["codex/PreToolUse.Bash", "gemini/BeforeTool.read_file", "opencode/tool.execute.before"]
)
def test_an_ask_that_would_run_or_hang_is_a_block_that_says_so(name: str) -> None:
    """Codex runs the tool on `ask`, Gemini hangs, OpenCode cannot ask at all."""
    moment = decode(name)
    ruling = RULINGS["ask"].resolve_ask(moment)

    assert ruling.is_blocked
    assert "No person can be asked in this session" in ruling.reason


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
def test_an_event_nobody_knows_is_judged_by_what_it_holds(
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
@pytest.mark.parametrize("ruling", ["ask", "block"])
@pytest.mark.parametrize("host", HOSTS)
def test_a_refusal_holds_on_an_event_nobody_knows(host: str, ruling: str, event: str) -> None:
    """An ask there could be dropped by us or ignored by the client; either way the tool would run."""
    adapter = load_adapter(host)
    moment = adapter.decode(UNKNOWN[host], event, {"CLAUDE_CODE_SESSION_ATTENDED": "1"})

    assert moment.kind is HookEventKind.BEFORE
    assert blocks(adapter.encode(moment, RULINGS[ruling].resolve_ask(moment)))


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
def test_a_payload_that_is_no_tool_call_is_refused(payload: object, message: str) -> None:
    """What cannot be read is not guessed at."""
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
    ("path", 5, "expected `path` to be text, found a number"),
    ("file_path", {}, "expected `file_path` to be text, found an object"),
    ("content", 5, "expected `content` to be text, found a number"),
]


@pytest.mark.parametrize(("key", "value", "message"), ILLEGIBLE)
@pytest.mark.parametrize("host", HOSTS)
def test_a_call_that_says_in_no_words_what_it_is_about_is_refused(
    host: str, key: str, value: object, message: str
) -> None:
    """On every host: nobody could tell what it would do. What came of one is still taken note of."""
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
        ("shell", {"command": ["bash", "-lc", "ls"]}),
        ("write_stdin", {"session_id": 1, "chars": "ls\n"}),
        ("mcp__db__query", {"path": {"a": 1}, "command": 5}),
        ("SomethingNew", {"command": 5}),
        ("Read", {}),
        ("Grep", {"pattern": "x", "path": None}),
    ],
)
def test_what_other_tools_are_given_is_their_own_affair(tool: str, given: dict[str, Any]) -> None:
    """Lists of words, what is typed into a terminal, what nobody declared: policy and effects look at it."""
    moment = load_adapter("claude").decode({"tool_name": tool, "tool_input": given}, "PreToolUse")

    assert moment.action is not None
    assert moment.action.payload == given


def test_words_for_the_model() -> None:
    """Who refuses, why, what to do instead; warnings as context; nothing that breaks a JSON reader."""
    block = Verdict.block(guard="no_rm", reason="`/` cannot be brought back", fix="name a path")
    warn = Verdict.warn(guard="slow", reason="this takes long", fix="run one test")
    ruling = HostDecision.from_verdict(block, warnings=(warn,))

    assert ruling.reason == REASON
    assert ruling.context == "[verdikt] this takes long\nInstead: run one test"
    assert HostDecision.from_verdict(warn).context == ruling.context
    assert HostDecision.from_verdict(warn, warnings=(warn, warn)).context == ruling.context
    assert HostDecision(kind=VerdictKind.BLOCK, reason="a\ud800b\x00c\u00a0d").reason == "a\ufffdb\ufffdc d"
    assert len(HostDecision(kind=VerdictKind.BLOCK, reason="x" * 100_000).reason) == 6000
    assert (
        HostDecision(kind=VerdictKind.BLOCK, reason=" \n").reason
        == "[verdikt] the policy does not allow this and gave no reason"
    )
    assert replace(SHORT, reason="").reason
