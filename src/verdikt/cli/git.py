"""`verdikt git`: the hooks of a repository, and the check that the hooks call."""

import json
import os
import sys
from collections.abc import Iterator
from functools import partial

import click

from verdikt.cli.council import show_progress
from verdikt.cli.exit_status import EXIT_BLOCKED
from verdikt.cli.operator_access import refuse_agents
from verdikt.cli.store_access import close_after_command, json_option
from verdikt.cli.suggesting_group import SuggestingGroup
from verdikt.errors import VerdiktError
from verdikt.govern import Governance
from verdikt.hosts.git import git_hooks
from verdikt.hosts.wiring.installation import Installation
from verdikt.ledger.data_directory import get_data_directory
from verdikt.ledger.kept_files import KeptFiles
from verdikt.model.hook_message import Answer
from verdikt.observe.git_index import GitIndex
from verdikt.observe.regular_file import read_regular_file

HOOKS_PATH_SETTING = "hooksPath"
"""The setting with which git looks for its hooks elsewhere."""
MAX_CONFIG_BYTES = 1024 * 1024

ZERO_DIGITS = frozenset("0")

repo_option = click.option("--repo", type=click.Path(exists=True, file_okay=False), default=".", help="Default: here.")


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Let commits and pushes wait for the councils.

    Example: verdikt git install
    """


def hooks_directory(repo: str) -> str:
    """Return where git looks for hooks in a repository; `core.hooksPath` is respected."""
    return GitIndex(repo, os.environ).find_hooks_directory()


@command.command()
@repo_option
@json_option
def install(*, repo: str, as_json: bool) -> None:
    """Install the hooks: pre-commit, pre-merge-commit, pre-push. A hook that is there runs before ours.

    Example: verdikt git install --repo .
    """
    for line in install_hooks(repo, as_json=as_json):
        click.echo(line)


def install_hooks(repo: str, *, as_json: bool = False) -> Iterator[str]:
    """Install the hooks and yield lines that say so."""
    directory = hooks_directory(repo)
    # The hooks run the interpreter that runs this command, isolated as the hooks of hosts are.
    installation = Installation(
        project=os.path.realpath(repo), data_directory=str(get_data_directory(os.environ)), env=os.environ
    )
    changed_paths = git_hooks.install_hooks(
        directory, installation.create_registration().python, os.path.abspath(installation.data_directory)
    )
    keep_hooks(directory, installation.data_directory, os.path.realpath(repo))
    if as_json:
        yield json.dumps({"directory": directory, "changed": changed_paths})
        return
    yield from (f"{click.style('write ', fg='cyan')} {path}" for path in changed_paths)
    yield f"commits in this repository wait for the councils of its policy (hooks in {directory})"


def keep_hooks(directory: str, data_directory: str, project: str) -> None:
    """Keep the hooks, so that what an action changes of them can be put back."""
    # In a linked work tree the hooks are those of the main repository.
    top = directory.removesuffix("/.git/hooks") if directory.endswith("/.git/hooks") else project
    kept_files = KeptFiles(data_directory)
    for state in git_hooks.read_hook_states(directory):
        if state.is_installed:
            kept_files.keep(state.path, project=top)
    # Other managers of hooks have git look elsewhere; that takes ours away as much as deleting them does.
    config = os.path.join(os.path.dirname(directory), "config")
    settings = read_regular_file(config, MAX_CONFIG_BYTES) if os.path.basename(directory) == "hooks" else None
    if settings is not None and HOOKS_PATH_SETTING.lower().encode() not in settings.lower():
        kept_files.keep(config, project=top, off_switch=HOOKS_PATH_SETTING, never_removed=True)


def drop_hooks(directory: str, data_directory: str) -> None:
    """Keep the hooks no longer, before they are removed."""
    kept_files = KeptFiles(data_directory)
    for state in git_hooks.read_hook_states(directory):
        kept_files.drop(state.path)
    kept_files.drop(os.path.join(os.path.dirname(directory), "config"))


@command.command()
@repo_option
@json_option
def uninstall(*, repo: str, as_json: bool) -> None:
    """Remove the hooks; those that were there before come back as they were.

    Example: verdikt git uninstall
    """
    refuse_agents("removing the hooks of git")
    directory = hooks_directory(repo)
    drop_hooks(directory, str(get_data_directory(os.environ)))
    changed_paths = git_hooks.uninstall_hooks(directory)
    if as_json:
        click.echo(json.dumps({"changed": changed_paths}))
    else:
        click.echo("\n".join(f"restored {path}" for path in changed_paths) or "no hooks of ours are installed here")


@command.command()
@repo_option
@json_option
def status(*, repo: str, as_json: bool) -> None:
    """Show the state of the hooks; ends with 1 when one of ours is missing.

    Example: verdikt git status
    """
    states = git_hooks.read_hook_states(hooks_directory(repo))
    if as_json:
        rows = [{"hook": s.name, "path": s.path, "installed": s.is_installed, "other": s.has_other} for s in states]
        click.echo(json.dumps(rows))
    else:
        for state in states:
            word = "installed" if state.is_installed else "missing"
            note = ""
            if state.has_other and state.is_installed:
                note = f", with the hook that was there before ({state.path}{git_hooks.BACKUP_SUFFIX})"
            elif state.has_other:
                note = ", another hook is there"
            colour = "green" if state.is_installed else "red"
            click.echo(f"{state.name:<17} {click.style(word, fg=colour)}{note}")
    sys.exit(0 if all(state.is_installed for state in states) else 1)


@command.command()
@click.option("--hook", type=click.Choice(["pre-commit", "pre-merge-commit", "pre-push"]), default="pre-commit")
@click.option("--run/--no-run", default=True, help="Call command reviewers that have not reported.")
@repo_option
@json_option
@click.argument("arguments", nargs=-1)
def check(*, hook: str, run: bool, repo: str, as_json: bool, arguments: tuple[str, ...]) -> None:
    """Check a commit or a push, as the hooks do; ends with 2 when a council with a guardrail stops it.

    Example: verdikt git check --no-run
    """
    try:
        gov = Governance.load(cwd=repo)
        close_after_command(gov.store)
        # Progress only on a terminal; elsewhere only findings are worth a line.
        with show_progress("verdikt", quiet=as_json or not sys.stderr.isatty()) as progress:
            check_commit = partial(gov.commit, repo, run=run, progress=progress)
            if hook == "pre-push":
                pushes = list_pushes(repo, arguments[0] if arguments else "")
                answers = [check_commit(trigger="pre-push", base=base, at=at) for base, at in pushes]
            else:
                answers = [check_commit()]
    except VerdiktError as error:
        # Without a policy it is unknown whether there is a guardrail, so the commit is stopped.
        answers = [Answer(allowed=False, reason=f"the councils could not be asked: {error}", guard="council")]
    allowed = all(answer.allowed for answer in answers)
    if as_json:
        rows = [{"allowed": a.allowed, "reason": a.reason, "context": a.context} for a in answers]
        click.echo(json.dumps({"allowed": allowed, "answers": rows}))
    for answer in () if as_json else answers:
        if answer.reason or answer.context:
            word = "" if answer.allowed else click.style("verdikt: ", fg="red", bold=True)
            click.echo(word + "\n".join(filter(None, (answer.reason, answer.context))), err=True)
    sys.exit(0 if allowed else EXIT_BLOCKED)


def list_pushes(repo: str, remote: str) -> list[tuple[str, str]]:
    """Return (first, last) commit of each push, as git tells its hook. The deletion of a branch is left out."""
    index = GitIndex(repo, os.environ)
    # The pre-commit framework consumes stdin and passes the commits in variables.
    if last_commit := os.environ.get("PRE_COMMIT_TO_REF"):
        lines = [f"x {last_commit} x {os.environ.get('PRE_COMMIT_FROM_REF') or '0'}"]
    else:
        lines = sys.stdin.read().splitlines() if not sys.stdin.isatty() else [f"x {index.resolve_commit('HEAD')} x 0"]
    pushes = []
    for line in lines:
        words = line.split(" ")
        # local ref, local commit, remote ref, remote commit; a commit of zeros means that there is none
        if len(words) == 4 and words[1] and set(words[1]) != ZERO_DIGITS:
            remote_commit = "" if set(words[3]) == ZERO_DIGITS else index.resolve_commit(words[3])
            known_commit = (
                remote_commit
                or index.resolve_commit(f"refs/remotes/{remote or 'origin'}/HEAD")
                or index.resolve_commit("@{upstream}")
            )
            base = index.find_merge_base(known_commit, words[1]) if known_commit else index.hash_empty_tree()
            pushes.append((base, words[1]))
    return pushes
