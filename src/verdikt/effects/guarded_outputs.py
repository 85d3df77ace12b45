"""Find output files among a command's words that are guarded, whatever the program's table says of them.

Tables list what programs are mostly used for. An output option is spelled alike in nearly all programs, so a guarded
path after one is a write to it also where the table does not have the option.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from posixpath import basename, join
from typing import TYPE_CHECKING

from verdikt.effects.arguments import word_set
from verdikt.model.effect import Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect, Target

_OUTPUT_OPTION = compile_lazily(r"--?(?:out|output|outfile|out[-_]file|output[-_]file|outdir|out[-_]dir|output[-_]dir)")
_SHORT_OPTION = "-o"
_SHORT_OPTION_EFFECTS = ("code.build", "unknown.program")
"""Effects of programs for which `-o` names the output; elsewhere it may be a flag, as of `grep` and `ls`."""
_DIRECTORY_OPTION = "--output-dir"
_COMPRESSED_SUFFIXES = (".gz", ".xz", ".bz2", ".zst", ".lz4", ".lzma", ".Z", ".tgz")
_DECOMPRESSORS = word_set("gunzip gzip bunzip2 bzip2 unxz xz unzstd zstd lz4 lzma unlzma uncompress")
_IN_PLACE_INTERPRETERS = word_set("ruby jruby")
OUTPUT_PROGRAMS = _DECOMPRESSORS | _IN_PLACE_INTERPRETERS | {"curl"}
"""Programs whose outputs are found by other words than an option."""
_IN_PLACE = compile_lazily(r"-(?:[a-hj-z]*)i(?:\.\w+)?[a-z]*")


def find_guarded_outputs(call: Invocation, effects: Sequence[Effect]) -> list[Effect]:
    """Return the effect of writing guarded files that no other effect names."""
    words = call.command.argv[1:]
    if not words:
        return []
    has_short = call.name in _DECOMPRESSORS or any(effect.what in _SHORT_OPTION_EFFECTS for effect in effects)
    candidates = [*_list_named_outputs(words, has_short=has_short)]
    if call.name in _DECOMPRESSORS:
        candidates += _list_decompressed(words)
    elif call.name in _IN_PLACE_INTERPRETERS and any(_IN_PLACE.fullmatch(word.text) for word in words):
        candidates += [word for word in words if not word.text.startswith("-")]
    elif call.name == "curl":
        candidates += _list_downloads(words)
    if not candidates:
        return []
    covered = {t.path for effect in effects if effect.what.startswith("guard.") for t in effect.targets}
    targets = [call.resolve_path(word) for word in candidates if word.is_known]
    guarded: tuple[Target, ...] = tuple(t for t in targets if t.zone is Zone.GUARD and t.path not in covered)
    return [call.make_effect("guard.tamper", guarded)] if guarded else []


def _list_named_outputs(words: Sequence[Word], *, has_short: bool) -> Iterator[Word]:
    for index, word in enumerate(words):
        if not word.text.startswith("-"):
            continue
        flag, equals, value = word.text.partition("=")
        if _OUTPUT_OPTION.fullmatch(flag) or (has_short and flag == _SHORT_OPTION):
            if equals:
                yield Word(value, value)
            elif index + 1 < len(words):
                yield words[index + 1]


def _list_decompressed(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the files that stand in the place of compressed ones afterwards."""
    for word in words:
        for suffix in _COMPRESSED_SUFFIXES:
            if word.is_known and word.text.endswith(suffix):
                name = word.text.removesuffix(suffix)
                yield Word(name, name)


def _list_downloads(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the files that `curl --output-dir d -O url` writes."""
    texts = [word.text for word in words]
    if _DIRECTORY_OPTION not in texts[:-1]:
        return
    directory = texts[texts.index(_DIRECTORY_OPTION) + 1]
    for text in texts:
        if "://" in text:
            place = join(directory, basename(text.partition("?")[0]))
            yield Word(place, place)
