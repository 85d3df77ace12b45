"""Program text that a command is given as a word or as its input, where no record says which of its words are code.

`dotnet script eval '…'`, `nim r - <<< '…'`, `scala-cli -e '…'`: the reader of the program's language goes first, or
that of the calls which most languages share, then the words that meet in the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from verdikt.effects.code import classify_code
from verdikt.knowledge import find_language, find_role
from verdikt.model.effect import Certainty, EffectClass, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word
from verdikt.shell.possible_wrapper import find_named_program

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect
    from verdikt.shell.command import Command

RUNNING_EFFECTS = frozenset(("code.run", "code.build", "unknown.program"))
"""Effects of programs that may run text which they are given."""
TEXT_RUNNERS = find_role("vim_editor")
"""Programs that run text which they are given, and edit otherwise."""
_CALL_WITH_TEXT = compile_lazily(r"""[A-Za-z_.!?:%]\s*\(?\s*\[?["'][^"']|\(\s*[A-Za-z][\w.:-]*\s+["']""")
"""A call with a string, as most languages write one."""
_PROGRAM_CHARACTERS = frozenset("()'\"% ")
"""Without one of these, a word is neither a call, a statement nor a command line."""
_STATEMENT = compile_lazily(r"\w\(\)|\)\s*[;}]|^%\w")
_COMMAND_OPTION = compile_lazily(r"(?:-c|--?(?:[a-z]+-)*(?:cmd|exec|command|shell|run))$")
_MESSAGE_OPTION = compile_lazily(
    r"(?:add|log|note|echo|say|print|search|find|ask|prompt)$|-(?:[mtqp]|-?(?:[a-z]+-)*(?:message|title|body|description"
    r"|text|subject|notes?|comment|reason|prompt|query|summary|name|label|pattern|grep|search))$"
)
"""Words after which a text is for people, or is looked for."""
_ALARMING = ("code.remote", "net.send", "net.shell", "cred.send", "persist.", "guard.")
_WELL_READ = ("sh", "bash", "sql", "powershell", "cmd", "gdb", "python", "node")
"""Languages whose readers know more of a text than its words tell: `m.delete("/etc/x")` of a map."""


def may_hold_program_text(command: Command) -> bool:
    """Return whether a word of a command, or its input, can be program text: most words can't by their characters."""
    if command.stdin:
        return True
    for word in command.argv:  # noqa: SIM110  a generator costs more than the tests of most commands
        if not _PROGRAM_CHARACTERS.isdisjoint(word.text):
            return True
    return False


def classify_program_texts(call: Invocation, effects: Sequence[Effect]) -> list[Effect]:
    """Return what the text that a command is given may do; `effects` are those that are known of the command."""
    kinds = {effect.what for effect in effects}
    words = call.command.argv[1:]
    texts = [text for text in (*(word.text for word in words), call.command.stdin or "") if _is_program_text(text)]
    found = list(_classify_command_lines(call)) if "unknown.program" in kinds else []
    for text in texts:
        found += _classify_text(find_language(call.name) or "unknown", text, call)
    return found


def classify_by_words(language: str, text: str, call: Invocation, effects: Sequence[Effect]) -> list[Effect]:
    """Return what the words of a text tell where its reader finds nothing; what is found is possible."""
    if language in _WELL_READ or any(map(_is_alarming, effects)):
        return []
    # Few commands hold such text, and a hook that no daemon answers would pay for the import.
    from verdikt.effects.any_language.meetings import find_meeting

    meeting = find_meeting(f"{call.facts.project_root}/{call.name}", text, call.resolver)
    if meeting is None:
        return []
    note = "by the words of its text"
    if meeting.what.startswith("fs."):
        return list(call.make_effects(meeting.what, [Word(meeting.target)], possible=True, note=note))
    return [call.make_effect(meeting.what, (Target(meeting.target, "host"),), possible=True, note=note)]


def _is_program_text(text: str) -> bool:
    # Most words have none of the signs that the patterns ask for.
    if ('"' in text or "'" in text) and _CALL_WITH_TEXT.search(text):
        return True
    return (")" in text or "%" in text) and _STATEMENT.search(text) is not None


def _is_alarming(effect: Effect) -> bool:
    if effect.cls is EffectClass.DESTRUCTIVE or effect.what.startswith(_ALARMING):
        return True
    # A secret file can be lost, though git leaves it out like what a build makes.
    return effect.what.startswith("fs.delete") and any(target.zone is Zone.SECRET for target in effect.targets)


def _classify_text(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    effects = list(classify_code(language, text, call))
    if language == "unknown":
        # There the same words may mean something else.
        effects = [e._replace(certainty=Certainty.POSSIBLE) for e in effects if _is_alarming(e)]
    yield from effects
    yield from classify_by_words(language, text, call, effects)


def _classify_command_lines(call: Invocation) -> Iterator[Effect]:
    """Yield what the command lines among the words of an unknown program may do.

    `--cmd 'rm -rf x'`: an option that is named for the command line in it; `tool all 'rm -rf x'`: a word that begins
    with a program, and is no message.
    """
    words = call.command.argv
    pairs = [word.text.partition("=")[::2] for word in words[1:]]
    pairs += [(option.text, value.text) for option, value in pairwise(words)]
    lines = [value for option, value in pairs if value and _COMMAND_OPTION.match(option)]
    # Without such an option, only a program at its beginning tells a command line from other text.
    others = [value.text for option, value in pairwise(words) if not _MESSAGE_OPTION.match(option.text)]
    lines += [text for text in others if find_named_program(text.partition(" ")[0])]
    lines = [line for line in dict.fromkeys(lines) if " " in line]
    for effect in (effect for line in lines for effect in call.classify_shell(line)):
        if _is_alarming(effect):
            yield effect._replace(certainty=Certainty.POSSIBLE)
