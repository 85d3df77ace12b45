"""What one call of a Python program does: starts a command, opens a file, asks a host."""

import ast
from collections.abc import Iterable, Iterator, Sequence

from verdikt.effects import host
from verdikt.effects.code import quote_shell_word
from verdikt.effects.code.python_downloads import DownloadedNames
from verdikt.effects.code.python_environment import EnvironmentReads, mentions_name
from verdikt.effects.code.python_libraries import find_keyword, find_request_effect
from verdikt.effects.code.python_sequences import list_elements
from verdikt.effects.invocation import Invocation
from verdikt.knowledge import find_language, find_role
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

# A shell without a program of its own, such as `sh` or `bash -s`, runs its input.
_SHELL_READING_INPUT = compile_lazily(r"\s*'?(?:/bin/|/usr/bin/)?(?:ba|z|da|k)?sh'?(?:\s+'?-[se]*'?)*\s*$")
_INPUT_OPTIONS = ("-", "-s", "-e", "-x")
# A folded `~` stands for the home directory, and a `*` for the files of a listing.
_UNQUOTED = "~*"


class CallEffects(EnvironmentReads):
    """Classifies single calls, and remembers what is written, started and downloaded on the way."""

    def __init__(self, call: Invocation) -> None:
        super().__init__()
        self.call = call
        self.tainted_names: frozenset[str] = frozenset()
        """Names that hold the whole environment."""
        self.written_paths: set[str] = set()
        self.started_programs: set[str] = set()
        self.downloads = False
        self.downloaded_names = DownloadedNames((), (), self.resolve_name)

    def _classify_run_file(self, arguments: Sequence[ast.expr]) -> Iterable[Effect]:
        """Classify a file that is run as Python, as the command that does the same."""
        text = self.evaluate_text(arguments[0]) if arguments else UNKNOWN
        self.started_programs.add(text)
        return () if UNKNOWN in text or not text else self._classify_argv(["python3", text])

    def _classify_shell_call(self, argument: ast.expr | None) -> Iterator[Effect]:
        text = self.evaluate_text(argument)
        self.started_programs.update(text.split())
        if text.replace(UNKNOWN, "").strip():
            yield from self.call.classify_shell(text.replace(UNKNOWN, "$x"))
        elif self.downloaded_names.hold(argument):
            yield self.call.make_effect("code.remote", note="runs what it downloads")
        else:
            yield self.call.make_effect(
                "code.unknown", possible=True, note="a shell command that the text does not show"
            )

    def _classify_spawn(self, node: ast.Call, argument: ast.expr | None, function: str) -> Iterator[Effect]:
        piped_input = next((self.evaluate_text(k.value) for k in node.keywords if k.arg == "input"), UNKNOWN)
        given = find_keyword(node, ("input",))
        if self.downloaded_names.hold(given) and _runs_input(self.evaluate_text(argument)):
            yield self.call.make_effect("code.remote", note="runs what it downloads")
        if UNKNOWN not in piped_input and _SHELL_READING_INPUT.match(self.evaluate_text(argument)):
            yield from self.call.classify_shell(piped_input)
        if function.startswith(("os.exec", "os.spawn", "os.posix_spawn")):
            self.started_programs.update(self.evaluate_text(argument) for argument in node.args[:2])
            # The mode of `os.spawn*` and the path of `os.exec*` stand before the words of the command.
            words = node.args[2:] if function.startswith("os.spawn") else node.args[1:]
            if words and isinstance(words[0], ast.List | ast.Tuple):
                yield from self._classify_shell_call(words[0])
            else:
                known_words = [word for word in words if not isinstance(word, ast.Starred)]
                yield from self._classify_argv([self.evaluate_text(word) for word in known_words])
            return
        if isinstance(argument, ast.List | ast.Tuple):
            items = [
                item
                for each in argument.elts
                for item in (
                    (list_elements(each.value, self.elements) or [each]) if isinstance(each, ast.Starred) else [each]
                )
            ]
            texts = [self.evaluate_text(item) for item in items]
            self.started_programs.update(texts)
            yield from self.call.classify_shell(
                " ".join('"$x"' if UNKNOWN in text else quote_shell_word(text, _UNQUOTED) for text in texts)
            )
            return
        yield from self._classify_shell_call(argument)

    def _classify_as_command(
        self, words: Sequence[str], arguments: Sequence[ast.expr], suffix: str, *options: str
    ) -> Iterable[Effect]:
        """Classify a call on a source and a destination as the command that does the same."""
        texts = [self.evaluate_text(argument) for argument in arguments[:2]]
        if len(texts) < 2:
            texts.append(".")
        if any(UNKNOWN in text for text in texts) or not texts[0]:
            return ()
        return self._classify_argv([*words, texts[0] + suffix, *options, texts[1]])

    def _classify_argv(self, words: list[str]) -> Iterable[Effect]:
        line = " ".join(quote_shell_word(word, _UNQUOTED).replace(UNKNOWN, "$x") for word in words)
        return self.call.classify_shell(line)

    def _classify_open(self, node: ast.Call, argument: ast.expr | None, *, mode_index: int = 1) -> Iterator[Effect]:
        """Yield the effect of opening a file; the mode of a path's own `open` is its first argument."""
        mode_argument = node.args[mode_index] if len(node.args) > mode_index else find_keyword(node, ("mode",))
        mode = self.evaluate_text(mode_argument) if mode_argument is not None else "r"
        # What is no mode is an argument of another `open`, such as that of `webbrowser` or `zipfile`.
        if UNKNOWN in mode or not set(mode) <= set("rwaxbtU+"):
            mode = "r"
        what = "fs.read"
        if "w" in mode:
            what = "fs.overwrite"
        elif "a" in mode:
            what = "fs.append"
        elif set("x+") & set(mode):
            what = "fs.write"
        if what != "fs.read":
            self.written_paths.add(self.evaluate_text(argument))
        yield from self._classify_path_argument(what, argument)

    def _classify_network_call(self, node: ast.Call, argument: ast.expr | None, function: str) -> Iterator[Effect]:
        text = self.evaluate_text(argument)
        self.downloads = True
        if function.endswith(".urlretrieve") and len(node.args) > 1:
            self.written_paths.add(self.evaluate_text(node.args[1]))
            yield from self._classify_path_argument("fs.overwrite", node.args[1])
        if function.endswith(".request") and len(node.args) > 1:
            text = self.evaluate_text(node.args[1])
        hosts = (Target(host.parse_host(text), "host"),)
        if host.is_metadata_host(hosts[0].text):
            yield self.call.make_effect("cred.read", hosts, note="credentials of the machine")
        sent = [*node.args, *(k.value for k in node.keywords if k.arg in ("data", "json", "params"))]
        if host.is_local_host(hosts[0].text):
            yield self.call.make_effect("net.local", hosts)
        elif self._sends_environment(node):
            yield self.call.make_effect("cred.send", hosts, note="the whole environment")
        elif self.has_environment_secret(sent):
            yield self.call.make_effect("cred.send", hosts, possible=True, note="a secret from the environment")
        else:
            yield self.call.make_effect(find_request_effect(node, function), hosts, possible=UNKNOWN in text)

    def _sends_environment(self, node: ast.Call) -> bool:
        """Return whether the whole environment is among the arguments of a call."""
        values = [*node.args, *(k.value for k in node.keywords)]
        return any(map(self.holds_environment, values)) or any(mentions_name(v, self.tainted_names) for v in values)

    def _classify_path_argument(self, what: str, argument: ast.expr | None) -> Iterator[Effect]:
        yield from self._classify_path(what, self.evaluate_text(argument))

    def _classify_path(self, what: str, text: str) -> Iterator[Effect]:
        if (
            UNKNOWN in text
            and what in ("fs.read", "fs.overwrite", "fs.append", "fs.write", "fs.chmod", "fs.link", "fs.move")
            and not text.replace(UNKNOWN, "").strip("/.")
        ):
            return  # every program reads and writes what some variable names
        yield from self.call.make_effects(what, [Word(text, text.replace(UNKNOWN, "…"), "*" in text)])


def _runs_input(command: str) -> bool:
    """Return whether a command is a shell or an interpreter that runs what stands on its input."""
    name, *words = command.replace("'", "").split() or [""]
    program = name.rpartition("/")[2]
    return bool(program in find_role("shell") or find_language(program)) and all(w in _INPUT_OPTIONS for w in words)
