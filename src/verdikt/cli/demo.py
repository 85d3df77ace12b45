"""`verdikt demo`: a scripted agent session through the real engine and the real log, in a temporary folder."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from verdikt.govern import Governance
from verdikt.ledger.audit import audit
from verdikt.ledger.files import open_store
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.moment import Prompt, Turn
from verdikt.model.verdict import VerdictKind
from verdikt.observe.world import RealWorld
from verdikt.policy import parse_policy
from verdikt.projections import projections
from verdikt.replay import differences, recorded, replay

SESSION = "demo"

POLICY = """\
profile: standard
boundaries:
  red_line_files: [src/auth/handler.py]
feedback:
  - {stale_evidence: , every_n_calls: 1}
evidence:
  mode: enforce
"""

_COLOURS = {VerdictKind.PASS: "green", VerdictKind.WARN: "yellow", VerdictKind.ASK: "yellow", VerdictKind.BLOCK: "red"}


class Stage:
    """A project, a policy and a log: what the scenes play on. Everything lies below one temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.data = folder / "data"
        home = "/home/dev"  # nobody's: below the temporary folder, nothing would be a loss
        (self.project / "src" / "auth").mkdir(parents=True)
        (self.project / ".git").mkdir()
        (self.project / "src" / "auth" / "handler.py").write_text("def login(): ...\n")
        self.policy = parse_policy(POLICY)
        self.store = open_store(self.data, projections=projections())
        guarded = (str(self.data),)
        self.governance = Governance(
            self.policy,
            self.store,
            see=lambda cwd: RealWorld(cwd, env={}, home=home, guarded=guarded),
            env={"HOME": home},
        )

    def action(self, kind: ActionKind, tool: str, **payload: str) -> Action:
        """A call that the agent makes in the project."""
        return Action(kind=kind, tool=tool, payload=payload, session_id=SESSION, cwd=str(self.project))

    def attempt(self, kind: ActionKind, tool: str, **payload: str) -> None:
        """The agent wants to act: decided, recorded, then answered."""
        decision = self.governance.before(self.action(kind, tool, **payload))
        verdict = decision.verdict
        what = ", ".join(dict.fromkeys(effect.what for effect in decision.effects))
        say(tool, click.style(next(iter(payload.values())), bold=True))
        say(verdict.kind.word, verdict.reason or what, _COLOURS[verdict.kind])
        if not decision.passed:
            say("", click.style(f"→ {verdict.fix}", fg="cyan"))
        click.echo()


def say(word: str, text: str, colour: str = "") -> None:
    """One line: a word in its column, and what it is about."""
    shown = click.style(word.ljust(8), fg=colour, bold=True) if colour else click.style(word.ljust(8), dim=True)
    click.echo(f"  {shown}{text}")


def work(stage: Stage) -> None:
    """Ordinary work goes through in silence, also when it only speaks of danger."""
    stage.attempt(ActionKind.BASH, "Bash", command="git log --oneline | head -5")
    stage.attempt(ActionKind.BASH, "Bash", command="echo 'never run rm -rf / here' >> NOTES.md")


def danger(stage: Stage) -> None:
    """What cannot be undone is blocked however it is written, with a way that is open instead."""
    stage.attempt(ActionKind.BASH, "Bash", command="cd ~ && rm -r -f Documents")
    stage.attempt(ActionKind.BASH, "Bash", command="git push --force origin main")
    stage.attempt(ActionKind.WRITE, "Write", file_path="src/auth/handler.py")


def doubt(stage: Stage) -> None:
    """What depends on something unknown is asked."""
    stage.attempt(ActionKind.BASH, "Bash", command='rm -rf "$BUILD_DIR"')


def advice(stage: Stage) -> None:
    """After a call the agent hears what it should know now."""
    stage.governance.prompt(Prompt(text="Fix the login in `src/app.py`", session_id=SESSION, cwd=str(stage.project)))
    done = Outcome(success=True, exit_code=0, output="3 passed in 0.10s")
    stage.governance.after(stage.action(ActionKind.BASH, "Bash", command="pytest -q"), done)
    told = stage.governance.after(stage.action(ActionKind.WRITE, "Edit", file_path="src/app.py"), Outcome(success=True))
    say("Edit", click.style("src/app.py", bold=True))
    for line in told.context.splitlines():
        if line and not line.startswith("<"):
            say("" if line.startswith("->") else "told", line.replace("-> ", "→ "), "cyan")
    click.echo()


def claim(stage: Stage) -> None:
    """Who says "done" must have shown it."""
    message = "The login is fixed and all tests pass."
    answer = stage.governance.stop(Turn(session_id=SESSION, message=message, cwd=str(stage.project)))
    say("stop", click.style(message, bold=True))
    for at, line in enumerate(answer.reason.splitlines()):
        say("refused" if at == 0 else "", line, "" if at else "red")
    click.echo()


def proof(stage: Stage) -> None:
    """The log holds, and every decision in it can be made again."""
    stage.store.checkpoint(SESSION)
    found = audit(stage.data)
    faults = "; ".join(str(fault) for fault in found.faults)
    text = f"{found.entries} entries, each chained to the one before, the end signed: "
    say("log", text + ("verified" if found.holds else faults), "green" if found.holds else "red")
    past = [decision for entry in stage.store.entries(SESSION) if (decision := recorded(entry))]
    odd = [decision.seq for decision in past if differences(decision, replay(decision, stage.policy))]
    text = f"{len(past)} decisions made again from the log: "
    say("replay", text + ("the same bytes" if not odd else f"entries {odd} differ"), "red" if odd else "green")


SCENES: tuple[Callable[[Stage], None], ...] = (work, danger, doubt, advice, claim, proof)
"""What is shown, in order. A scene is a function of the stage; a new one is a function and a place here."""


@click.command()
def command() -> None:
    """Shows an agent at work under a policy: what passes, what is blocked, what is asked.

    Everything is real but the agent, and lies in a temporary folder that is removed at the end.

    Example: verdikt demo
    """
    with tempfile.TemporaryDirectory(prefix="verdikt-demo-") as folder:
        stage = Stage(Path(folder))
        click.echo(click.style("verdikt", bold=True) + ": every step of an agent is decided before it happens\n")
        for scene in SCENES:
            scene(stage)
        stage.store.close()
