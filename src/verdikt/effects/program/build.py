"""Compilers, test runners, formatters, linters: what a developer runs all day."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect


def classify_cmake(call: Invocation) -> Iterator[Effect]:
    """Classify a build; with `-E` it stands in for the shell."""
    words = call.command.argv[1:]
    if not words or words[0].text != "-E" or len(words) < 3:
        yield call.make_effect("code.build")
        return
    verb, rest = words[1].text, [word for word in words[2:] if word.text[:1] != "-"]
    if verb in ("rm", "remove", "remove_directory"):
        yield from call.make_effects("fs.delete.tree", rest)
    elif verb in ("rename", "copy", "copy_directory", "copy_if_different", "create_symlink"):
        yield from call.make_effects("fs.overwrite", rest[-1:])
    else:
        yield call.make_effect("code.build")
