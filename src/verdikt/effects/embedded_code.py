"""Classify code in other languages that stands in shell text: an operand of an interpreter, a here-document, a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from verdikt.effects.armed_loads import find_inline_imports
from verdikt.effects.command_input import find_program_word
from verdikt.effects.program_text import classify_by_words
from verdikt.effects.run_files import IMPORTS_VERDIKT
from verdikt.effects.unknown_program import make_too_deep_effect
from verdikt.knowledge import find_role
from verdikt.model.effect import Certainty, Effect, EffectClass
from verdikt.shell.command import UNKNOWN

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.effects.run_files import CodeClassifier
    from verdikt.effects.written_files import WrittenFiles
    from verdikt.shell.command import Code

_AWK_PROGRAMS = find_role("awk_filter")


def classify_embedded_code(
    code: Code, call: Invocation, files: WrittenFiles, classify_code: CodeClassifier, *, is_deepest: bool
) -> list[Effect]:
    """Return the effects of code that the command of `call` runs; code as deep as is followed is left unread."""
    owner = call.command
    program = find_program_word(owner)
    if not code.is_known and not code.text.replace(UNKNOWN, "").strip():
        # A file that this text did not write is no more unknown than any program on the machine.
        # A shell's own text is looked at where the shell is called.
        is_unseen = program is None and not call.has_piped_input() and code.language != "sh"
        if is_unseen or (code.language == "sh" and owner.name in _AWK_PROGRAMS):
            note = f"{code.language} code that the text does not show"
            return [call.make_effect("code.unknown", possible=True, note=note)]
        return []
    if is_deepest:
        return [make_too_deep_effect()]
    is_file = program is not None and program.text != code.text
    path = call.resolver.to_absolute(program.text, owner.cwd) if program and is_file else ""
    effects = classify_code(code.language, code.text, call, path)
    effects += classify_by_words(code.language, code.text, call, effects)
    effects += find_inline_imports(code.language, code.text, load_text=files.load_text, call=call)
    if code.language == "python" and IMPORTS_VERDIKT.search(code.text):
        effects.append(call.make_effect("guard.forge"))
    return effects


def drop_read_encoding(code: Code, code_effects: Sequence[Effect], owner_effects: list[Effect]) -> None:
    """Make the `code.hidden` of `pwsh -enc` a possible `code.unknown` where the decoded text only reads."""
    if code.language != "powershell" or not code.is_known or not code_effects:
        return
    if all(effect.cls is EffectClass.READ for effect in code_effects):
        owner_effects[:] = [
            effect._replace(what="code.unknown", certainty=Certainty.POSSIBLE)
            if effect.what == "code.hidden" and effect.note == "an encoded command"
            else effect
            for effect in owner_effects
        ]
