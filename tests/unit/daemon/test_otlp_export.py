"""Decisions of hooks, exported from the log to a collector on loopback: each entry once, the same span when twice."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock, FakeWorld
from tests.otlp_receiver import OtlpReceiver, open_receiver
from verdikt.daemon.otlp_export import LogExporter, SystemLogExporter
from verdikt.daemon.otlp_settings import PROGRESS_FILE, OtlpProgress, OtlpSettings, remove_settings
from verdikt.errors import DaemonError
from verdikt.govern import Governance
from verdikt.integrations.otel_export import OtlpExporter
from verdikt.integrations.otel_spans import read_stop
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.entry import Entry, EntryKind
from verdikt.model.hook_message import Prompt, Turn
from verdikt.policy import parse_policy

POLICY = """
profile: none
completion: {checks: [{files: [report.md]}]}
rules:
  - {name: no_drops, command: drop, verdict: block, reason: secret reason, fix: archive it}
  - {name: deploys, command: deploy, verdict: ask, reason: it goes live, fix: wait for a release}
"""
CALL = Action(
    kind=ActionKind.BASH, tool="Bash", payload={"command": "drop it"}, session_id="s1", host="claude", call_id="c1"
)


def open_governance(home: Path) -> Governance:
    """Return what decides in a data directory."""
    store = close_after_test(FileStore(home, FakeClock(), load_projections(), durable=False))
    return Governance(parse_policy(POLICY), store, world_factory=lambda cwd: FakeWorld(), clock=FakeClock())


class Scene:
    """A log that hooks write, and an exporter of it."""

    def __init__(self, home: Path, receiver: OtlpReceiver) -> None:
        self.home = home
        self.governance = open_governance(home)
        self.receiver = receiver
        self.exporters: list[OtlpExporter] = []
        self.governance.before(replace(CALL, call_id="before the exporter"))
        self.log = self.open_log()

    def open_log(self) -> LogExporter:
        """Return an exporter that goes on where the one before it ended."""
        exporter = OtlpExporter(self.receiver.url, {"x-team": "blue"})
        self.exporters.append(exporter)
        return LogExporter(self.home, exporter)

    def close(self) -> None:
        """Close the exporters, while the collector still listens."""
        while self.exporters:
            self.exporters.pop().close()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """Return a scene whose collector listens."""
    with open_receiver(OtlpReceiver()) as receiver:
        scene = Scene(tmp_path / "data", receiver)
        yield scene
        scene.close()


def list_names(receiver: OtlpReceiver) -> list[str]:
    """Return the names of the spans that arrived."""
    return [span["name"] for span in receiver.spans]


def test_call_of_a_hook_is_one_trace(scene: Scene) -> None:
    """Decision, answer and outcome of a call; what was in the log before is not sent."""
    deploy = replace(CALL, payload={"command": "deploy"})
    scene.governance.before(deploy)
    scene.governance.record_answer("s1", "c1", approved=True, by="bertha", channel="web")
    scene.governance.after(deploy, Outcome(success=True, output="deployed"))

    assert scene.log.export_new_entries()
    before, answer, after = scene.receiver.spans

    assert [before["name"], answer["name"], after["name"]] == ["verdikt.before", "verdikt.answer", "verdikt.after"]
    assert before["trace"] == answer["trace"] == after["trace"]
    assert before["attributes"]["verdikt.verdict"] == "ask"
    assert before["attributes"]["verdikt.receipt"] == answer["attributes"]["verdikt.receipt"]
    assert before["attributes"]["verdikt.host"] == "claude"
    assert answer["events"] == [
        ("verdikt.answer", {"verdikt.answer.approved": True, "verdikt.answer.channel": "web"}),
    ]
    assert after["attributes"]["verdikt.success"] is True
    assert scene.receiver.headers["x-team"] == "blue"


def test_no_argument_and_no_reason_leaves_the_machine(scene: Scene) -> None:
    """A block is no error, and says neither what was tried nor why it was stopped."""
    scene.governance.before(CALL)
    assert scene.log.export_new_entries()
    (span,) = scene.receiver.spans

    assert span["status"] == 0
    assert "drop it" not in json.dumps(span)
    assert "secret reason" not in json.dumps(span)


def test_entry_that_is_sent_again_is_the_same_span(scene: Scene) -> None:
    """Without its progress the exporter repeats itself, and a collector sees the same ids."""
    scene.governance.before(CALL)
    assert scene.log.export_new_entries()
    OtlpProgress(sent={"s1": 1}).save(scene.home)
    assert scene.open_log().export_new_entries()
    first, second = scene.receiver.spans

    assert (first["trace"], first["span"]) == (second["trace"], second["span"])


def test_exporter_goes_on_where_the_one_before_it_ended(scene: Scene) -> None:
    """Nothing is lost or repeated by a restart."""
    scene.governance.before(CALL)
    assert scene.log.export_new_entries()
    scene.governance.before(replace(CALL, call_id="c2"))
    assert scene.open_log().export_new_entries()

    assert [span["attributes"]["gen_ai.tool.call.id"] for span in scene.receiver.spans] == ["c1", "c2"]


def test_collector_that_was_down_gets_everything_later(scene: Scene) -> None:
    """The log is the queue; meanwhile the problem is shown."""
    scene.receiver.status = 400
    scene.governance.before(CALL)
    assert not scene.log.export_new_entries()
    progress = OtlpProgress.load(scene.home)
    assert progress is not None
    assert progress.problem == "the collector does not take spans"

    scene.receiver.status = 200
    assert scene.log.export_new_entries()
    assert list_names(scene.receiver) == ["verdikt.before"]
    assert scene.log.progress.problem == ""


def test_call_of_an_sdk_is_left_to_its_program(scene: Scene) -> None:
    """An adapter traces by itself, and the log would repeat it."""
    deploy = replace(CALL, payload={"command": "deploy"}, host="langchain", session_id="thread-7")
    scene.governance.before(deploy)
    scene.governance.record_answer("thread-7", "c1", approved=True)
    scene.governance.after(deploy, Outcome(success=True))
    scene.governance.before(replace(CALL, call_id="c2"))
    assert scene.log.export_new_entries()

    assert [span["attributes"]["gen_ai.tool.call.id"] for span in scene.receiver.spans] == ["c2"]


def test_request_that_begins_a_session_is_a_span_and_its_end_another(scene: Scene) -> None:
    """Also when the request is exported before anything is decided; without the person's words."""
    scene.governance.prompt(Prompt(text="Fix the login page and run the tests", session_id="new", host="claude"))
    assert scene.log.export_new_entries()
    scene.governance.stop(Turn(session_id="new", message="all done", host="claude"))
    assert scene.log.export_new_entries()

    assert list_names(scene.receiver)[:2] == ["verdikt.prompt", "verdikt.stop"]
    assert scene.receiver.spans[0]["attributes"] == {
        "verdikt.moment": "prompt",
        "verdikt.host": "claude",
        "gen_ai.conversation.id": "new",
    }
    assert "login" not in json.dumps(scene.receiver.spans)


def test_logs_of_all_users_of_a_system_wide_process_are_sent(tmp_path: Path, scene: Scene) -> None:
    """From the moment it was switched on, and all of a user who comes later, also while the exporter is not there."""
    home = tmp_path / "system"
    users = {uid: open_governance(home / "users" / uid) for uid in ("1001", "1002")}
    users["1001"].before(replace(CALL, call_id="before the exporter"))
    exporter = OtlpExporter(scene.receiver.url)
    scene.exporters.append(exporter)
    log = SystemLogExporter(home, exporter)
    for uid, governance in users.items():
        governance.before(replace(CALL, call_id=f"of {uid}"))
    assert log.export_new_entries()
    open_governance(home / "users" / "1003").before(replace(CALL, call_id="of 1003"))
    assert SystemLogExporter(home, exporter).export_new_entries()
    open_governance(home / "users" / "1004").before(replace(CALL, call_id="of 1004"))
    assert log.export_new_entries()

    sent = [span["attributes"]["gen_ai.tool.call.id"] for span in scene.receiver.spans]
    assert sent == ["of 1001", "of 1002", "of 1003", "of 1004"]
    progress = OtlpProgress.load(home)
    assert progress is not None
    assert (progress.spans, progress.problem) == (4, "")


def test_refused_end_is_a_span(scene: Scene) -> None:
    """By completion checks, and by the evidence gate."""
    scene.governance.stop(Turn(session_id="s1", message="all done", host="claude"))
    assert scene.log.export_new_entries()

    attributes = scene.receiver.spans[0]["attributes"]
    assert scene.receiver.spans[0]["name"] == "verdikt.stop"
    assert (attributes["verdikt.verdict"], attributes["verdikt.guard"]) == ("block", "completion")


@pytest.mark.parametrize(
    ("body", "verdict", "guard"),
    [
        ({"by": "completion", "allowed": True}, "pass", "completion"),
        ({"by": "completion", "allowed": False}, "block", "completion"),
        ({"by": "evidence", "result": "refused", "enforced": True}, "block", "evidence"),
        ({"by": "evidence", "result": "refused", "enforced": False}, "warn", "evidence"),
        ({"by": "evidence", "result": "ended_unproven", "enforced": True}, "warn", "evidence"),
        ({"by": "evidence", "result": "proven", "enforced": True}, "pass", "evidence"),
    ],
)
def test_end_of_a_turn_has_a_verdict(body: dict[str, Any], verdict: str, guard: str) -> None:
    """A refusal that is only recorded is a warning."""
    entry = Entry(seq=1, ts=1, session="s", kind=EntryKind.COMPLETION, body=body)

    assert read_stop(entry) == (verdict, guard)


def test_metrics_arrive(scene: Scene) -> None:
    """Counts by verdict, guard and moment."""
    scene.governance.before(CALL)
    assert scene.log.export_new_entries()
    scene.close()

    assert scene.receiver.metrics["verdikt.decisions"] == [
        {"verdict": "block", "guard": "no_drops", "moment": "before", "value": 1}
    ]
    assert scene.receiver.metrics["verdikt.decision.duration"][0]["value"] == 1


def test_settings_are_private_and_can_be_removed(tmp_path: Path) -> None:
    """Headers may hold a token."""
    settings = OtlpSettings("http://127.0.0.1:1", {"authorization": "token"})
    settings.save(tmp_path)

    assert OtlpSettings.load(tmp_path) == settings
    assert (tmp_path / "otlp.json").stat().st_mode & 0o777 == 0o600
    assert remove_settings(tmp_path)
    assert not remove_settings(tmp_path)
    assert OtlpSettings.load(tmp_path) is None


@pytest.mark.parametrize("text", ["{", "[]", '{"url": "x"}'])
def test_damaged_settings_are_an_error_with_a_way_out(tmp_path: Path, text: str) -> None:
    """They are not taken for none."""
    (tmp_path / "otlp.json").write_text(text)

    with pytest.raises(DaemonError, match="set it again"):
        OtlpSettings.load(tmp_path)


def test_damaged_progress_counts_as_none(tmp_path: Path) -> None:
    """Then only what comes from now on is sent."""
    path: Any = tmp_path / PROGRESS_FILE
    path.parent.mkdir()
    path.write_text("{")

    assert OtlpProgress.load(tmp_path) is None
