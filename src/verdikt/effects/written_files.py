"""The files that the commands of one text write, for when a later command of the text runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from posixpath import join
from typing import TYPE_CHECKING

from verdikt.effects.command_input import find_static_output
from verdikt.effects.deferred_files import classify_file_content
from verdikt.knowledge import find_role, find_role_words
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.effects.target import TargetResolver
    from verdikt.model.effect import Effect

_FILE_DOWNLOADERS = frozenset((*find_role_words("download_file"), *find_role_words("download_name"))) | find_role(
    "downloader"
)
"""Programs that save what they download to a file, or print it, so that a redirection saves it."""
_FILE_DECODERS = find_role("file_decoder")
"""Programs that turn an unreadable file into one that can be run."""
_DOWNLOAD_OPTIONS = " ".join(sorted(set().union(*find_role_words("download_file").values())))
"""Those of all: what is a log to one of them (`wget -o x`) holds words of another machine as well."""
_NAMING_OPTIONS = {name: " ".join(options) for name, options in find_role_words("download_name").items()}
"""Options that save a download under the name in its address, and `*` where none is needed."""
_DIRECTORY_OPTIONS = {name: " ".join(options) for name, options in find_role_words("download_directory").items()}
"""Options that name the directory of a download, for those of its files that have no directory of their own."""
_OUTPUT_SPLITTERS = find_role("output_splitter")
_INPUT_COPIERS = find_role("input_copier")
"""Programs that can put their standard input into a file: `cp /dev/stdin x`, `dd of=x`."""
_INPUT_FILES = frozenset(("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))
_REMOTE_COPIERS = find_role("remote_copier")
"""Programs that copy files from another machine: `scp host:x.sh .`."""
FILE_SOURCES = _FILE_DOWNLOADERS | _FILE_DECODERS | _REMOTE_COPIERS | _INPUT_COPIERS | find_role("file_source")
"""Programs that may put into a file what is run later."""
_OUTPUT_NAMERS = _FILE_DOWNLOADERS | _FILE_DECODERS | _REMOTE_COPIERS | _OUTPUT_SPLITTERS | _INPUT_COPIERS
"""Programs that write files which their words name; all others write to redirections only."""
_OUTPUT_OPERATORS = (">", ">|", ">>", "&>", "&>>")
_QUOTING = str.maketrans("", "", "\"'{}")
_REMOTE_FILE = compile_lazily(r"^(?:[a-z]+://|[\w.@-]+:)")


@dataclass(slots=True)
class WrittenFiles:
    """What is in the files that were written so far, as far as the text shows it, or where it came from."""

    resolver: TargetResolver
    texts: dict[str, str] = field(default_factory=dict)
    """Path → content."""
    downloaded: set[str] = field(default_factory=set)
    downloaded_names: set[str] = field(default_factory=set)
    """Downloads into a file that only a variable names, by its spelling: `curl -o "$T"`."""
    downloaded_trees: set[str] = field(default_factory=set)
    """Directories that a whole tree of another machine was copied to, each with a slash at the end."""
    decoded: set[str] = field(default_factory=set)

    def load_text(self, path: str) -> str | None:
        """Return the text of a file that is run: what this action wrote there, else what is on the disk."""
        if path in self.texts:
            return self.texts[path]
        return self.resolver.facts.text(path)

    def remember_outputs(self, call: Invocation) -> list[Effect]:
        """Record what the command puts into files, for when they are run later in the same text.

        Returns the effects of texts that are carried out later or elsewhere.
        """
        if not call.command.redirects and call.name not in _OUTPUT_NAMERS:
            return []
        outputs = [redirect.target for redirect in call.command.redirects if redirect.op in _OUTPUT_OPERATORS]
        outputs += _find_downloads(call) if call.name in _FILE_DOWNLOADERS else []
        outputs += call.args.operands if call.name in _OUTPUT_SPLITTERS else []
        outputs += _find_input_copies(call) if call.name in _INPUT_COPIERS else []
        outputs += _find_copied_files(call) if call.name in _REMOTE_COPIERS else []
        if call.name in _FILE_DOWNLOADERS | _REMOTE_COPIERS or _reads_download(call):
            self.downloaded.update(filter(None, self._to_paths(outputs, call)))
            self.downloaded_names.update(spell_unknown(word) for word in outputs if not word.is_known)
            self.downloaded_trees.update(self._list_trees(call) if call.name in _REMOTE_COPIERS else ())
            return []
        if call.name in _FILE_DECODERS:
            outputs += call.args.get_values("-o -out --output -r")
            if call.args.has_flag("-d -D --decode -r --decrypt"):
                self.decoded.update(filter(None, self._to_paths(outputs, call)))
        if outputs and (text := find_static_output(call.command)) is not None:
            paths = self._to_paths(outputs, call)
            self.texts.update(dict.fromkeys(paths, text))
            return [effect for path in paths for effect in classify_file_content(call, path, text)]
        return []

    def is_downloaded(self, path: str) -> bool:
        """Return whether a file was downloaded, or lies in a tree that was."""
        return path in self.downloaded or any(map(path.startswith, self.downloaded_trees))

    def _list_trees(self, call: Invocation) -> list[str]:
        """Return the directories that a copier fills with trees; what else lies in the project is not from there."""
        if not call.args.has_flag("-r -R -a --recursive --archive"):
            return []
        places = [f"{path.rstrip('/')}/" for path in self._to_paths(_find_copied_files(call), call) if path]
        return [place for place in places if not f"{self.resolver.project_root}/".startswith(place)]

    def _to_paths(self, words: Sequence[Word], call: Invocation) -> list[str]:
        return [self.resolver.to_absolute(word.text, call.command.cwd) for word in words if word.is_known]


def spell_unknown(word: Word) -> str:
    """Return the spelling of a word of which a part is unknown, the same for each way to quote it."""
    return word.raw.translate(_QUOTING)


def _reads_download(call: Invocation) -> bool:
    """Return whether the output of a downloader is piped into the command."""
    return call.command.pipe_from is not None and any(c.name in _FILE_DOWNLOADERS for c in call.iter_upstream())


def _find_downloads(call: Invocation) -> list[Word]:
    """Return the files that a download is saved to: as an option says, or by the name in the address."""
    files = call.args.get_values(_DOWNLOAD_OPTIONS)
    naming_options = _NAMING_OPTIONS.get(call.name, "")
    if naming_options == "*" or call.args.has_flag(naming_options):
        files += [Word(w.text.split("?")[0].rsplit("/", 1)[-1]) for w in call.args.operands if "/" in w.text]
    directory = call.args.get_value(_DIRECTORY_OPTIONS.get(call.name, ""))
    # Both places count: whether the option of the file obeys that of the directory differs between programs.
    placed_files = [Word(join(directory.text, file.text)) for file in files] if directory is not None else []
    return [*files, *placed_files]


def _find_input_copies(call: Invocation) -> list[Word]:
    """Return the files that get what is piped into a copier: `of=x`, or the last operand after `/dev/stdin`."""
    if call.command.pipe_from is None:
        return []
    texts = [word.text for word in call.args.operands]
    copies = [Word(text.removeprefix("of=")) for text in texts if text.startswith("of=")]
    return copies + (call.args.operands[-1:] if _INPUT_FILES.intersection(texts[:-1]) else [])


def _find_copied_files(call: Invocation) -> list[Word]:
    """Return where the files of another machine end up: the last operand, or their names below it."""
    *sources, destination = call.args.operands or [Word("")]
    remote_files = [word.text for word in sources if _REMOTE_FILE.match(word.text)]
    if not remote_files or _REMOTE_FILE.match(destination.text):
        return []
    directory = destination.text.rstrip("/") or "/"
    return [destination, *(Word(f"{directory}/{text.rsplit('/', 1)[-1].rsplit(':', 1)[-1]}") for text in remote_files)]
