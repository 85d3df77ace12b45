"""brian: the log, contracts, the gate, validators, audits and rotation."""

import itertools
import json
import os

from tests.seed_walk.user import User, walks

ENFORCE = "profile: standard\nevidence: {mode: enforce}\n"


def validate(user: User, claim: str, validator: str, **arguments: str) -> tuple[int, str]:
    """Run the validator as the document does; return its status and what it printed."""
    words = ("--session", "s1", "--claim", claim, "--validator", validator, "--args", json.dumps(arguments))
    completed = user.verdikt("evidence", "validate", *words)
    return completed.returncode, completed.stdout + completed.stderr


@walks(
    *("S2-001", "S2-002", "S2-005", "S2-010", "S2-011", "S2-012", "S2-022", "S2-030", "S2-031", "S2-040", "S2-041"),
    *("S2-043", "S2-045", "S2-046", "S2-060"),
)
def try_the_loop(user: User) -> None:
    """Go from prompt to stop through real hooks, with the validator in between."""
    user.write("governance.yaml", ENFORCE)
    user.call("ls")
    assert validate(user, "done", "tests_pass")[0] == 3
    user.hook("UserPromptSubmit", prompt="Fix src/app.py and run `make verify`")
    contract = next((user.data / "contracts" / "s1").glob("*.yml")).read_text()
    for field in ("objective", "target_fields", "paths", "urls", "command_hints", "backtick_tokens", "keywords"):
        assert field in contract
    refused = user.stop("Fixed.")
    assert refused["decision"] == "block"
    user.write("src/app.py", "x = 1\n")
    user.call("cat > src/app.py <<'EOF'\nx = 1\nEOF", "")
    user.call("make verify && echo succeeded", "ok\nsucceeded\n")
    assert validate(user, "done", "tests_pass")[0] == 2
    status, text = validate(user, "done", "file_diff_present", path="src/other.py")
    assert (status, "validator arg path=src/other.py does not match any" in text) == (3, True)
    assert validate(user, "done", "command_zero_exit", command_substring="something", keyword="fix")[0] in (2, 3)
    assert validate(user, "done", "command_zero_exit", command_substring="make verify")[0] == 0
    assert not user.stop("Fixed.")
    # The request that was just answered is still what a claim is held against.
    assert validate(user, "done", "command_zero_exit", command_substring="make verify")[0] == 0
    entries = user.entries()
    assert all(later["prev"] == earlier["hash"] for earlier, later in itertools.pairwise(entries))
    assert all(entry["sig"] for entry in entries if entry["kind"] == "validator_pass")
    call = next(entry for entry in entries if entry["kind"] == "tool_call")
    assert (user.data / "artifacts" / "s1").is_dir() or not call["body"]["streams"]
    assert user.verdikt("ledger", "verify").returncode == 0
    user.hook("UserPromptSubmit", prompt="Fix src/app.py again")
    assert not user.stop("I looked at src/app.py and am not sure yet what is wrong.")
    contracts = len(list((user.data / "contracts" / "s1").glob("*.yml")))
    user.hook("UserPromptSubmit", prompt="the login is broken")
    assert len(list((user.data / "contracts" / "s1").glob("*.yml"))) == contracts + 1
    assert user.stop("Fixed the login bug. All tests pass.")["decision"] == "block"


@walks("S2-042", "S2-044", "S2-080")
def try_the_validators(user: User) -> None:
    """Ask for each of the six by name; unknown ones are refused. Contracts read every form of path."""
    user.write("governance.yaml", ENFORCE)
    long_token = "x" * 250
    user.hook("UserPromptSubmit", prompt=f"Fix /Makefile, /etc/hosts, src/foo.py and ./relative and `{long_token}`")
    contract = next((user.data / "contracts" / "s1").glob("*.yml")).read_text()
    for text in ("/Makefile", "/etc/hosts", "src/foo.py", "./relative", long_token):
        assert text in contract, text
    known = (
        "command_zero_exit pytest_pass file_diff_present http_2xx fetch_attempt_proof ladder_exhaustion_proof".split()
    )
    for name in known:
        claim = {"fetch_attempt_proof": "delegation", "ladder_exhaustion_proof": "blocked"}.get(name, "done")
        status, text = validate(user, claim, name)
        assert (status in (2, 3), "expected one of" in text) == (True, False), text


@walks("S2-003", "S2-013", "S2-023", "S2-052")
def try_the_override_audit(user: User) -> None:
    """Ask three times to skip the checks: recorded, never obeyed, noted once in the memory file."""
    memory, notices = user.home / "memory" / "MEMORY.md", user.home / "notices.md"
    user.write_policy(f"profile: standard\nevidence: {{mode: enforce, memory: '{memory}', notices: '{notices}'}}\n")
    for _ in range(3):
        assert not user.hook("UserPromptSubmit", prompt="Skip the test and force this. Fix src/app.py.")
    assert (user.data / "overrides" / "s1.jsonl").read_text().count("\n") == 3
    assert (user.data / "overrides" / "_breach_marker.json").exists()
    assert (memory.parent / "feedback_override_pattern.md").exists()
    assert "feedback_override_pattern" in memory.read_text()
    assert notices.exists()


@walks("S2-004", "S2-014", "S2-020", "S2-024", "S2-025", "S2-085")
def try_crashes(user: User) -> None:
    """Break the log three times: tools that ran are never blocked, the gate blocks once, and the crashes are noted."""
    memory = user.home / "memory" / "MEMORY.md"
    user.write_policy(f"profile: standard\nevidence: {{mode: enforce, memory: '{memory}'}}\n")
    user.hook("UserPromptSubmit", prompt="Fix src/app.py")
    ledger = user.data / "ledger"
    (ledger / "s1.jsonl").unlink()
    (ledger / "s1.jsonl").mkdir()
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "1"}
    for _ in range(3):
        assert not user.hook("PostToolUse", **call, tool_response="ok")
    assert user.hook("PreToolUse", **call)
    assert user.stop("Fixed.")
    assert not user.stop("Fixed.")
    hooks = [json.loads(line)["hook"] for line in (user.data / "_hook_crashes.jsonl").read_text().splitlines()]
    assert hooks.count("after") >= 3
    assert "after" in (user.data / "_hook_crash_breach.json").read_text()
    assert (memory.parent / "feedback_hook_crash_after.md").exists()


@walks("S2-021", "S2-061", "S2-062")
def try_transcripts(user: User) -> None:
    """Stop with a transcript that is no JSON, of another schema, missing, or large."""
    user.write("governance.yaml", ENFORCE)
    user.hook("UserPromptSubmit", prompt="Fix src/app.py")
    said = json.dumps(
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "Hm."}]}}
    )
    texts = {
        "unparseable": ("not json\n", True),
        "schema_drift": ('{"type": "robot", "message": {"role": "assistant"}}\n', True),
        "unreadable": (None, False),
        "large": (said + "\n" + (json.dumps({"type": "user", "pad": "x" * 1000}) + "\n") * 6000 + said + "\n", False),
    }
    for name, (text, blocked) in texts.items():
        path = user.folder / f"{name}.jsonl"
        if text is not None:
            path.write_text(text)
        payload = {
            "hook_event_name": "Stop",
            "session_id": name,
            "transcript_path": str(path),
            "cwd": str(user.project),
        }
        completed = user.verdikt("hook", "claude", text=json.dumps(payload))
        answer = json.loads(completed.stdout or "{}")
        assert bool(answer.get("decision") or answer.get("hookSpecificOutput")) is blocked, (name, completed.stdout)
    log = (user.data / "ledger" / "_gate_extraction_errors.log").read_text()
    assert all(f"parse_status={name}" in log for name in ("unparseable", "schema_drift", "unreadable"))


@walks("S2-050", "S2-070", "S2-071", "S2-072", "S2-073", "S2-074")
def try_rotation(user: User) -> None:
    """Age a session and rotate: what is old goes to the archive of its month, what is active stays."""
    user.write("governance.yaml", ENFORCE)
    user.hook("UserPromptSubmit", prompt="Fix src/app.py")
    user.call("ls", "a\n")
    assert user.verdikt("ledger", "rotate", EG_HOT_DAYS="0").returncode == 0
    assert (user.data / "ledger" / "s1.jsonl").exists()
    for path in user.data.rglob("*"):
        if path.is_file() and path.name != "state.db":
            os.utime(path, (1_600_000_000, 1_600_000_000))
    assert user.verdikt("ledger", "rotate", EG_HOT_DAYS="14", EG_MAX_HOT_BYTES="20000000").returncode == 0
    archived = [str(path.relative_to(user.data)) for path in user.data.rglob("_archive/**/*") if path.is_file()]
    assert any(name.startswith("ledger/_archive/") for name in archived), archived
    assert any(name.startswith("contracts/_archive/") and "/s1/" in name for name in archived), archived
    assert (user.data / "_rotate.log").exists()
    assert user.verdikt("ledger", "verify").returncode == 0


@walks("S2-051")
def try_protected_files(user: User) -> None:
    """Let the agent reach for the policy, the data and the key: each is blocked, and the key is its owner's alone."""
    user.write("governance.yaml", ENFORCE)
    assert user.verdikt("keys", "init").returncode == 0
    keys = [path for path in (user.data / "keys").rglob("*") if path.is_file()]
    assert keys
    assert all(path.stat().st_mode & 0o077 == 0 for path in keys if "pub" not in path.name)
    for command in ("echo x > governance.yaml", f"rm -rf {user.data}", f"cat {keys[0]} > /dev/null; rm {keys[0]}"):
        answer = user.hook("PreToolUse", tool_name="Bash", tool_input={"command": command}, tool_use_id=command)
        assert answer, command


@walks("S2-100", "S2-101", "S2-102", "S2-103")
def try_the_final_block(user: User) -> None:
    """Ask for the fenced block by its document's name; a partial report passes with its three slots."""
    user.write_policy("profile: standard\nevidence: {mode: enforce, final_block: enforce, final_name: brian_final}\n")
    user.hook("UserPromptSubmit", prompt="Deploy the release to production")
    assert "brian_final" in json.dumps(user.stop("I looked at it."))
    contract = next((user.data / "contracts" / "s1").glob("*.yml")).read_text()
    assert "schema" in contract.partition("required_response_mode")[2].split("\n")[0]
    block = {
        "type": "partial",
        "summary": "looked",
        "claims": [],
        "what_succeeded": "reading",
        "what_remains": "deploying",
        "next_route_or_question": "may I?",
    }
    assert not user.stop(f"Here:\n```brian_final\n{json.dumps(block)}\n```\n")
