"""A machine whose policy asks people away from the terminal."""

from pathlib import Path
from typing import Any

from tests.cleanup import close_after_test
from tests.fakes import FakeClock, FakeWorld
from verdikt.govern import Governance
from verdikt.ledger.approvals import record_approval
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import APPROVALS, load_projections
from verdikt.model.action import Action, ActionKind
from verdikt.model.posture import Posture
from verdikt.model.verdict import Decision
from verdikt.model.world import PathFact
from verdikt.policy import parse_policy

_RULES = {
    "deploy": ("./deploy.sh", "deploys to production"),
    "publish": ("twine", "publishes a package"),
    "release": ("release-it", "releases"),
}
"""Rule → the command that it asks about, and why."""


def build_asking_policy(*head: str, **approvals: str) -> str:
    """Return a policy with these lines at its head, and rules of these names, each with whom it asks."""
    lines = [*(head or ("profile: none",)), "rules:"]
    for name, approval in approvals.items():
        command, reason = _RULES[name]
        lines += [f"  - name: {name}", f"    command: [{command}]", "    verdict: ask", f"    reason: {reason}"]
        lines += ["    fix: wait", f"    approval: {approval}"]
    return "\n".join([*lines, ""])


POLICY = build_asking_policy(
    deploy="{by: {group: release}, count: 2, separate: true, expires: 4h, valid: 30m}",
    publish="{by: self}",
    release="{by: {group: release}, strong: true}",
)
SCRIPT = "/home/dev/project/deploy.sh"


def build_call(command: str = "./deploy.sh prod", session: str = "s1", call: str = "") -> Action:
    """Return a shell command that an agent wants to run."""
    return Action(
        kind=ActionKind.BASH,
        tool="Bash",
        payload={"command": command},
        session_id=session,
        cwd="/home/dev/project",
        call_id=call,
    )


class AskingMachine:
    """One machine: a log, a policy, a world with a script, and a clock."""

    def __init__(self, home: Path, policy: str = POLICY, number: int = 7, clock: Any = None) -> None:
        self.clock = clock or FakeClock()
        self.store = close_after_test(FileStore(home, self.clock, load_projections()))
        if number:
            (home / "ship").mkdir(exist_ok=True)
            (home / "ship" / "config.json").write_text(f'{{"url": "https://verdikt.example", "machine": {number}}}')
        self.world = FakeWorld()
        self.world.paths[SCRIPT] = PathFact(real=SCRIPT, kind="file", git="tracked", size=30)
        self.world.texts[SCRIPT] = "kubectl apply -f prod.yaml\n"
        self.govern(policy)

    def govern(self, policy: str) -> None:
        """Take another policy into force."""
        self.governance = Governance(
            parse_policy(policy),
            self.store,
            world_factory=lambda cwd: self.world,
            clock=self.clock,
            env={"HOME": "/home/dev"},
        )

    def decide(self, action: Action | None = None, posture: Posture | None = None) -> Decision:
        """Return the decision on a call."""
        return self.governance.before(action or build_call(), posture=posture)

    def ask(self, action: Action | None = None, posture: Posture | None = None) -> tuple[str, str]:
        """Make a call that is asked about; return id and digest of the question."""
        action = action or build_call()
        self.decide(action, posture)
        requests = self.store.read_projection(APPROVALS.name, action.session_id)
        id, request = max(requests.items(), key=lambda item: item[1]["seq"])
        return id, request["digest"]

    def answer(
        self, id: str, digest: str, *, approved: bool = True, session: str = "s1", seconds: float = 1800
    ) -> None:
        """Record what people answered."""
        record_approval(
            self.store,
            session,
            id,
            digest=digest,
            approved=approved,
            by=["Ana", "Ben"] if approved else ["Ana"],
            reason="" if approved else "not on a Friday",
            until=self.clock.now() + seconds,
        )
