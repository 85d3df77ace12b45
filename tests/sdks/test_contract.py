"""The contract of the adapters on the real SDKs: what the policy stops has no side effect, whatever the SDK does."""

import tomllib
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.case_files import load_yaml
from tests.sdks import environments
from tests.sdks.driver_process import DriverProcess
from tests.sdks.environments import ALWAYS, PACKAGES, ROOT, require_environment
from verdikt.ledger.audit import audit
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.policy import load_file
from verdikt.replay import find_differences, read_decision, replay

RULES = """
profile: none
unknown_tools: ask
rules:
  - {{name: no_drops, command: drop, verdict: block, reason: it loses data, fix: archive it}}
  - {{name: deploys, command: deploy, verdict: {}, reason: it goes live, fix: wait for a release}}
"""
POLICIES = {
    "asking": RULES.format("ask"),
    "loose": RULES.format("pass"),
    "tight": RULES.format("block"),
    "feedback": RULES.format("ask") + "feedback: [{static: the style guide is in docs, every_n_calls: 1}]\n",
    "warning": RULES.format("ask") + "  - {name: slow, command: slow, verdict: warn, reason: it takes an hour}\n",
    "paths": RULES.format("ask")
    + "  - {name: no_secrets, target: '**/secret.txt', verdict: block, reason: it is secret, fix: leave it}\n",
    "code": "profile: none\nall: [{sandbox: {forbidden_imports: [os], forbidden_calls: [eval]}}]\n",
    "computer": RULES.format("ask") + "manifest: {computer_use_preview: {effects: [read]}}\n",
    "completion": RULES.format("ask") + "completion: {checks: [{files: [report.md]}]}\n",
}

MODES = {
    "langchain": ("sync", "async", "stream"),
    "openai_agents": ("sync", "async", "stream"),
    "pydantic_ai": ("sync", "async", "stream"),
    "claude_agent_sdk": ("async",),
    "google_adk": ("sync", "async", "stream"),
    "strands": ("sync", "async", "stream"),
    "agent_framework": ("async", "stream"),
    "crewai": ("sync", "async", "react"),
    "llama_index": ("async", "stream"),
    "smolagents": ("sync", "stream"),
    "ag2": ("async",),
}
"""The ways to run an agent that each SDK has."""

ON_GOVERN = ("llama_index", "smolagents", "ag2")
"""SDKs whose tools are governed one by one, by `govern`: there is no place for a prompt, for feedback or for a stop."""

WITHOUT_RESUME = ("crewai", *ON_GOVERN)
"""SDKs that cannot wait for an answer from another process: it comes while the call waits, or not at all."""

STOP_MODES = MODES | {"openai_agents": ("async",)} | dict.fromkeys(ON_GOVERN, ())
"""The ways in which each SDK can send an agent back to work; OpenAI Agents by itself can only abort a run."""

CASES: list[dict[str, Any]] = load_yaml(Path(__file__).parent / "contract.yaml")
CASE_KEYS = set(
    "name only without versions modes policy fault attended rewrite setup steps inline ran pending seen told turns"
    " final log error then answers again stop hears row other_sessions decisions".split()
)
SESSION = "0c9f2f5e-6f2a-4f0e-9d5b-1f2a3b4c5d6e"  # Claude Code takes nothing but a UUID


FAIL_MODES: list[dict[str, Any]] = load_yaml(Path(__file__).parent / "fail_modes.yaml")
"""What a hook of an SDK can do wrong; in most SDKs several of these run the tool."""

IMPOSSIBLE = {("openai_agents", "another extension undoes it")} | {
    *((sdk, "policy flips after a no") for sdk in WITHOUT_RESUME),
    *((sdk, "another extension undoes it") for sdk in ON_GOVERN),
}
"""Guardrails of OpenAI Agents can only refuse. No time passes between question and answer without a resume. What is
governed by `govern` is the function itself: extensions are outside of it."""


def can_play(sdk: str, case: dict[str, Any]) -> bool:
    """Return whether a case is for an SDK."""
    waits = any(phase.get("pending") for phase in (case, *case.get("then", ())))
    if (waits and sdk in WITHOUT_RESUME) or ("hears" in case and sdk in ON_GOVERN):
        return False
    return sdk in case.get("only", [sdk]) and sdk not in case.get("without", ())


def list_row_cases(sdk: str, mode: str) -> list[dict[str, Any]]:
    """Return the cases that show for an SDK that a fail mode runs nothing that it must not."""
    return [case for case in CASES if case.get("row") == mode and can_play(sdk, case)]


@pytest.mark.parametrize("sdk", PACKAGES)
def test_every_fail_mode_is_a_case(sdk: str) -> None:
    """No row of the table of fail modes is without a case on any SDK."""
    modes = [row["mode"] for row in FAIL_MODES]
    missing = [mode for mode in modes if not list_row_cases(sdk, mode) and (sdk, mode) not in IMPOSSIBLE]

    assert missing == []
    assert {case["row"] for case in CASES if "row" in case} <= set(modes)


@pytest.mark.parametrize(
    ("sdk", "mode"), [(sdk, row["mode"]) for row in FAIL_MODES for sdk in row.get("runs_tool", ())]
)
def test_cell_in_which_the_bare_sdk_runs_the_tool_is_a_case_in_which_it_does_not_run(sdk: str, mode: str) -> None:
    """Some call of such a case is in the script of the model, and is not among what ran."""
    absent = [case["name"] for case in list_row_cases(sdk, mode) if has_absent_effect(case)]

    assert absent


def has_absent_effect(case: dict[str, Any]) -> bool:
    """Return whether a case has a call that never runs."""
    commands = {
        arguments.get("command") for step in parse_steps(case["steps"]) for _, _, arguments in step.get("calls", ())
    }
    ran = [command for phase in (case, *case.get("then", ())) for command in phase.get("ran", ())]
    return bool(commands - set(ran))


def test_extras_begin_at_the_tested_floors() -> None:
    """An extra of the package admits no version that is older than the one in the floor's environment."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bounds = {text.replace(">=", "==") for extra in project["optional-dependencies"].values() for text in extra}
    pins = {pin for sdk in PACKAGES if sdk not in ON_GOVERN for pin in PACKAGES[sdk]["floor"] if "==" in pin}

    assert pins - bounds == set()


@pytest.mark.parametrize("sdk", PACKAGES)
def test_sdk_that_cannot_be_installed_fails_where_it_is_always_tested(
    sdk: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an index and without a cache, `make test` must not end as if these four had been tested."""
    monkeypatch.setenv("VERDIKT_SDKS", str(tmp_path))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setattr(environments, "_install_once", environments._install_once.__wrapped__)

    with pytest.raises(pytest.fail.Exception if sdk in ALWAYS else pytest.skip.Exception, match=sdk):
        require_environment(sdk, "newest")


class Row(NamedTuple):
    """One case on one version of an SDK, in one of its modes."""

    sdk: str
    version: str
    mode: str
    case: dict[str, Any]


def list_rows() -> Iterator[Any]:
    """Yield SDK, version, mode and case for each run."""
    for sdk, versions in PACKAGES.items():
        for version in versions:
            for case in CASES:
                if not can_play(sdk, case) or version not in case.get("versions", [version]):
                    continue
                modes = [mode for mode in (STOP_MODES if case.get("stop") else MODES)[sdk] if fits_mode(case, mode)]
                # The floor shows that the extra's bound is right; the newest runs in every mode.
                for mode in modes if version == "newest" else modes[:1]:
                    label = f"{sdk}-{version}"
                    marks = pytest.mark.xdist_group(label)  # one worker, so that each driver starts once
                    yield pytest.param(Row(sdk, version, mode, case), id=f"{label}-{mode}-{case['name']}", marks=marks)


def fits_mode(case: dict[str, Any], mode: str) -> bool:
    """Return whether a case can be played in a mode."""
    return mode in case.get("modes", [mode])


class Drivers:
    """Two processes per SDK and version, started when they are needed: a run in one is resumed in the other."""

    def __init__(self) -> None:
        self._running: dict[tuple[str, str, int], DriverProcess] = {}

    def get(self, sdk: str, version: str, number: int) -> DriverProcess:
        """Return a driver; the test is skipped or fails where it has no environment."""
        key = (sdk, version, number)
        if key not in self._running:
            self._running[key] = DriverProcess(require_environment(sdk, version), sdk)
        return self._running[key]

    def close(self) -> None:
        """End all drivers."""
        for driver in self._running.values():
            driver.close()


@pytest.fixture(scope="module")
def drivers() -> Iterator[Drivers]:
    """Return the drivers of this module."""
    drivers = Drivers()
    yield drivers
    drivers.close()


@pytest.mark.parametrize("row", list(list_rows()))
def test_adapter_keeps_the_contract(drivers: Drivers, tmp_path: Path, row: Row) -> None:
    """Play the case, and compare what it left behind; the log verifies and replays."""
    sdk, version, mode, case = row
    (tmp_path / "home").mkdir()
    used = {"asking"}
    (state, turns), before = ("", 0), ("", 0)
    for number, phase in enumerate([case, *case.get("then", ())]):
        assert phase.keys() <= CASE_KEYS
        policy = phase.get("policy", "asking")
        used.add(policy)
        before = state, turns = before if phase.get("again") else (state, turns)
        (tmp_path / "governance.yaml").write_text(POLICIES[policy], encoding="utf-8")
        observation = drivers.get(sdk, version, number % 2).play(
            {
                "directory": str(tmp_path),
                "steps": parse_steps(case["steps"]),
                "mode": mode,
                "session": SESSION,
                "attended": case.get("attended", True),
                "fault": phase.get("fault", ""),
                "rewrite": case.get("rewrite", ""),
                "setup": case.get("setup", ""),
                "inline": phase.get("inline", {}),
                "answers": phase.get("answers"),
                "state": state,
                "turns_done": turns,
            }
        )
        state, turns = observation["state"], observation["turns"]
        check_observation(phase, observation)
    check_log(tmp_path, used, case)


def parse_steps(steps: list[Any]) -> list[dict[str, Any]]:
    """Return the steps as the drivers expect them."""
    numbers = count(1)
    parsed = []
    for step in steps:
        if isinstance(step, str):
            parsed.append({"text": step})
            continue
        calls = []
        for call in step:
            tool, argument = next(iter(call.items())) if isinstance(call, dict) else ("sh", call)
            name = "text" if tool == "mystery" else "command"
            calls.append((f"c{next(numbers)}", tool, {name: argument} if argument else {}))
        parsed.append({"calls": calls})
    return parsed


def check_observation(phase: dict[str, Any], observation: dict[str, Any]) -> None:
    """Compare what a run left behind with what the table says."""
    if "ran" in phase:
        assert sorted(observation["ran"]) == sorted(phase["ran"]), observation
    assert sorted(observation["pending"]) == sorted(phase.get("pending", ())), observation
    for call_id, words in phase.get("seen", {}).items():
        assert words in observation["seen"].get(call_id, ""), observation
    if "final" in phase:
        assert (observation["error"], observation["final"]) == ("", phase["final"]), observation
    if "error" in phase:
        assert observation["error"] == phase["error"], observation
    if "turns" in phase:
        assert observation["turns"] == phase["turns"], observation
    assert phase.get("hears", "") in "\n".join([*observation["seen"].values(), *observation["texts"]]), observation
    assert phase.get("told", "") in "\n".join(observation["texts"]), observation


def check_log(place: Path, policies: set[str], case: dict[str, Any]) -> None:
    """Check that the log verifies and replays, has the SDK's session ids, and the kinds that the case names."""
    home = place / "data"
    report = audit(home, projections=load_projections())
    assert [finding for finding in report.findings if not finding.is_note] == []
    known = {}
    for name in policies:
        (place / "governance.yaml").write_text(POLICIES[name], encoding="utf-8")
        policy = load_file(str(place / "governance.yaml"))
        known[policy.digest] = policy
    kinds: list[str] = []
    undecided: list[Any] = []
    with FileStore(home, projections=load_projections(), durable=False) as store:
        sessions = [session for session in store.list_sessions() if session != "operator"]
        assert len(set(sessions) - {SESSION}) == case.get("other_sessions", 0)
        for session in sessions:
            for entry in store.read_entries(session):
                kinds.append(str(entry.kind))
                undecided += entry.body.get("undecided") or ()
                if (past := read_decision(entry)) is not None:
                    assert find_differences(past, replay(past, known[past.policy])) == []
    wanted = {kind for phase in (case, *case.get("then", ())) for kind in phase.get("log", ())}
    assert wanted <= set(kinds)
    assert bool(undecided) == ("gap" in wanted)  # neither a call past the policy without a word, nor a false alarm
    assert case.get("decisions") in (None, kinds.count("decision"))
