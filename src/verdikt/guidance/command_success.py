"""Whether a shell call ran a command, and whether its exit status is that command's."""

from collections.abc import Iterator

from verdikt.model.action import ActionKind, Outcome
from verdikt.model.tool_kind import classify_tool
from verdikt.runs.program_kinds import normalize_argv
from verdikt.runs.shell_runs import ProgramRun, read_runs


def get_shell_command(tool: str, params: object) -> str:
    """Return the command text of a call, or an empty string when it does not run a shell."""
    if classify_tool(tool) is not ActionKind.BASH or not isinstance(params, dict):
        return ""
    return next((value for key in ("command", "cmd", "script") if isinstance(value := params.get(key), str)), "")


def is_success(outcome: Outcome) -> bool:
    """Return whether the host reports success and the exit status, where it is known, is 0."""
    return outcome.success and outcome.exit_code in (None, 0)


# Used to allow, so it errs on the other side than `mentions_command`.
def proves_command(text: str, command: str) -> bool:
    """Return whether the success of a command line proves that this command, perhaps with more arguments, succeeded.

    The evidence gate's reader decides: `cd app && pytest -q`, `uv run pytest`, `python -m pytest` and `bash -c pytest`
    prove `pytest`; `pytest | tail`, `pytest || true` and `pytest --collect-only` prove nothing.
    """
    if text.split() == command.split():
        return True
    return any(run.status_propagates and not run.dry_run for run in _find_runs(text, command))


def proves_tests(text: str, commands: tuple[str, ...]) -> bool:
    """Return whether a command line that succeeded proves that one of these commands did; without any, some tests."""
    if commands:
        return any(proves_command(text, command) for command in commands)
    return any(run.kind == "test" and run.status_propagates and not run.dry_run for run in read_runs(text))


# Used to deny, where a false alarm costs one more call and a miss lets the call through.
def mentions_command(text: str, command: str) -> bool:
    """Return whether a command line may run this command anywhere in it; in doubt, True."""
    if f" {' '.join(command.split())} " in f" {' '.join(_replace_operators(text).split())} ":
        return True
    return any(True for _ in _find_runs(text, command))


def _find_runs(text: str, command: str) -> Iterator[ProgramRun]:
    """Yield the runs of a command line that are runs of this command, however it is started."""
    required = read_runs(command)
    # One that is itself wrapped (`uv run pytest`) is compared without its wrapper, like what ran.
    expected = normalize_argv(required[0].argv if len(required) == 1 else tuple(command.split()))
    # Reading a command line costs more than looking for a word, and most lines do not have it.
    if not expected or expected[-1] not in text:
        return
    for run in read_runs(text):
        argv = normalize_argv(run.argv)
        if argv[: len(expected)] == expected:
            yield run


def _replace_operators(text: str) -> str:
    for sign in ("|", ";", "&", "(", ")", "`", "$", "{", "}", "'", '"', "\n"):
        text = text.replace(sign, " ")
    return text
