"""Whether a shell call ran a command, and whether its exit status is that command's."""

from collections.abc import Iterator

from verdikt.model.action import ActionKind, Outcome
from verdikt.model.tool_kind import classify_tool
from verdikt.runs.program_kinds import resolve_program_name
from verdikt.runs.shell_runs import ProgramRun, read_runs

TEST_COMMANDS = (
    "pytest",
    "python -m pytest",
    "python3 -m pytest",
    "python -m unittest",
    "tox",
    "nox",
    "npm test",
    "npm run test",
    "pnpm test",
    "yarn test",
    "npx jest",
    "npx vitest",
    "cargo test",
    "go test",
    "make test",
    "make check",
    "mvn test",
    "gradle test",
    "./gradlew test",
    "bundle exec rspec",
    "mix test",
    "dotnet test",
    "phpunit",
)
"""Beginnings of commands that run a project's tests."""


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
    expected = _normalize_argv(required[0].argv if len(required) == 1 else tuple(command.split()))
    # Reading a command line costs more than looking for a word, and most lines do not have it.
    if not expected or expected[-1] not in text:
        return
    for run in read_runs(text):
        argv = _normalize_argv(run.argv)
        if argv[: len(expected)] == expected:
            yield run


def _normalize_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command from the program's own name on: `python -m pytest -q` is `pytest -q`."""
    if not argv:
        return ()
    name = resolve_program_name(argv[0])
    if name.startswith("python") and len(argv) > 2 and argv[1] == "-m":
        return argv[2:]
    # git takes options before its subcommand; the ones with a value are these.
    rest = list(argv[1:])
    while name == "git" and rest and rest[0].startswith("-"):
        del rest[: 2 if rest[0] in ("-C", "-c", "--git-dir", "--work-tree") else 1]
    return (name, *rest)


def _replace_operators(text: str) -> str:
    for sign in ("|", ";", "&", "(", ")", "`", "$", "{", "}", "'", '"', "\n"):
        text = text.replace(sign, " ")
    return text
