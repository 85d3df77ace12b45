"""`verdikt demo`: a scripted agent session through the real engine and the real log, in a temporary folder."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from verdikt.govern import Governance
from verdikt.ledger.audit import audit
from verdikt.ledger.files import open_store
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.hook_message import Prompt, Turn
from verdikt.model.verdict import VerdictKind
from verdikt.observe.world import RealWorld
from verdikt.policy import parse_policy
from verdikt.replay import find_differences, read_decision, replay

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


class DemoEnvironment:
    """A project, a policy and a log below one temporary folder, for the scenes to use."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        self.data = folder / "data"
        # Not the real home, nor one below the temporary folder, where every delete would count as harmless.
        home = "/home/dev"
        (self.project / "src" / "auth").mkdir(parents=True)
        (self.project / ".git").mkdir()
        (self.project / "src" / "auth" / "handler.py").write_text("def login(): ...\n")
        self.policy = parse_policy(POLICY)
        self.store = open_store(self.data, projections=load_projections())
        guarded = (str(self.data),)
        self.governance = Governance(
            self.policy,
            self.store,
            world_factory=lambda cwd: RealWorld(cwd, env={}, home=home, guarded=guarded),
            # Nothing else: the demo must look the same on every machine.
            env={"HOME": home},
        )

    def build_action(self, kind: ActionKind, tool: str, **payload: str) -> Action:
        """Return a tool call of the agent in the project."""
        return Action(kind=kind, tool=tool, payload=payload, session_id=SESSION, cwd=str(self.project))

    def attempt_action(self, kind: ActionKind, tool: str, **payload: str) -> None:
        """Decide and record a tool call of the agent, and print the answer."""
        decision = self.governance.before(self.build_action(kind, tool, **payload))
        verdict = decision.verdict
        what = ", ".join(dict.fromkeys(effect.what for effect in decision.effects))
        print_line(tool, click.style(next(iter(payload.values())), bold=True))
        print_line(verdict.kind.word, verdict.reason or what, _COLOURS[verdict.kind])
        if not decision.passed:
            print_line("", click.style(f"→ {verdict.fix}", fg="cyan"))
        click.echo()


def print_line(word: str, text: str, colour: str = "") -> None:
    """Print one line: a word in its column, and a text."""
    label = click.style(word.ljust(8), fg=colour, bold=True) if colour else click.style(word.ljust(8), dim=True)
    click.echo(f"  {label}{text}")


def show_ordinary_work(demo: DemoEnvironment) -> None:
    """Show that ordinary work passes, also when it only mentions something dangerous."""
    demo.attempt_action(ActionKind.BASH, "Bash", command="git log --oneline | head -5")
    demo.attempt_action(ActionKind.BASH, "Bash", command="echo 'never run rm -rf / here' >> NOTES.md")


def show_dangerous_commands(demo: DemoEnvironment) -> None:
    """Show that what can't be undone is blocked however it is written, with an alternative."""
    demo.attempt_action(ActionKind.BASH, "Bash", command="cd ~ && rm -r -f Documents")
    demo.attempt_action(ActionKind.BASH, "Bash", command="git push --force origin main")
    demo.attempt_action(ActionKind.WRITE, "Write", file_path="src/auth/handler.py")


def show_uncertain_command(demo: DemoEnvironment) -> None:
    """Show that a command which depends on something unknown is asked about."""
    demo.attempt_action(ActionKind.BASH, "Bash", command='rm -rf "$BUILD_DIR"')


def show_feedback(demo: DemoEnvironment) -> None:
    """Show the feedback that an agent gets after a call."""
    demo.governance.prompt(Prompt(text="Fix the login in `src/app.py`", session_id=SESSION, cwd=str(demo.project)))
    outcome = Outcome(success=True, exit_code=0, output="3 passed in 0.10s")
    demo.governance.after(demo.build_action(ActionKind.BASH, "Bash", command="pytest -q"), outcome)
    feedback = demo.governance.after(
        demo.build_action(ActionKind.WRITE, "Edit", file_path="src/app.py"), Outcome(success=True)
    )
    print_line("Edit", click.style("src/app.py", bold=True))
    for line in feedback.context.splitlines():
        # The lines with tags are for the model that reads the context.
        if line and not line.startswith("<"):
            print_line("" if line.startswith("->") else "told", line.replace("-> ", "→ "), "cyan")
    click.echo()


def show_unproven_claim(demo: DemoEnvironment) -> None:
    """Show that a claim of success without evidence is refused."""
    message = "The login is fixed and all tests pass."
    answer = demo.governance.stop(Turn(session_id=SESSION, message=message, cwd=str(demo.project)))
    print_line("stop", click.style(message, bold=True))
    for index, line in enumerate(answer.reason.splitlines()):
        print_line("refused" if index == 0 else "", line, "" if index else "red")
    click.echo()


def show_log_verification(demo: DemoEnvironment) -> None:
    """Show that the log verifies and that every decision in it can be replayed."""
    # Signs the end of the log, so that the verification below covers every entry.
    demo.store.append_checkpoint(SESSION)
    report = audit(demo.data)
    problems = "; ".join(str(finding) for finding in report.findings)
    text = f"{report.entry_count} entries, each chained to the one before, the end signed: "
    print_line("log", text + ("verified" if report.is_intact else problems), "green" if report.is_intact else "red")
    decisions = [decision for entry in demo.store.read_entries(SESSION) if (decision := read_decision(entry))]
    changed = [decision.seq for decision in decisions if find_differences(decision, replay(decision, demo.policy))]
    text = f"{len(decisions)} decisions replayed from the log: "
    result = f"entries {changed} differ" if changed else "the same bytes"
    print_line("replay", text + result, "red" if changed else "green")


SCENES: tuple[Callable[[DemoEnvironment], None], ...] = (
    show_ordinary_work,
    show_dangerous_commands,
    show_uncertain_command,
    show_feedback,
    show_unproven_claim,
    show_log_verification,
)
"""The scenes in order; a new scene is a function of the environment and an entry here."""


@click.command()
def command() -> None:
    """Show an agent at work under a policy: what passes, what is blocked, what is asked.

    Everything is real but the agent, and lies in a temporary folder that is removed at the end.

    Example: verdikt demo
    """
    with tempfile.TemporaryDirectory(prefix="verdikt-demo-") as folder:
        environment = DemoEnvironment(Path(folder))
        click.echo(click.style("verdikt", bold=True) + ": every step of an agent is decided before it happens\n")
        for scene in SCENES:
            scene(environment)
        environment.store.close()
