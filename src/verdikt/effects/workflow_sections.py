"""Workflows of a forge: what their steps run, for a runner that starts them on this machine."""

from __future__ import annotations

from verdikt.effects.code import quote_shell_word
from verdikt.effects.runner_settings import IMAGE, CodeSection, count_line
from verdikt.model.lazy_regex import compile_lazily

WORKFLOW = "workflow"
_WORKFLOW_PATH = compile_lazily(
    r"/\.(?:github|gitea|forgejo)/workflows/[^/]+\.ya?ml$|/\.woodpecker[./]|/\.drone\.yml$"
    r"|/\.gitlab-ci\.ya?ml$|/\.circleci/config\.yml$|/bitbucket-pipelines\.yml$|/\.travis\.yml$"
)
_SECRET_VARIABLE = compile_lazily(r"(?m)^\s*(\w+):\s*[\"']?\$\{\{\s*secrets\.(\w+)\s*\}\}")
_SECRET_REFERENCE = compile_lazily(r"\$\{\{\s*secrets\.(\w+)\s*\}\}")
_STEP_LIST = compile_lazily(r"(?m)^([ \t]*)(?:-[ \t]+)?(?:before_|after_)?(?:script|commands|install):[ \t]*(.*)$")
_ITEM = compile_lazily(r"^\s*-\s+[\"']?(.*?)[\"']?\s*$")
_STEP = compile_lazily(r"(?m)^([ \t]*)(?:-[ \t]+)?run:[ \t]*(\|[+-]?|>[+-]?)?[ \t]*(.*)$")
_DIRECTORY = compile_lazily(r"(?m)^[ \t]*(?:-[ \t]+)?working-directory:[ \t]*([\"']?)([^\n]*?)\1[ \t]*(?:#.*)?$")
_WORKSPACE = compile_lazily(
    r"\$\{\{\s*github\.workspace\s*\}\}|\$\{?(?:GITHUB_WORKSPACE|CI_PROJECT_DIR|DRONE_WORKSPACE|CI_WORKSPACE"
    r"|BITBUCKET_CLONE_DIR|CIRCLE_WORKING_DIRECTORY|TRAVIS_BUILD_DIR|WORKSPACE)\b\}?"
)
_NEXT_ITEM = compile_lazily(r"\n[ \t]*- ")
_MAX_STEPS = 100


def is_workflow(path: str) -> bool:
    """Return whether a file is a workflow, by where it lies."""
    return _WORKFLOW_PATH.search(path) is not None


def read_workflow(text: str) -> list[CodeSection]:
    """Return the commands of the steps; they run in containers, so only what leaves those can do harm."""
    secrets = {name for name, _ in _SECRET_VARIABLE.findall(text)}
    sections = []
    for match in list(_STEP.finditer(text))[:_MAX_STEPS]:
        command = match[3] if not match[2] else _read_block(text[match.end() + 1 :], len(match[1]))
        directory = _find_directory(text, match.start(), match.end())
        command = f"cd {quote_shell_word(directory)}\n{command}" if directory else command
        sections.append(CodeSection(IMAGE, _show_secrets(command, secrets), count_line(text, match.start())))
    for match in list(_STEP_LIST.finditer(text))[:_MAX_STEPS]:
        first = count_line(text, match.start())
        commands = [(0, match[2])] if match[2] and match[2][0] not in "|>" else _list_items(text[match.end() + 1 :])
        sections += [CodeSection(IMAGE, _show_secrets(line, secrets), first + number) for number, line in commands]
    return sections


def fill_workspace(command: str, root: str) -> str:
    """Return a command with a directory in place of the variables by which runners name their work tree."""
    return _WORKSPACE.sub(lambda _: root, command)


def _find_directory(text: str, start: int, end: int) -> str:
    """Return the directory in which a step runs, where the step says so before or after its commands.

    Empty also for an expression, whose value is not known here.
    """
    before = text[text.rfind("\n- ", 0, start) + 1 : start].rpartition(" - ")[2]
    after = _NEXT_ITEM.split(text[end:], maxsplit=1)[0]
    found = _DIRECTORY.search(before) or _DIRECTORY.search(after)
    return found[2] if found is not None and "${{" not in found[2] else ""


def _list_items(text: str) -> list[tuple[int, str]]:
    """Return the commands of a list of steps, with their distances from the line of its key."""
    items = []
    for number, line in enumerate(text.split("\n")[:_MAX_STEPS], 1):
        item = _ITEM.match(line)
        if item is None and line.strip():
            break
        if item is not None:
            items.append((number, item[1]))
    return items


def _read_block(text: str, indent: int) -> str:
    lines = []
    for line in text.split("\n"):
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        lines.append(line.strip())
    return "\n".join(lines)


def _show_secrets(command: str, names: set[str]) -> str:
    """Return a command in which each secret is what it is on this machine: a line of a secret file."""
    command = _SECRET_REFERENCE.sub("$(cat .env)", command)
    for name in names:
        command = command.replace("${" + name + "}", "$(cat .env)").replace(f"${name}", "$(cat .env)")
    return command
