"""What the drivers share: the scenario that is sent, the observation that comes back, tools and faults.

A driver answers one JSON line with one JSON line. The tools only write down that they ran: what counts is that line in
`ran.txt`, never what an adapter answered.
"""

import asyncio
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from verdikt.govern import Governance
from verdikt.integrations.tool_governor import ToolGovernor
from verdikt.model.verdict import decision_from_error

_KINDS = {"sh": "bash"}


@dataclass
class Step:
    """One turn of the scripted model: calls of tools (id, name, arguments), or a final text."""

    calls: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    text: str = ""


@dataclass
class Scenario:
    """One run of an agent, or its resumption."""

    directory: str
    steps: list[Step]
    mode: str = "sync"  # sync, async or stream
    attended: bool = True
    session: str = "thread-1"
    prompt: str = "do it"
    fault: str = ""  # moment and failure, as in `before raises`
    rewrite: str = ""  # a command that another extension puts in place of what the model gave
    setup: str = ""  # a special arrangement, known to the driver
    inline: dict[str, Any] = field(default_factory=dict)  # call id → what the SDK's own callback answers at once
    answers: dict[str, Any] | None = None  # call id → True, False or rubbish, to resume with
    turns_done: int = 0  # steps that the model had taken before the resumption
    state: str = ""  # what the SDK needs to resume

    def __post_init__(self) -> None:
        self.traced: Any = None
        self.steps = [step if isinstance(step, Step) else Step(**step) for step in self.steps]

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of the tools; `mystery` is declared nowhere, and `sh` is misspelt where the setup says so."""
        return {"sch": "bash"} if self.setup == "misspelt kinds" else _KINDS

    @property
    def place(self) -> Path:
        """The directory of the scene."""
        return Path(self.directory)

    def open_governance(self) -> Governance:
        """Return the governance of the scene's policy, with the scenario's fault."""
        env = {"VERDIKT_HOME": str(self.place / "data"), "HOME": str(self.place / "home")}
        governance = self._load_governance(self.place / "governance.yaml", env)
        moment, _, failure = self.fault.partition(" ")
        if moment == "adapter":
            return governance  # see `break_adapter`
        if failure == "raises for pwd":
            governance.before = partial(_raise_for_pwd, governance.before)  # type: ignore[method-assign]
        elif moment:
            setattr(governance, moment, FAULTS[failure])
        return governance

    def answer_question(self, question: dict[str, Any]) -> Any:
        """Return what a person answers while the call waits; a text is no answer, and `raise` is a closed terminal."""
        arguments = question["args"]
        answer = self.inline[arguments.get("command") or arguments.get("text") or arguments["code_action"]]
        if answer == "raise":
            raise EOFError("no terminal")
        return answer

    def _load_governance(self, policy: Path, env: dict[str, str]) -> Governance:
        if self.setup != "traced":
            return Governance.load(policy, env=env)
        from tests.sdks.drivers.traced import load_traced  # OpenTelemetry is not in every environment

        self.traced = load_traced(policy, env)
        return self.traced

    @property
    def mcp_server(self) -> dict[str, Any]:
        """How to start the MCP server of the scene: command, arguments and environment."""
        arguments = ["-m", "tests.sdks.drivers.mcp_server", self.directory]
        return {"command": sys.executable, "args": arguments, "env": {"PYTHONPATH": os.environ["PYTHONPATH"]}}

    def describe_spans(self) -> list[str]:
        """Return what a traced governance told OpenTelemetry."""
        if self.traced is None:
            return []
        from tests.sdks.drivers.traced import describe_spans

        return describe_spans(self.traced)

    def run_command(self, command: str) -> str:
        """Write down that a command ran; a command that begins with `report` also makes the report."""
        with (self.place / "ran.txt").open("a", encoding="utf-8") as file:
            file.write(command + "\n")
        if command.startswith("report"):
            (self.place / "report.md").write_text("all done\n", encoding="utf-8")
        if command.startswith("fail"):
            raise ValueError("it failed")
        return f"ran {command}"


def _raise(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("governance is broken")


def _hang(*args: Any, **kwargs: Any) -> Any:
    time.sleep(1.0)
    raise RuntimeError("governance took too long")


async def _answer_later(*args: Any, **kwargs: Any) -> Any:
    return None


def _block_silently(text: str | None, *args: Any, **kwargs: Any) -> Any:
    decision = decision_from_error(RuntimeError())
    # No verdict can be built so, but a guard from elsewhere might bring one.
    for name in ("reason", "fix", "guard"):
        object.__setattr__(decision.verdict, name, text)
    return decision


def _raise_for_pwd(before: Callable[..., Any], action: Any, **options: Any) -> Any:
    if action.payload.get("command") == "pwd":
        raise RuntimeError("governance is broken")
    return before(action, **options)


FAULTS: dict[str, Callable[..., Any]] = {
    "raises": _raise,
    "hangs": _hang,
    "is a coroutine function": _answer_later,
    "blocks without a reason": partial(_block_silently, ""),
    "blocks with None for a reason": partial(_block_silently, None),
    "returns None": lambda *args, **kwargs: None,
    "returns a text": lambda *args, **kwargs: "pass",
    "returns True": lambda *args, **kwargs: True,
    "returns continue false": lambda *args, **kwargs: {"continue": False},
    "returns a mapping": lambda *args, **kwargs: {"permissionDecision": "allow"},
}
"""What a governance can do instead of its work; no driver and no adapter knows of it."""


@contextmanager
def break_adapter(fault: str) -> Iterator[None]:
    """Let what adapters decide a call with raise, where the fault says so: as a bug of the adapter itself would."""
    names = ("build_action", "decide", "adecide") if fault == "adapter raises" else ()
    originals = {name: getattr(ToolGovernor, name) for name in names}
    for name in names:
        setattr(ToolGovernor, name, _raise)
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(ToolGovernor, name, original)


@dataclass
class Observation:
    """What a run left behind."""

    ran: list[str] = field(default_factory=list)
    seen: dict[str, str] = field(default_factory=dict)  # call id → what the model saw as its result
    texts: list[str] = field(default_factory=list)  # what the model was told between its turns
    final: str = ""
    error: str = ""
    pending: list[str] = field(default_factory=list)  # calls that wait for a person
    turns: int = 0
    state: str = ""


def serve(play: Callable[[Scenario, Observation], Any], version: str) -> None:
    """Answer scenarios from stdin until it ends; `play` may be a coroutine function."""
    output = sys.stdout
    sys.stdout = sys.stderr  # an SDK that prints must not garble the answers
    print(json.dumps({"version": version}), file=output, flush=True)
    for line in sys.stdin:
        scenario, observation = Scenario(**json.loads(line)), Observation()
        observation.turns = scenario.turns_done
        os.chdir(scenario.place)  # adapters govern the working directory
        try:
            with break_adapter(scenario.fault):
                result = play(scenario, observation)
                if asyncio.iscoroutine(result):
                    asyncio.run(result)
        except BaseException as error:
            traceback.print_exc()
            observation.error = type(error).__name__
        observation.texts += scenario.describe_spans()
        ran = scenario.place / "ran.txt"
        observation.ran = ran.read_text(encoding="utf-8").splitlines() if ran.exists() else []
        print(json.dumps(asdict(observation)), file=output, flush=True)
