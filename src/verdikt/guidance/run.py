"""Whether a shell call ran a command, and whether its success is that command's success."""

from verdikt.model.action import ActionKind, Outcome
from verdikt.model.tool import kind_of

TESTS = (
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

_OTHER = ("|", ";", "&", "\n", "`", "$(")
"""After any of these, the status of a line is not, or not only, that of the command it begins with."""


def shell_text(tool: str, params: object) -> str:
    """The command text of a call, or an empty string when it runs no shell."""
    if kind_of(tool) is not ActionKind.BASH or not isinstance(params, dict):
        return ""
    return next((value for key in ("command", "cmd", "script") if isinstance(value := params.get(key), str)), "")


def succeeded(outcome: Outcome) -> bool:
    """Whether the host calls it a success and, where it tells a status, the status says so too."""
    return outcome.success and outcome.exit_code in (None, 0)


def proves(text: str, command: str) -> bool:
    """Whether the success of a command line is the success of this command, perhaps with more arguments.

    `cd app && pytest -q` proves `pytest`; `pytest | tail` and `pytest || true` prove nothing.
    """
    wanted = " ".join(command.split())
    if " ".join(text.split()) == wanted:
        return True
    if any(sign in text.replace("&&", "  ") for sign in _OTHER):
        return False
    return any(_begins(" ".join(part.split()), wanted) for part in text.split("&&"))


def mentions(text: str, command: str) -> bool:
    """Whether a command line may run this command anywhere in it; what is doubtful counts as yes."""
    return f" {' '.join(command.split())} " in f" {' '.join(_spaced(text).split())} "


def _begins(part: str, wanted: str) -> bool:
    return part == wanted or part.startswith(wanted + " ")


def _spaced(text: str) -> str:
    for sign in ("|", ";", "&", "(", ")", "`", "$", "{", "}", "'", '"', "\n"):
        text = text.replace(sign, " ")
    return text
