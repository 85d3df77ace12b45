"""Find output files among a command's words that are guarded, whatever the program's table says of them.

Tables list what programs are mostly used for. An output option is spelled alike in nearly all programs, so a guarded
path after one is a write to it also where the table does not have the option.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from posixpath import basename, join
from typing import TYPE_CHECKING

from verdikt.effects.arguments import NO_OPTIONS, Arguments
from verdikt.knowledge import find_role, find_role_words
from verdikt.model.effect import Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.model.path_set import PathSet, PathSetKind
from verdikt.shell.command import UNKNOWN, Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_OUTPUT_OPTION = compile_lazily(r"--?(?:out|output|outfile|out[-_]file|output[-_]file|outdir|out[-_]dir|output[-_]dir)")
_SHORT_OPTION = "-o"
_SHORT_OPTION_EFFECTS = ("code.build", "code.run", "unknown.program")
"""Effects of programs for which `-o` names the output; elsewhere it may be a flag, as of `grep` and `ls`."""
_DOWNLOAD_DIRECTORIES = find_role_words("download_directory")
"""Options that name the directory of a downloaded file, whose name comes from the address or another option."""
_NAME_OPTIONS = ("-o", "--out", "--output")
_COMPRESSED_SUFFIXES = (".gz", ".xz", ".bz2", ".zst", ".lz4", ".lzma", ".Z", ".tgz")
_DECOMPRESSORS = find_role("decompressor")
_IN_PLACE_INTERPRETERS = find_role("in_place_interpreter")
_MODULE_RUNNERS = find_role("module_runner")
_MODULE_OPERANDS = {"json.tool": 1, "uu": 1}
"""Modules of Python, and which of their operands is an output file."""
_MODULE_OPTIONS = {
    "zipfile": ("-c", "--create"),
    "tarfile": ("-c", "--create"),
    "trace": ("-f", "--file", "-C", "--coverdir"),
    "cProfile": (_SHORT_OPTION,),
    "profile": (_SHORT_OPTION,),
}
"""Modules of Python, and the options after which they take an output file."""
OUTPUT_PROGRAMS = _DECOMPRESSORS | _IN_PLACE_INTERPRETERS | _MODULE_RUNNERS | frozenset(_DOWNLOAD_DIRECTORIES)
"""Programs whose outputs are found by other words than an option."""
_IN_PLACE = compile_lazily(r"-(?:[a-hj-z]*)i(?:\.\w+)?[a-z]*")


def find_guarded_outputs(call: Invocation, effects: Sequence[Effect]) -> list[Effect]:
    """Return the effect of writing guarded files that no other effect names."""
    words = call.command.argv[1:]
    if not words:
        return []
    candidates = _list_named_outputs(words, call.name, effects) if "-" in call.full_text else []
    if call.name in OUTPUT_PROGRAMS:
        candidates += _list_own_outputs(call.name, words)
    if not candidates and call.name not in _DECOMPRESSORS:
        return []
    targets = [call.resolve_path(word) for word in candidates if UNKNOWN not in word.text]
    targets += _list_compressed_below(call, words) if call.name in _DECOMPRESSORS else []
    guarded = [target for target in targets if target.zone is Zone.GUARD]
    if not guarded:
        return []
    covered = {t.path for effect in effects if effect.what.startswith("guard.") for t in effect.targets}
    uncovered = tuple(target for target in guarded if target.path not in covered)
    return [call.make_effect("guard.tamper", uncovered)] if uncovered else []


def _list_named_outputs(words: Sequence[Word], name: str, effects: Sequence[Effect]) -> list[Word]:
    """Return the files after options that nearly every program has for its output."""
    outputs: list[Word] = []
    for index, word in enumerate(words):
        if word.text[:1] != "-":
            continue
        flag, equals, value = word.text.partition("=")
        if flag == _SHORT_OPTION:
            has_option = name in _DECOMPRESSORS or any(effect.what in _SHORT_OPTION_EFFECTS for effect in effects)
        else:
            has_option = "out" in flag and _OUTPUT_OPTION.fullmatch(flag) is not None
        if has_option and equals:
            outputs.append(Word(value, value))
        elif has_option:
            outputs += words[index + 1 : index + 2]
    return outputs


def _list_own_outputs(name: str, words: Sequence[Word]) -> Iterator[Word]:
    """Yield the files that a program writes without an option for its output."""
    if name in _DECOMPRESSORS:
        yield from _list_decompressed(words)
    elif name in _IN_PLACE_INTERPRETERS and any(_IN_PLACE.fullmatch(word.text) for word in words):
        yield from (word for word in words if not word.text.startswith("-"))
    elif name in _MODULE_RUNNERS:
        yield from _list_module_outputs(words)
    elif name in _DOWNLOAD_DIRECTORIES:
        yield from _list_downloads(words, _DOWNLOAD_DIRECTORIES[name])


def _list_decompressed(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the files that stand in the place of compressed ones afterwards."""
    for word in words:
        for suffix in _COMPRESSED_SUFFIXES:
            if word.is_known and word.text.endswith(suffix):
                name = word.text.removesuffix(suffix)
                yield Word(name, name)


def _list_compressed_below(call: Invocation, words: Sequence[Word]) -> Iterator[Target]:
    """Yield the guarded files in directories that are compressed with all that is in them, and removed."""
    args = Arguments(words, NO_OPTIONS.with_values("-S --suffix -T --threads -o -b"))
    if not args.has_flag("-r --recursive") or args.has_flag("-c --stdout --to-stdout -t --test -l --list"):
        return
    for word in args.operands:
        path = call.resolver.to_absolute(word.text, call.command.cwd) if word.is_known else ""
        for place in call.facts.find_guarded(PathSet(PathSetKind.TREE, path)) if path else ():
            if call.facts.path(place, git=False).exists:
                yield Target(word.text, "path", place, Zone.GUARD)


def _list_module_outputs(words: Sequence[Word]) -> Iterator[Word]:
    """Yield the output files of `python -m json.tool in out` and of other modules."""
    texts = [word.text for word in words]
    if "-m" not in texts[:-1]:
        return
    start = texts.index("-m") + 1
    module, arguments = texts[start], words[start + 1 :]
    if module in _DECOMPRESSORS:
        yield from _list_decompressed(arguments)
    if module in _MODULE_OPERANDS:
        operands = [word for word in arguments if not word.text.startswith("-")]
        yield from operands[_MODULE_OPERANDS[module] :][:1]
    options = _MODULE_OPTIONS.get(module, ())
    for option, value in pairwise(arguments):
        if option.text in options:
            yield value


def _list_downloads(words: Sequence[Word], options: frozenset[str]) -> Iterator[Word]:
    """Yield the files that `curl --output-dir d -O url`, `wget -P d url` and the like write."""
    texts = [word.text for word in words]
    values = {}
    for index, text in enumerate(texts):
        flag, equals, value = text.partition("=")
        values[flag] = value if equals else "".join(texts[index + 1 : index + 2])
    directory = next((values[option] for option in sorted(options) if option in values), None)
    if directory is None:
        return
    names = [basename(text.partition("?")[0]) for text in texts if "://" in text]
    names += [values[option] for option in _NAME_OPTIONS if option in values]
    for name in names:
        place = join(directory, name)
        yield Word(place, place)
