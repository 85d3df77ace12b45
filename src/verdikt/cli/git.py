"""`verdikt git`: the hooks of a repository, and the check that they call."""

import json
import os
import sys
from collections.abc import Iterator
from functools import partial

import click

from verdikt.cli.council import show_progress
from verdikt.cli.store_access import close_after_command, json_option
from verdikt.errors import VerdiktError
from verdikt.govern import Governance
from verdikt.hosts.git.git_hooks import install_hooks as put
from verdikt.hosts.git.git_hooks import read_hook_states as look
from verdikt.hosts.git.git_hooks import uninstall_hooks as take
from verdikt.hosts.wiring.installation import Installation
from verdikt.ledger.data_directory import get_data_directory
from verdikt.model.hook_message import Answer
from verdikt.observe.agent_environment import detect_agent
from verdikt.observe.git_index import GitIndex

EXIT_BLOCKED = 2
ZERO_DIGITS = frozenset("0")

repo_option = click.option("--repo", type=click.Path(exists=True, file_okay=False), default=".", help="Default: here.")


@click.group()
def command() -> None:
    """Commits and pushes that wait for the councils' word.

    Example: verdikt git install
    """


def hooks_directory(repo: str) -> str:
    """Where git looks for hooks in a repository; `core.hooksPath` is respected."""
    return GitIndex(repo, os.environ).find_hooks_directory()


@command.command()
@repo_option
@json_option
def install(*, repo: str, as_json: bool) -> None:
    """Puts the hooks in: pre-commit, pre-merge-commit, pre-push. A hook that is there goes on, before ours.

    Example: verdikt git install --repo .
    """
    for line in install_hooks(repo, as_json=as_json):
        click.echo(line)


def install_hooks(repo: str, *, as_json: bool = False) -> Iterator[str]:
    """Puts the hooks in and says so."""
    directory = hooks_directory(repo)
    here = Installation(
        project=os.path.realpath(repo), data_directory=str(get_data_directory(os.environ)), env=os.environ
    )
    changed = put(directory, here.create_registration().python)
    if as_json:
        yield json.dumps({"directory": directory, "changed": changed})
        return
    yield from (f"{click.style('write ', fg='cyan')} {path}" for path in changed)
    yield f"commits in this repository wait for the councils of its policy (hooks in {directory})"


@command.command()
@repo_option
@json_option
def uninstall(*, repo: str, as_json: bool) -> None:
    """Takes the hooks out; those that were there before come back as they were.

    Example: verdikt git uninstall
    """
    if agent := detect_agent(os.environ):
        raise click.ClickException(f"{agent} runs this command, and agents cannot switch verdikt off")
    changed = take(hooks_directory(repo))
    if as_json:
        click.echo(json.dumps({"changed": changed}))
    else:
        click.echo("\n".join(f"restored {path}" for path in changed) or "no hooks of ours are installed here")


@command.command()
@repo_option
@json_option
def status(*, repo: str, as_json: bool) -> None:
    """Shows how the hooks stand; ends with 1 when one of ours is missing.

    Example: verdikt git status
    """
    states = look(hooks_directory(repo))
    if as_json:
        rows = [{"hook": s.name, "path": s.path, "installed": s.is_installed, "other": s.has_other} for s in states]
        click.echo(json.dumps(rows))
    else:
        for state in states:
            word = "installed" if state.is_installed else "missing"
            beside = f", with the hook that was there before ({state.path}.before-verdikt)"
            more = (beside if state.is_installed else ", another hook is there") if state.has_other else ""
            colour = "green" if state.is_installed else "red"
            click.echo(f"{state.name:<17} {click.style(word, fg=colour)}{more}")
    sys.exit(0 if all(state.is_installed for state in states) else 1)


@command.command()
@click.option("--hook", type=click.Choice(["pre-commit", "pre-merge-commit", "pre-push"]), default="pre-commit")
@click.option("--run/--no-run", default=True, help="Call command reviewers that have not reported.")
@repo_option
@json_option
@click.argument("arguments", nargs=-1)
def check(*, hook: str, run: bool, repo: str, as_json: bool, arguments: tuple[str, ...]) -> None:
    """What the hooks call: ends with 2 when a council with a guardrail stops the commit.

    Example: verdikt git check --no-run
    """
    try:
        gov = Governance.load(cwd=repo)
        close_after_command(gov.store)
        # Moving where a person watches; elsewhere only what was found is worth a line.
        with show_progress("verdikt", quiet=as_json or not sys.stderr.isatty()) as progress:
            asked = partial(gov.commit, repo, run=run, progress=progress)
            if hook == "pre-push":
                pushed = list_pushes(repo, arguments[0] if arguments else "")
                answers = [asked(trigger="pre-push", base=base, at=at) for base, at in pushed]
            else:
                answers = [asked()]
    except VerdiktError as error:
        # Without a policy nobody can tell whether a guardrail stands.
        answers = [Answer(allowed=False, reason=f"the councils could not be asked: {error}", guard="council")]
    allowed = all(answer.allowed for answer in answers)
    if as_json:
        said = [{"allowed": a.allowed, "reason": a.reason, "context": a.context} for a in answers]
        click.echo(json.dumps({"allowed": allowed, "answers": said}))
    for answer in () if as_json else answers:
        if answer.reason or answer.context:
            word = "" if answer.allowed else click.style("verdikt: ", fg="red", bold=True)
            click.echo(word + "\n".join(filter(None, (answer.reason, answer.context))), err=True)
    sys.exit(0 if allowed else EXIT_BLOCKED)


def list_pushes(repo: str, remote: str) -> list[tuple[str, str]]:
    """What is pushed, as git tells its hook: from which commit on, up to which one. A deleted branch is nothing."""
    index = GitIndex(repo, os.environ)
    if upto := os.environ.get("PRE_COMMIT_TO_REF"):  # as the pre-commit framework tells it
        lines = [f"x {upto} x {os.environ.get('PRE_COMMIT_FROM_REF') or '0'}"]
    else:
        lines = sys.stdin.read().splitlines() if not sys.stdin.isatty() else [f"x {index.resolve_commit('HEAD')} x 0"]
    found = []
    for line in lines:
        words = line.split(" ")
        if len(words) == 4 and words[1] and set(words[1]) != ZERO_DIGITS:
            there = "" if set(words[3]) == ZERO_DIGITS else index.resolve_commit(words[3])
            known = (
                there
                or index.resolve_commit(f"refs/remotes/{remote or 'origin'}/HEAD")
                or index.resolve_commit("@{upstream}")
            )
            found.append((index.find_merge_base(known, words[1]) if known else index.hash_empty_tree(), words[1]))
    return found
