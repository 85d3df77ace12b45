"""Seed 002, what is visible from outside: hooks, the validator command, logs and thresholds."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.planted import fill_template
from tests.scene import GREEN, Scene
from verdikt.claims.reader import read_claims
from verdikt.evidence.section import EvidenceSettings
from verdikt.evidence.validator_registry import VALIDATORS
from verdikt.ledger import evidence_records
from verdikt.ledger.audit import audit
from verdikt.ledger.evidence_records import note_overrides, record_overrides
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import EntryKind
from verdikt.model.hook_message import Turn
from verdikt.observe.alerts import note_crashes, read_recent_lines
from verdikt.observe.crash_log import CRASH_FILE, record_crash

HOUR = 3600
SECRET = fill_template("ghp_{A36}")
NOW = 1_750_000_000.0


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Return a session under an enforcing gate."""
    return Scene(tmp_path)


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a home whose policy enforces."""
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "governance.yaml").write_text("profile: standard\nevidence: {mode: enforce}\n")
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "VERDIKT_HOME": str(tmp_path / "data"),
        "VERDIKT_DAEMON": "off",
    }


def verdikt(env: dict[str, str], *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command as a host or an agent does."""
    where = Path(env["VERDIKT_HOME"]).parent / "project"
    command = [sys.executable, "-m", "verdikt", *words]
    return subprocess.run(command, input=text, env=env, cwd=where, capture_output=True, text=True, check=False)


def hook(env: dict[str, str], event: str, **payload: object) -> subprocess.CompletedProcess[str]:
    """One event of Codex, which answers a stop as the seed has it."""
    where = str(Path(env["VERDIKT_HOME"]).parent / "project")
    body = {"hook_event_name": event, "session_id": "s1", "turn_id": "t", "cwd": where, **payload}
    return verdikt(env, "hook", "codex", event, text=json.dumps(body))


def bash(env: dict[str, str], command: str, output: str) -> None:
    """Report a command that Codex ran, before and after it."""
    told = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": command}
    hook(env, "PreToolUse", **told)
    hook(env, "PostToolUse", **told, tool_response=output)


# S2-004
def test_a_crash_of_any_hook_shows(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """No window in which hooks fail in silence: each leaves a line with its name."""
    monkeypatch.setattr(scene.store, "session", _boom)
    monkeypatch.setattr("verdikt.evidence.gate_service.read_contract", _boom)
    monkeypatch.setattr("verdikt.evidence.gate_service.read_claims", _boom)
    action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": "ls"}, session_id="s1")

    assert not scene.gov.before(action).passed
    assert scene.gov.after(action, Outcome(success=True)).allowed
    assert scene.ask("fix it").allowed
    assert not scene.say("Done.").allowed

    lines = [json.loads(line) for line in (scene.store.home / CRASH_FILE).read_text().splitlines()]
    assert [line["hook"] for line in lines if "." not in line["hook"]] == ["before", "after", "prompt", "stop"]


def _boom(*args: object, **kwargs: object) -> object:
    raise RuntimeError(f"planted, with {SECRET}")


# S2-012
def test_framed_or_not_what_is_claimed_is_held_against_signed_passes(scene: Scene) -> None:
    """A turn of much work and no claim passes; one that claims passes only with a pass that verifies."""
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py")
    scene.run("pytest -q", GREEN)

    assert scene.say("I looked at the parser; the next thing to try is the lexer.").allowed
    assert scene.last["result"] == "silent"
    assert scene.entries(EntryKind.VALIDATOR_PASS) == []
    scene.ask("Fix src/app.py")
    scene.edit("src/app.py", "x = 2\n")
    assert not scene.say("Fixed.").allowed
    scene.run("pytest -q", GREEN)
    assert scene.say("Fixed.").allowed
    assert audit(scene.store.home).is_intact


# S2-012
def test_a_pass_by_another_key_does_not_count(scene: Scene, tmp_path: Path) -> None:
    """A pass that was signed by another key is not accepted."""
    scene.ask("Make the deployment ready")
    scene.edit("deploy.py")
    other = Scene(tmp_path / "elsewhere")
    other.ask("Make the deployment ready")
    body = {"claim": "done", "explicit": True, "validator": "tests_pass", "entries": [], "status": "pass"}
    forged = other.store.append("s1", EntryKind.VALIDATOR_PASS, body)
    with (scene.store.home / "ledger" / "s1.jsonl").open("ab") as file:
        file.write((other.store.home / "ledger" / "s1.jsonl").read_bytes().splitlines(keepends=True)[forged.seq - 1])

    assert not scene.say("The deployment is ready.").allowed


# S2-030, S2-040
def test_the_whole_loop_through_real_processes(env: dict[str, str]) -> None:
    """Prompt, tools, validator, stop: contract, log, signed pass, silence."""
    hook(env, "UserPromptSubmit", prompt="Fix src/app.py and run `make verify`")
    refused = hook(env, "Stop", last_assistant_message="Fixed.", stop_hook_active=False)
    bash(env, "cat > src/app.py <<'EOF'\nx = 1\nEOF", "")
    bash(env, "make verify && echo succeeded", "ok\nsucceeded\n")
    asked = ("--session", "s1", "--claim", "done", "--validator", "command_zero_exit")
    valid = verdikt(env, "evidence", "validate", *asked, "--args", '{"command_substring": "make verify"}')
    passed = hook(env, "Stop", last_assistant_message="Fixed.", stop_hook_active=False)

    assert json.loads(refused.stdout)["decision"] == "block"
    assert (valid.returncode, valid.stdout[:23]) == (0, "PASS command_zero_exit,")
    assert json.loads(passed.stdout or "{}") == {}
    kinds = [json.loads(line)["kind"] for line in (Path(env["VERDIKT_HOME"]) / "ledger" / "s1.jsonl").open()]
    assert {"contract", "tool_call", "decision", "validator_pass", "completion"} <= set(kinds)
    assert verdikt(env, "ledger", "verify").returncode == 0


# S2-041
@pytest.mark.parametrize(
    ("validator", "arguments", "status", "said"),
    [
        ("command_zero_exit", {"command_substring": "make verify"}, 0, "PASS"),
        ("tests_pass", {}, 2, "FAIL tests_pass: no test run in this turn"),
        ("ladder_exhaustion_proof", {}, 3, "REFUSED ladder_exhaustion_proof: `ladder_exhaustion_proof` proves"),
        ("command_zero_exit", {"command_substring": "m"}, 3, "too short to mean anything"),
        ("command_zero_exit", {}, 3, "needs one of the arguments"),
        (
            "file_diff_present",
            {"path": "src/other.py"},
            3,
            "validator arg path=src/other.py does not match any",
        ),
    ],
)
def test_validate_exits_with_0_for_pass_2_for_fail_3_for_refused(
    env: dict[str, str], validator: str, arguments: dict[str, str], status: int, said: str
) -> None:
    """0 PASS, 2 FAIL, 3 REFUSED."""
    hook(env, "UserPromptSubmit", prompt="Fix src/app.py and run `make verify`")
    bash(env, "make verify && echo succeeded", "succeeded\n")
    asked = ("--session", "s1", "--claim", "done", "--validator", validator, "--args", json.dumps(arguments))

    done = verdikt(env, "evidence", "validate", *asked)

    assert done.returncode == status
    assert said in done.stdout


# S2-041
def test_without_a_contract_it_is_refused(env: dict[str, str]) -> None:
    """Nothing was asked for."""
    bash(env, "make verify && echo succeeded", "succeeded\n")
    asked = ("--session", "s1", "--claim", "done", "--validator", "tests_pass")

    done = verdikt(env, "evidence", "validate", *asked)

    assert (done.returncode, "no contract" in done.stdout) == (3, True)


# S2-042
def test_each_fetch_tool_counts_once(scene: Scene) -> None:
    """Three distinct ways, not the same one three times; what did not fail, or was about something else, counts not."""
    scene.ask("Find out what the billing server says and fix it")
    for number in range(4):
        scene.run(f"curl -f http://billing/{number}", "", 22)
    first = scene.gov.evidence_gate.validate_claim("s1", "delegation", "fetch_attempt_proof", {"keyword": "billing"})
    scene.run("ssh billing uptime", "", 255)
    scene.run("wget http://other/", "", 4)
    scene.run("ping -c1 billing", "1 received", 0)
    second = scene.gov.evidence_gate.validate_claim("s1", "delegation", "fetch_attempt_proof", {"keyword": "billing"})
    scene.read("billing.log", exists=False)

    assert first.reason == "1 of 3 distinct ways that were tried and failed for `billing`: curl"
    assert second.reason.startswith("2 of 3")
    assert scene.gov.evidence_gate.validate_claim(
        "s1", "delegation", "fetch_attempt_proof", {"keyword": "billing"}
    ).holds
    other = scene.gov.evidence_gate.validate_claim("s1", "delegation", "fetch_attempt_proof", {"keyword": "invoices"})
    assert (other.status, other.reason) == ("refused", "no argument shares a word with the objective")


# S2-042
def test_every_hop_of_the_contracts_ladder_is_climbed(scene: Scene) -> None:
    """In the order in which they are told; a hop of the contract's own needs two of its words."""
    scene.ask("Install the package")

    def read_missing() -> str:
        return scene.gov.evidence_gate.validate_claim("s1", "blocked", "ladder_exhaustion_proof", {}).reason

    assert read_missing().startswith("not tried yet: look in the project, run the tool")
    scene.read("setup.cfg")
    scene.run("make install", "error", 2)
    assert read_missing() == "not tried yet: look outside, try another way to the same end"
    scene.run("pip install x", "no network", 1)
    assert read_missing() == ""
    body = scene.entries(EntryKind.CONTRACT)[-1].body | {"capability_ladder": ["ask the staging mirror"]}
    scene.store.append("s1", EntryKind.CONTRACT, body)
    assert read_missing() == "not tried yet: ask the staging mirror"
    scene.run("curl -f https://mirror.example.com/x", "", 22)
    assert read_missing() == "not tried yet: ask the staging mirror"
    scene.run("curl -f https://mirror.example.com/staging", "", 22)
    assert read_missing() == ""


# S2-042
def test_the_failure_must_be_recent(scene: Scene) -> None:
    """A failure does not count after the same command has succeeded."""
    scene.ask("Install the package")
    scene.read("setup.cfg")
    scene.run("pip install x", "no network", 1)
    scene.run("uv pip install x", "no network", 1)
    for number in range(10):
        scene.run(f"python step{number}.py")

    proof = scene.gov.evidence_gate.validate_claim("s1", "blocked", "ladder_exhaustion_proof", {})

    assert proof.reason == "nothing failed in the last 10 calls"


# S2-051
def test_policy_and_key_are_closed_to_the_agent(env: dict[str, str]) -> None:
    """The agent can write neither the policy with its validators nor the key, and only the owner can read the key."""
    hook(env, "UserPromptSubmit", prompt="Fix src/app.py")
    bash(env, "make verify && echo succeeded", "succeeded\n")
    hook(env, "Stop", last_assistant_message="I verified nothing.", stop_hook_active=False)
    asked = (
        "--session",
        "s1",
        "--claim",
        "done",
        "--validator",
        "command_zero_exit",
        "--args",
        '{"command":"src/app.py"}',
    )
    verdikt(env, "evidence", "validate", *asked)
    bash(env, "git commit -m x && echo succeeded", "succeeded\n")
    verdikt(env, "keys", "rotate")

    for path in (Path(env["VERDIKT_HOME"]) / "keys").glob("*.key"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    assert stat.S_IMODE(Path(env["VERDIKT_HOME"]).stat().st_mode) == 0o700
    for command in ("echo 'evidence: {mode: off}' > governance.yaml", f"rm -rf {env['VERDIKT_HOME']}/keys"):
        told = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "x"}
        assert json.loads(hook(env, "PreToolUse", **told).stdout)["decision"] == "block"


# S2-060
def test_hook_prints_a_decision_when_it_blocks_and_nothing_otherwise(env: dict[str, str]) -> None:
    """The hook prints `decision: block` with the reason when it blocks, and nothing when it does not."""
    hook(env, "UserPromptSubmit", prompt="Fix src/app.py")
    transcript = Path(env["VERDIKT_HOME"]).parent / "t.jsonl"
    said = {"type": "assistant", "message": {"content": [{"type": "text", "text": "The bug is fixed."}]}}
    transcript.write_text(json.dumps({"type": "user", "message": {"content": "Fix"}}) + "\n" + json.dumps(said) + "\n")

    blocked = json.loads(hook(env, "Stop", transcript_path=str(transcript), stop_hook_active=False).stdout)
    quiet = hook(env, "Stop", last_assistant_message="I have not verified it.", stop_hook_active=False)

    assert blocked["decision"] == "block"
    assert "claimed: “The bug is fixed”" in blocked["reason"]
    assert json.loads(quiet.stdout or "{}") == {}
    assert quiet.returncode == 0


# S2-061
@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (None, "unreadable"),
        (["garbage"], "unparseable"),
        ([{"type": "user", "message": {"content": "hi"}}, {"kind": "x", "role": "assistant"}], "schema_drift"),
        ([{"type": "user", "message": {"content": "hi"}}], "ok"),
        ([{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t"}]}}], "ok"),
    ],
)
def test_the_extraction_log_says_which(scene: Scene, lines: list[object] | None, status: str) -> None:
    """One line for each stop at which there was nothing to read; a harmless one is told from a broken one."""
    path = scene.transcript(*lines) if lines is not None else "/nowhere/x.jsonl"

    scene.say(None, transcript_path=path)

    log = scene.store.home / "ledger" / "_gate_extraction_errors.log"
    (line,) = log.read_text().splitlines()
    assert f" parse_status={status} text_empty=True session=s1 transcript={path}" in line
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


# S2-061
def test_what_could_be_read_leaves_no_line(scene: Scene) -> None:
    """It is a log of what went wrong."""
    scene.say("Hello.")
    scene.say(None, transcript_path=scene.transcript({"type": "assistant", "message": {"content": "Hello."}}))

    assert not (scene.store.home / "ledger" / "_gate_extraction_errors.log").exists()


# S2-061
def test_the_extraction_log_is_bounded_and_holds_no_secret(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest lines stay."""
    monkeypatch.setattr(evidence_records, "MAX_EXTRACTION_LOG_BYTES", 4000)
    for number in range(100):
        path = f"/nowhere/{SECRET}/{number}\n.jsonl"
        scene.gov.stop(Turn(session_id="s1", transcript_path=path, cwd=str(scene.project)))

    text = (scene.store.home / "ledger" / "_gate_extraction_errors.log").read_text()
    assert len(text) < 4400
    assert "/99 .jsonl" in text.splitlines()[-1]
    assert SECRET not in text


# S2-013
def test_the_third_in_24_hours_fires_once(tmp_path: Path) -> None:
    """The fourth is silent; after 24 hours, or when the marker was removed, it fires again."""
    memory = tmp_path / "m" / "MEMORY.md"
    fired = []
    times = [NOW, NOW + 1, NOW + 2, NOW + 3, NOW + 23 * HOUR, NOW + 25 * HOUR, NOW + 25 * HOUR + 1]
    for when in times:
        record_overrides(tmp_path, "s1", [("skip", "skip the tests")], when)
        fired.append(note_overrides(tmp_path, when, threshold=3, memory=str(memory), notices=""))

    assert fired == [False, False, True, False, False, False, True]
    (tmp_path / "overrides" / "_breach_marker.json").unlink()
    assert note_overrides(tmp_path, times[-1] + 1, threshold=3, memory=str(memory), notices="")


# S2-014
@pytest.mark.parametrize(("minutes", "fires"), [(59, True), (61, False)])
def test_three_crashes_within_an_hour_fire_an_alert(tmp_path: Path, minutes: int, fires: bool) -> None:
    """59 minutes are within the hour, 61 are not."""
    lines = [{"ts": NOW, "hook": "gate"}, {"ts": NOW + 1, "hook": "gate"}, {"ts": NOW + minutes * 60, "hook": "gate"}]
    (tmp_path / CRASH_FILE).write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert note_crashes(tmp_path, "gate", NOW + minutes * 60, threshold=3, memory="") is fires


# S2-024
def test_each_hook_has_its_file_and_its_marker(tmp_path: Path) -> None:
    """None writes over another's; the index names each once; the marker is by hook and day."""
    memory = tmp_path / "m" / "MEMORY.md"
    memory.parent.mkdir()
    memory.write_text("# what I know\n")
    for name in ("gate", "ledger"):
        for second in range(3):
            line = json.dumps({"ts": NOW + second, "hook": name})
            with (tmp_path / CRASH_FILE).open("a") as file:
                file.write(line + "\n")
    fired = [
        note_crashes(tmp_path, name, NOW + 3, threshold=3, memory=str(memory)) for name in ("gate", "ledger", "gate")
    ]

    assert fired == [True, True, False]
    for name in ("gate", "ledger"):
        assert f"`{name}` crashed 3 times" in (memory.parent / f"feedback_hook_crash_{name}.md").read_text()
        assert memory.read_text().count(f"(feedback_hook_crash_{name}.md)") == 1
    assert memory.read_text().startswith("# what I know\n")
    assert set(json.loads((tmp_path / "_hook_crash_breach.json").read_text())) == {"gate", "ledger"}


# S2-085
def test_the_scan_is_by_time_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read backwards piece by piece, to the beginning or an hour ago, whichever comes first."""
    path = tmp_path / CRASH_FILE
    old = json.dumps({"ts": NOW - 2 * HOUR, "hook": "gate", "message": "x" * 1000})
    path.write_text((old + "\n") * 5000 + json.dumps({"ts": NOW, "hook": "gate"}) + "\n")
    read, looked = os.pread, []
    monkeypatch.setattr("os.pread", lambda fd, size, at: looked.append(size) or read(fd, size, at))

    assert len(list(read_recent_lines(path, NOW - HOUR))) == 1
    assert sum(looked) <= 2 * 64 * 1024


# S2-004
def test_a_crash_line_holds_no_secret(tmp_path: Path) -> None:
    """What an exception says may be anything."""
    record_crash(tmp_path, "gate", RuntimeError(f"key {SECRET}"))

    assert SECRET not in (tmp_path / CRASH_FILE).read_text()


# W2-1
@pytest.mark.parametrize(
    "text",
    [
        "The request is blocked by the firewall, which is what we want.",
        "`blocked` is a column of the table.",
        "I am not blocked.",
        "What gets blocked that shouldn't?",
        "The test is called `test_blocked_user`.",
        'He wrote "I am blocked" in the ticket.',
        "```\nI'm blocked\n```",
        "> I'm blocked",
    ],
)
def test_talk_about_blocked_is_no_claim(text: str) -> None:
    """In discussion, code, quotations, negations and questions."""
    assert [claim for claim in read_claims(text) if claim.act == "blocked"] == []


# W2-3
def test_gate_starts_in_shadow_mode() -> None:
    """Nothing is refused before a person has seen what would be refused."""
    assert EvidenceSettings().mode == "shadow"


# W2-5
def test_whole_loop_leaves_the_home_directory_unchanged(tmp_path: Path, env: dict[str, str]) -> None:
    """Every path is injected: a whole loop leaves the home directory as it was."""
    Path(env["HOME"]).mkdir()
    hook(env, "UserPromptSubmit", prompt="Fix src/app.py, skip the tests")
    bash(env, "pytest -q", GREEN)
    hook(env, "Stop", last_assistant_message="Fixed.", stop_hook_active=False)

    assert list(Path(env["HOME"]).iterdir()) == []
    assert {path.name for path in tmp_path.iterdir()} == {"home", "project", "data"}


# W2-6
def test_every_property_of_a_validator_is_in_its_registry_row() -> None:
    """Everything about a validator is in its row, from which the documentation's table is generated."""
    page = (Path(__file__).parents[2] / "docs" / "evidence.md").read_text()

    for name, one in VALIDATORS.items():
        assert one.name == name
        assert callable(one.predicate)
        assert f"| `{name}` | {one.claim} | {one.about} |" in page


# W2-12
@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "cursor", "copilot", "opencode", "generic"])
def test_gate_works_for_every_host_in_every_directory(tmp_path: Path, host: str) -> None:
    """The gate knows no host and no fixed path."""
    scene = Scene(tmp_path / "some where")
    scene.ask("Fix src/app.py", host=host)
    scene.edit("src/app.py")
    told = {"kind": ActionKind.BASH, "tool": "Bash", "payload": {"command": "pytest -q"}, "host": host}
    action = Action(session_id="s1", cwd=str(scene.project), call_id="c", **told)  # type: ignore[arg-type]
    scene.gov.before(action)
    status = None if host in ("codex", "cursor") else 0
    scene.gov.after(action, Outcome(success=True, output=GREEN, exit_code=status))

    assert scene.say("All tests pass.", host=host).allowed


def test_every_keyword_of_the_contract_may_name_what_was_tried(scene: Scene) -> None:
    """A keyword that the contract itself took from the request is never refused as foreign to it."""
    scene.ask("Download the statement of the billing-server/eu and fix the import")
    keywords = scene.entries(EntryKind.CONTRACT)[0].body["target_fields"]["keywords"]
    assert keywords
    for keyword in keywords:
        proof = scene.gov.evidence_gate.validate_claim("s1", "delegation", "fetch_attempt_proof", {"keyword": keyword})
        assert proof.status == "fail", (keyword, proof.reason)
