"""Shell commands inside the text of a host's commands and skills, which the host runs when it expands the text.

No hook fires for them, so they are judged where the text is written, and where it is about to be expanded.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from verdikt.effects.target import is_agent_extension
from verdikt.hosts.registry import HOSTS
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

MAX_COMMANDS = 50
"""Commands of one text that are read; a text with more is a program, and counts as unknown."""
MAX_TEXT_LENGTH = 64_000

# !`command`, a block that begins with ```!, and Gemini CLI's !{command}.
_EMBEDDED = compile_lazily(r"!`([^`\n]+)`|(?ms:^```!\s*\n(.*?)^```)|!\{([^{}\n]+)\}")
_SKILL_NAME = compile_lazily(r"[\w.:/-]+")


def find_embedded_commands(text: str) -> list[str]:
    """Return the shell commands in the text of a command or skill."""
    matches = islice(_EMBEDDED.finditer(text[:MAX_TEXT_LENGTH]), MAX_COMMANDS + 1)
    return [next(filter(None, match.groups())).strip() for match in matches]


def classify_embedded_commands(call: Invocation, text: str) -> Iterator[Effect]:
    """Yield the effects of the commands in the text of a command or skill."""
    if "!" not in text:
        return
    commands = find_embedded_commands(text)
    for command in commands[:MAX_COMMANDS]:
        yield from call.classify_shell(command)
    if len(commands) > MAX_COMMANDS or len(text) > MAX_TEXT_LENGTH:
        yield call.make_effect("code.unknown", possible=True, note="more commands than can be looked at")


def is_command_text(call: Invocation, path: str) -> bool:
    """Return whether a host expands the text of a file."""
    absolute = call.resolver.to_absolute(path)
    return absolute.endswith((".md", ".toml", ".markdown")) and is_agent_extension(absolute, call.facts.home)


def classify_skill(call: Invocation, host: str, name: str) -> Iterator[Effect]:
    """Yield the effects of the commands in a skill or slash command that is about to be expanded."""
    name = name.strip().lstrip("/").partition(" ")[0]
    if not _SKILL_NAME.fullmatch(name) or ".." in name:
        return
    for path in _list_definition_files(call, host, name):
        if (text := call.facts.text(path)) is not None:
            yield from classify_embedded_commands(call, text)


def _list_definition_files(call: Invocation, host: str, name: str) -> Iterator[str]:
    """Yield where a host may have the text of a skill or command of this name."""
    # A plugin or a directory is written before the name: `frontend:button`.
    below = name.replace(":", "/")
    for file in HOSTS.get(host, HOSTS["claude"]).extension_files:
        if not file.endswith("/"):
            continue
        directory = (
            call.resolver.to_absolute(file) if file.startswith("~") else f"{call.facts.project_root}/{file[:-1]}"
        )
        if file.endswith(("skills/", "skill/")):
            yield f"{directory}/{below}/SKILL.md"
        elif file.endswith(("commands/", "command/", "prompts/")):
            yield f"{directory}/{below}.md"
            yield f"{directory}/{below}.toml"
