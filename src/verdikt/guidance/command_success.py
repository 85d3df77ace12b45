"""Whether a shell call ran a command, and whether its exit status is that command's."""

from verdikt.model.action import ActionKind, Outcome
from verdikt.model.tool_kind import classify_tool

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

_STATUS_HIDING_OPERATORS = ("|", ";", "&", "\n", "`", "$(")
"""Operators after which a line's exit status is not, or not only, that of its first command."""


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

    `cd app && pytest -q` proves `pytest`; `pytest | tail` and `pytest || true` prove nothing.
    """
    expected = " ".join(command.split())
    if " ".join(text.split()) == expected:
        return True
    # `&&` keeps the status: the line succeeds only if every part does.
    if any(sign in text.replace("&&", "  ") for sign in _STATUS_HIDING_OPERATORS):
        return False
    return any(_begins_with(" ".join(part.split()), expected) for part in text.split("&&"))


# Used to deny, where a false alarm costs one more call and a miss lets the call through.
def mentions_command(text: str, command: str) -> bool:
    """Return whether a command line may run this command anywhere in it; in doubt, True."""
    return f" {' '.join(command.split())} " in f" {' '.join(_replace_operators(text).split())} "


def _begins_with(part: str, command: str) -> bool:
    return part == command or part.startswith(command + " ")


def _replace_operators(text: str) -> str:
    for sign in ("|", ";", "&", "(", ")", "`", "$", "{", "}", "'", '"', "\n"):
        text = text.replace(sign, " ")
    return text
