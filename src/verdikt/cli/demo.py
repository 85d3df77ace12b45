"""`verdikt demo`: a scripted agent session through the real engine and the real log, in a temporary folder."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from verdikt.govern import Governance
from verdikt.ledger.audit import audit
from verdikt.ledger.files import open_store
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind, Outcome
from verdikt.model.finding import build_finding
from verdikt.model.hook_message import Prompt, Turn
from verdikt.model.verdict import VerdictKind
from verdikt.observe.git_repository import run_git
from verdikt.observe.world import RealWorld
from verdikt.policy import parse_policy
from verdikt.replay import find_differences, read_decision, replay

SESSION = "demo"

POLICY = """\
profile: standard
boundaries:
  red_line_files: [src/auth/handler.py]
tool_policies:
  - sequential_dependency: {dependencies: {git push: [pytest]}, reset_by: [edit]}
councils:
  ship-it:
    guardrail: true
    reviewers:
      security-reviewer: {agent: look for injections}
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
        (self.project / "src" / "auth" / "handler.py").write_text("def login(): ...\n")
        self.env = {"HOME": home, "PATH": os.environ.get("PATH", ""), "VERDIKT_RUNS_DIR": str(folder / "runs")}
        run_git(str(self.project), self.env, "init", "-q")
        self.policy = parse_policy(POLICY)
        self.store = open_store(self.data, projections=load_projections())
        guarded = (str(self.data),)
        self.governance = Governance(
            self.policy,
            self.store,
            world_factory=lambda cwd: RealWorld(cwd, env={}, home=home, guarded=guarded),
            # Nothing else: the demo must look the same on every machine.
            env=self.env,
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


def show_tool_policy(demo: DemoEnvironment) -> None:
    """Show that a tool waits for what it depends on, however that is started."""
    demo.attempt_action(ActionKind.BASH, "Bash", command="git push origin feature")
    outcome = Outcome(success=True, exit_code=0, output="3 passed in 0.10s")
    tests = demo.build_action(ActionKind.BASH, "Bash", command="uv run pytest -q")
    demo.governance.after(tests, outcome)
    print_line("Bash", click.style("uv run pytest -q", bold=True))
    print_line("ran", "3 passed", "green")
    click.echo()
    demo.attempt_action(ActionKind.BASH, "Bash", command="git push origin feature")


def show_stopped_commit(demo: DemoEnvironment) -> None:
    """Show that a reviewer's finding stops the commit, also after the file was moved and commented."""
    source = demo.project / "src" / "users.py"
    source.write_text("def find(name):\n    return db.execute('select * from users where name = ' + name)\n")
    run_git(str(demo.project), demo.env, "add", "-A")
    runner = demo.governance.council_reviews.open_runner(str(demo.project))
    plan = runner.runs.save_plan(runner.build_plan(demo.governance.councils.get_council("ship-it")))
    finding = build_finding(
        level="HIGH", title="SQL injection", agent="security-reviewer", evidence=["src/users.py:2:unescaped input"]
    )
    runner.runs.record(plan.plan_hash, finding)
    source.write_text("# reviewed\n" + source.read_text())
    run_git(str(demo.project), demo.env, "add", "-A")
    answer = demo.governance.commit(str(demo.project))
    print_line("commit", click.style("src/users.py, with a comment on top", bold=True))
    print_line("block" if not answer.allowed else "pass", answer.reason.splitlines()[0], "red")
    for line in answer.reason.splitlines()[2:4]:
        print_line("", line.strip())
    click.echo()


def show_feedback(demo: DemoEnvironment) -> None:
    """Show the feedback that an agent gets after a call."""
    demo.governance.prompt(Prompt(text="Fix the login in `src/app.py`", session_id=SESSION, cwd=str(demo.project)))
    outcome = Outcome(success=True, exit_code=0, output="3 passed in 0.10s")
    demo.governance.after(demo.build_action(ActionKind.BASH, "Bash", command="pytest -q"), outcome)
    # Really written: the gate compares the sources with those that the tests ran on.
    (demo.project / "src" / "app.py").write_text("def login(): ...\n")
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
    show_tool_policy,
    show_stopped_commit,
    show_feedback,
    show_unproven_claim,
    show_log_verification,
)
"""The scenes in order; a new scene is a function of the environment and an entry here."""

SHORT_SCENES = (
    show_ordinary_work,
    show_dangerous_commands,
    show_uncertain_command,
    show_unproven_claim,
    show_log_verification,
)
"""What fits on one screen."""


@click.command()
@click.option("--short", is_flag=True, help="Only what fits on one screen: no tool policy, no council, no feedback.")
def command(*, short: bool) -> None:
    """Show an agent at work under a policy: what passes, what is blocked, what is asked.

    Everything is real but the agent, and lies in a temporary folder that is removed at the end.

    Example: verdikt demo
    """
    with tempfile.TemporaryDirectory(prefix="verdikt-demo-") as folder:
        environment = DemoEnvironment(Path(folder))
        click.echo(click.style("verdikt", bold=True) + ": every step of an agent is decided before it happens\n")
        for scene in SHORT_SCENES if short else SCENES:
            scene(environment)
        environment.store.close()
