"""What the look-up of guarded files adds to git work, as ratios within one run: `python benchmarks/git_work.py`.

Each command is decided in one warm process with the look-up and without it; the two take turns, in CPU time. The
repository has a policy and a settings file in it, and branches that both have the same of them.

- *settled*: nothing has changed since the last decision;
- *index changed*: the index was written between two decisions, as after `git add`;
- *new commit*: the branch has moved between two decisions, as after `git commit`.

The last column is the call as it is wired: the native client and the warm process together, after the index has
changed, as a multiple of a call about `git status`, for which nothing is looked up.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.hook import Workspace, open_workspaces, run_command
from verdikt.govern import Governance
from verdikt.ledger.files import FileStore
from verdikt.ledger.projections import load_projections
from verdikt.model.action import Action, ActionKind
from verdikt.model.path_set import PathSet
from verdikt.observe.guarded_paths import list_guarded_paths
from verdikt.observe.world import RealWorld, find_project_root
from verdikt.policy import parse_policy

COMMANDS = (
    "git stash",
    "git stash -u",
    "git stash pop",
    "git reset --hard HEAD~0",
    "git switch same",
    "git checkout same",
    "git merge same",
    "git rebase same",
    "git revert HEAD",
    "git cherry-pick same",
    "git pull",
    "git clean -fd build",
)
BASE_COMMAND = "git status"
HOOKED_COMMANDS = tuple(command for command in COMMANDS if "--hard" not in command and "clean" not in command)
"""Those that pass."""
ROUNDS = 120
HOOK_ROUNDS = 80
BATCH = 5
WARM_UP_CALLS = 30
SETTLE_SECONDS = 0.3
BAR = 1.2


class UnguardedWorld(RealWorld):
    """The world of a decision that looks up no guarded files: the base of the ratios."""

    def guarded_in(self, path_set: PathSet) -> tuple[str, ...] | None:
        """Return that nothing would change."""
        return ()


def observe_unguarded(cwd: str, env: Mapping[str, str]) -> UnguardedWorld:
    """Return the world as `Governance` observes it, without the look-up."""
    root = find_project_root(cwd, env["HOME"])
    return UnguardedWorld(cwd, env=env, guarded=list_guarded_paths(root, env), root=root)


class GovernedProject:
    """A repository with guarded files, and one `Governance` with the look-up and one without."""

    def __init__(self, home: Path, root: Path) -> None:
        self.root = root
        self._numbers = count()
        self._create_repository()
        env = {"HOME": str(home), "PATH": os.environ["PATH"]}
        self.store = FileStore(home / "data", projections=load_projections())
        self.with_look_up = Governance(parse_policy("profile: standard"), self.store, env=env)
        self.without_look_up = Governance(
            parse_policy("profile: standard"),
            self.store,
            env=env,
            world_factory=lambda cwd: observe_unguarded(cwd, env),
        )

    def run_git(self, *arguments: str) -> None:
        """Run git in the repository."""
        identity = ("-c", "user.name=x", "-c", "user.email=x@x")
        subprocess.run(["git", *identity, "-C", str(self.root), *arguments], check=True, capture_output=True)

    def _commit(self, name: str) -> None:
        (self.root / "src" / name).write_text(name)
        self.run_git("add", "-A")
        self.run_git("commit", "-qm", name)

    def _create_repository(self) -> None:
        for directory in ("src", ".claude", "build"):
            (self.root / directory).mkdir(parents=True, exist_ok=True)
        self.run_git("init", "-q", "-b", "main")
        # What `init` wrote is accepted; another text would have two policies evaluated.
        if not (self.root / "governance.yaml").exists():
            (self.root / "governance.yaml").write_text("profile: standard\n")
        (self.root / ".claude/settings.json").write_text('{"hooks": {}}\n')
        for number in range(200):
            (self.root / f"src/module{number}.py").write_text(f"{number}\n")
        self._commit("first")
        self.run_git("checkout", "-qb", "same")
        self._commit("second")
        self.run_git("checkout", "-q", "main")
        self._commit("third")
        self.run_git("remote", "add", "origin", "../elsewhere")
        self.run_git("update-ref", "refs/remotes/origin/main", "main")
        self.run_git("config", "branch.main.remote", "origin")
        self.run_git("config", "branch.main.merge", "refs/heads/main")
        (self.root / "src/module1.py").write_text("stashed\n")
        self.run_git("stash")
        (self.root / "src/module1.py").write_text("changed\n")
        (self.root / "build/x").write_text("x\n")

    def create_action(self, command: str, session: str) -> Action:
        """Return an action as a host reports it."""
        return Action(
            kind=ActionKind.BASH,
            tool="Bash",
            payload={"command": command, "description": "work"},
            session_id=session,
            cwd=str(self.root),
            host="claude",
            call_id=f"toolu_{next(self._numbers):024}",
        )

    def write_index(self) -> None:
        """Write the index as git does: a new file in the place of the old one."""
        index = self.root / ".git/index"
        shutil.copy(index, index.with_suffix(".lock"))
        index.with_suffix(".lock").replace(index)

    def move_branch(self) -> None:
        """Add a commit without other files, and move the branch to it."""
        self.run_git("commit", "-q", "--allow-empty", "-m", "empty")


def measure_cpu(gov: Governance, actions: Sequence[Action]) -> float:
    """Return the CPU seconds of one decision."""
    started_at = time.process_time()
    for action in actions:
        gov.before(action)
    return (time.process_time() - started_at) / len(actions)


def compare_samples(with_look_up: Sequence[float], without: Sequence[float]) -> float:
    """Return the ratio of the fastest quarters, which a busy machine disturbs less than single samples."""
    fastest = [sorted(samples)[: len(samples) // 4] for samples in (with_look_up, without)]
    return sum(fastest[0]) / sum(fastest[1])


def compare_settled(project: GovernedProject, command: str) -> float:
    """Return the ratio where nothing changes between decisions."""
    with_look_up: list[float] = []
    without: list[float] = []
    for gov, session in ((project.with_look_up, "with"), (project.without_look_up, "without")):
        for _ in range(WARM_UP_CALLS):
            gov.before(project.create_action(command, session))
    for _ in range(ROUNDS):
        for gov, session, seconds in (
            (project.with_look_up, "with", with_look_up),
            (project.without_look_up, "without", without),
        ):
            seconds.append(measure_cpu(gov, [project.create_action(command, session) for _ in range(BATCH)]))
    return compare_samples(with_look_up, without)


def compare_changed(project: GovernedProject, command: str, change: Callable[[], None], rounds: int) -> float:
    """Return the ratio of the decisions right after a change."""
    with_look_up: list[float] = []
    without: list[float] = []
    for number in range(rounds):
        change()
        turns = [(project.with_look_up, "with", with_look_up), (project.without_look_up, "without", without)]
        for gov, session, seconds in turns if number % 2 else reversed(turns):
            # All of them are within the time in which a further change might not show, so that no answer is kept.
            seconds.append(measure_cpu(gov, [project.create_action(command, session) for _ in range(BATCH)]))
    return compare_samples(with_look_up, without)


def compare_hooks(project: GovernedProject, workspace: Workspace) -> dict[str, float]:
    """Return, for each command that passes, its call as wired as a multiple of one about `git status`."""
    commands = [BASE_COMMAND, *HOOKED_COMMANDS]
    calls = {name: workspace.build_warm_command(name, f"s{number}") for number, name in enumerate(commands)}
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(HOOK_ROUNDS):
        for name, call in calls.items():
            project.write_index()
            seconds[name].append(run_command(call)[1])
    return {name: compare_samples(seconds[name], seconds[BASE_COMMAND]) for name in HOOKED_COMMANDS}


def main() -> None:
    """Print the table, and whether the bar is met."""
    memory = Path("/dev/shm")
    home = Path(tempfile.mkdtemp(prefix="verdikt-git-", dir=memory if memory.is_dir() else None))
    try:
        with open_workspaces(home / "hooked") as (workspace,):
            # Committed with everything that `init` wrote.
            project = GovernedProject(home, workspace.project)
            time.sleep(SETTLE_SECONDS)
            hooked = compare_hooks(project, workspace)
            columns = f"{'settled':>10}{'index changed':>16}{'new commit':>14}{'as wired':>12}"
            print(f"{'times the same without the look-up':<40}{columns}")
            for command in COMMANDS:
                settled = compare_settled(project, command)
                indexed = compare_changed(project, command, project.write_index, ROUNDS)
                moved = compare_changed(project, command, project.move_branch, ROUNDS // 4)
                wired = f"{hooked[command]:>12.2f}" if command in hooked else f"{'–':>12}"
                print(f"{command:<40}{settled:>10.2f}{indexed:>16.2f}{moved:>14.2f}{wired}")
            worst = max(hooked.values())
            print(f"\nworst as wired: {worst:.2f} (bar: at most {BAR}): {'met' if worst <= BAR else 'missed'}")
            project.store.close()
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
