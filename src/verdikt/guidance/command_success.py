"""Whether a shell call ran a command, and whether its success is that command's success."""

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
"""How commands begin that run a project's tests."""

_STATUS_HIDING_OPERATORS = ("|", ";", "&", "\n", "`", "$(")
"""After any of these, the status of a line is not, or not only, that of the command it begins with."""


def get_shell_command(tool: str, params: object) -> str:
    """The command text of a call, or an empty string when it runs no shell."""
    if classify_tool(tool) is not ActionKind.BASH or not isinstance(params, dict):
        return ""
    return next((value for key in ("command", "cmd", "script") if isinstance(value := params.get(key), str)), "")


def is_success(outcome: Outcome) -> bool:
    """Whether the host calls it a success and, where it tells a status, the status says so too."""
    return outcome.success and outcome.exit_code in (None, 0)


def proves_command(text: str, command: str) -> bool:
    """Whether the success of a command line is the success of this command, perhaps with more arguments.

    `cd app && pytest -q` proves `pytest`; `pytest | tail` and `pytest || true` prove nothing.
    """
    wanted = " ".join(command.split())
    if " ".join(text.split()) == wanted:
        return True
    if any(sign in text.replace("&&", "  ") for sign in _STATUS_HIDING_OPERATORS):
        return False
    return any(_begins_with(" ".join(part.split()), wanted) for part in text.split("&&"))


def mentions_command(text: str, command: str) -> bool:
    """Whether a command line may run this command anywhere in it; what is doubtful counts as yes."""
    return f" {' '.join(command.split())} " in f" {' '.join(_replace_operators(text).split())} "


def _begins_with(part: str, wanted: str) -> bool:
    return part == wanted or part.startswith(wanted + " ")


def _replace_operators(text: str) -> str:
    for sign in ("|", ";", "&", "(", ")", "`", "$", "{", "}", "'", '"', "\n"):
        text = text.replace(sign, " ")
    return text
