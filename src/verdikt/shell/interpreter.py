"""Shells and other interpreters: the program is an argument, a file or the input."""

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.exec_options import trace_shell_calls
from verdikt.shell.option_parser import parse_options, parse_valued_options
from verdikt.shell.redirection import find_written_file, read_contents
from verdikt.shell.scope import Scope

_SHELLS = frozenset(
    "sh bash zsh dash ksh mksh ash rbash fish csh tcsh yash bash.exe sh.exe nu xonsh elvish osh ysh".split()
)
_SHELL_OPTIONS = "o O --rcfile --init-file c"
_VERSION = compile_lazily(r"-?[\d.]+(?:\.exe)?$|\.exe$")
_SHEBANG = compile_lazily(r"#![ \t]*(?:\S*/)?env(?:[ \t]+-\S+)*[ \t]+(\S+)|#![ \t]*\S*?([^/\s]+)(?:\s|$)")
_LONGEST_SCRIPT = 200_000


@dataclass(frozen=True, slots=True)
class Interpreter:
    """How a language's program is found: options whose value is a program, options that take another value, options that name no program."""

    language: str
    code: str
    valued: str = ""
    module: str = ""  # options after which the words are a module or a file of its own: `python -m`
    stdin: bool = True
    subcommand: str = ""  # `deno eval`


INTERPRETERS: dict[str, Interpreter] = {
    "python": Interpreter("python", "c", "W X --check-hash-based-pycs", module="m"),
    "pypy": Interpreter("python", "c", "W X", module="m"),
    "ipython": Interpreter("python", "c", "", module="m"),
    "node": Interpreter(
        "node",
        "e --eval p --print -pe",
        "r --require --import --loader --experimental-loader C --conditions --env-file --max-old-space-size --stack-trace-limit",
    ),
    "nodejs": Interpreter("node", "e --eval p --print -pe", "r --require --import --loader"),
    "bun": Interpreter("node", "e --eval p --print", "r --preload"),
    "tsx": Interpreter("node", "e --eval p --print", "--tsconfig"),
    "ts-node": Interpreter("node", "e --eval p --print", "P --project r --require"),
    "deno": Interpreter("node", "", "", subcommand="eval"),
    "perl": Interpreter("perl", "e E", "I M m C~ D~ F~ i~ x~"),
    "ruby": Interpreter("ruby", "e", "I r C E F~ W~ i~ K~ T~ x~"),
    "jruby": Interpreter("ruby", "e", "I r"),
    "irb": Interpreter("ruby", "e", "I r"),
    "php": Interpreter("php", "r B R E", "d c z F f"),
    "lua": Interpreter("lua", "e", "l"),
    "luajit": Interpreter("lua", "e", "l j"),
    "osascript": Interpreter("osascript", "e", "l s"),
    "Rscript": Interpreter("r", "e", ""),
    "R": Interpreter("r", "e", "f"),
    "julia": Interpreter("julia", "e E --eval --print", "J L p t"),
    "elixir": Interpreter("elixir", "e --eval", "r pa pz"),
    "erl": Interpreter("erlang", "-eval", "pa pz sname name s", stdin=False),
    "groovy": Interpreter("groovy", "e", "cp -classpath"),
    "scala": Interpreter("scala", "e", "cp -classpath"),
    "guile": Interpreter("scheme", "c", "L l"),
    "racket": Interpreter("lisp", "e --eval", "l t f r p"),
    "sbcl": Interpreter("lisp", "-eval --eval", "-load --load"),
    "ecl": Interpreter("lisp", "-eval --eval", "-load --load"),
    "clisp": Interpreter("lisp", "x", "i K M"),
    "clojure": Interpreter("lisp", "e --eval", "i"),
    "clj": Interpreter("lisp", "e --eval", "i"),
    "bb": Interpreter("lisp", "e --eval", "f"),
    "janet": Interpreter("lisp", "e", "l m"),
    "csi": Interpreter("scheme", "e -eval", "R"),
    "ocaml": Interpreter("ocaml", "e", "I open"),
    "crystal": Interpreter("crystal", "", "", subcommand="eval"),
    "kotlin": Interpreter("kotlin", "e", "cp -classpath"),
    "swift": Interpreter("swift", "e", ""),
    "tclsh": Interpreter("tcl", "", ""),
    "expect": Interpreter("expect", "c", "f"),
    "jshell": Interpreter("java", "", ""),
    "ghci": Interpreter("haskell", "e", ""),
    "ghc": Interpreter("haskell", "e", "", stdin=False),
    "octave": Interpreter("octave", "--eval", ""),
    "gdb": Interpreter("gdb", "-ex --ex -eval-command --eval-command", "x p", stdin=False),
}

_BY_SUFFIX = {
    ".sh": "bash", ".bash": "bash", ".zsh": "zsh", ".ksh": "ksh", ".command": "bash",
    ".py": "python", ".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "node",
    ".pl": "perl", ".rb": "ruby", ".php": "php", ".lua": "lua", ".ps1": "pwsh",
}  # fmt: skip


def find_handler(name: str, program: str) -> Callable[[CommandCall], str | None] | None:
    """Whoever goes inside a program with a version in its name, or inside a file that is run by its path."""
    if name[-1] in "0123456789e":
        plain = _VERSION.sub("", name)
        if plain in INTERPRETERS:
            return _interpret
        if plain in HANDLERS:
            return HANDLERS[plain]
    return _script if "/" in program else None


# Shells


def _shell(call: CommandCall) -> str | None:
    for name, file in call.assignments:
        if name in ("BASH_ENV", "ENV"):
            _file(call, file, [])
    at, text_given, from_stdin = _shell_options(call)
    if _only_checks(call.words[1:at]):
        return None
    rest = call.words[at:]
    if text_given:
        if not rest:
            return None
        scope = Scope(call.scope)
        if len(rest) > 1:
            scope.set_variable("0", rest[1].text)
        return call.walk_shell_text(rest[0].text, arguments=[word.text for word in rest[2:]], scope=scope)
    if rest and not from_stdin:
        return _file(call, rest[0], [word.text for word in rest[1:]])
    return _from_stdin(call, [word.text for word in rest])


def _only_checks(given: list[Word]) -> bool:
    """Whether a shell is told to look at its program's grammar and run nothing of it: `bash -n`."""
    texts = [word.text for word in given]
    off = any(text == "noexec" or (text[:1] == "-" and text[1:2] != "-" and "n" in text) for text in texts)
    return off and not any(text[:1] == "+" or (text[:1] == "-" and "i" in text) for text in texts)


def _shell_options(call: CommandCall) -> tuple[int, bool, bool]:
    """The index after a shell's options, whether a text follows, and whether it reads its input."""
    words, at = call.words, 1
    text_given = from_stdin = False
    while at < len(words):
        option = words[at].text
        at += 1
        if option in ("-", "--"):
            break
        if option[:1] not in ("-", "+") or len(option) < 2:
            return at - 1, text_given, from_stdin
        letters = "" if option.startswith("--") else option[1:]
        text_given = text_given or (option[0] == "-" and "c" in letters) or option == "--command"
        from_stdin = from_stdin or (option[0] == "-" and "s" in letters)
        if option in ("--rcfile", "--init-file") and at < len(words):
            _file(call, words[at], [])
        if option in ("--rcfile", "--init-file", "-O", "+O") or letters.endswith("o"):
            at += 1
    return at, text_given, from_stdin


_STDIN = frozenset(("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"))


def _from_stdin(call: CommandCall, arguments: list[str]) -> str | None:
    text = _input(call)
    if text is not None:
        return call.walk_shell_text(text, arguments=arguments, inherit_stdin=False)
    if call.frame.stdin_file is not None and find_written_file(call.walker, call.frame.stdin_file, call.scope)[0]:
        call.record_code("sh", UNKNOWN)
    return None


def _input(call: CommandCall) -> str | None:
    """What an interpreter reads as its program: constant input, or a file that we can see."""
    frame = call.frame
    if frame.stdin is not None:
        return frame.stdin
    if frame.stdin_file is not None:
        return read_contents(call.walker, frame.stdin_file, call.scope)
    return None if frame.pipe_from is None else _shown(call, frame.pipe_from)


def _shown(call: CommandCall, source: int) -> str | None:
    """What `cat file` shows to an interpreter: the file is a program then."""
    words = call.walker.drafts[source].argv
    if len(words) < 2 or words[0].text.rsplit("/", 1)[-1] != "cat":
        return None
    texts = [read_contents(call.walker, word, call.scope) for word in words[1:]]
    return None if None in texts else "".join(text for text in texts if text)


def _file(call: CommandCall, file: Word, arguments: list[str], *, same: bool = False) -> str | None:
    """Runs a script: what is in it when we can see that."""
    text = _input(call) if file.text in _STDIN else read_contents(call.walker, file, call.scope)
    if text is None:
        if find_written_file(call.walker, file, call.scope)[0]:
            # Written by this very text, and we do not know what.
            call.record_code("sh", UNKNOWN)
        return None
    if f"{call.name} {file.text}" in call.frame.via:
        return None
    found = _SHEBANG.match(text)
    program = (found[1] or found[2]) if found else ""
    if program and program not in _SHELLS and call.name not in _SHELLS and not same:
        _other(call, program, text)
        return None
    scope = call.scope if same else Scope(call.scope)
    before = scope.arguments
    if arguments or not same:
        scope.arguments = arguments
    output = call.walk_shell_text(
        text[:_LONGEST_SCRIPT], label=f"{call.name} {file.text}", scope=scope, inherit_stdin=not same
    )
    if same:
        scope.arguments = before
    return output


def _other(call: CommandCall, program: str, text: str) -> None:
    name = _VERSION.sub("", program)
    if name in INTERPRETERS:
        call.record_code(INTERPRETERS[name].language, text)


def trace_source(call: CommandCall) -> str | None:
    """`source file`: in the same shell."""
    return _file(call, call.words[1], [word.text for word in call.words[2:]], same=True)


def _script(call: CommandCall) -> str | None:
    """A file run by its path: a shell script by its first line or its name, another language by the same."""
    file = call.words[0]
    text = read_contents(call.walker, file, call.scope)
    arguments = [word.text for word in call.words[1:]]
    suffix = "." + file.text.rsplit(".", 1)[-1] if "." in file.text.rsplit("/", 1)[-1] else ""
    if text is None:
        if find_written_file(call.walker, file, call.scope)[0]:
            call.record_code("sh", UNKNOWN)
        return None
    found = _SHEBANG.match(text)
    program = _VERSION.sub("", (found[1] or found[2]) if found else _BY_SUFFIX.get(suffix, "sh"))
    if program in _SHELLS:
        return _file(call, file, arguments)
    _other(call, program, text)
    return None


# Other languages


@lru_cache(maxsize=256)
def _ways(name: str) -> tuple[Interpreter, str, frozenset[str], frozenset[str]]:
    """A row, its options that take a value, those whose value is a program, those that name a module."""
    row = INTERPRETERS[_VERSION.sub("", name)]
    return (
        row,
        f"{row.code} {row.valued} {row.module}",
        parse_valued_options(row.code),
        parse_valued_options(row.module),
    )


def _interpret(call: CommandCall) -> str | None:
    row, spec, code_options, module_options = _ways(call.name)
    words, at = call.words, 1
    if row.subcommand:
        if len(words) < 2 or words[1].text != row.subcommand:
            return None
        call.record_code(
            row.language, next((word.text for word in words[2:] if not word.text.startswith("-")), UNKNOWN)
        )
        return None
    given, at = _until(words, spec, module_options)
    programs = [value.text for option, value in given if option in code_options and value is not None]
    if programs:
        _program(call, row.language, "\n".join(programs))
        return None
    module = next((value.text for option, value in given if option in module_options and value is not None), "")
    if module == "timeit":
        call.record_code(row.language, "\n".join(word.text for word in words[at:] if word.text[:1] != "-"))
    if module:
        return None
    rest = words[at:]
    if rest and rest[0].text not in _STDIN:
        text = read_contents(call.walker, rest[0], call.scope)
        if text is not None:
            call.record_code(row.language, text)
        elif find_written_file(call.walker, rest[0], call.scope)[0]:
            call.record_code(row.language, UNKNOWN)
        return None
    if row.stdin and not any(option in ("-v", "-V", "--version", "-h", "--help") for option, _ in given):
        text = _input(call)
        if text is not None:
            _program(call, row.language, text)
    return None


def has_no_inline_code(words: list[Word]) -> bool:
    """Whether such a command runs an installed module, or only tells its version."""
    if len(words) < 2:
        return False
    row, _, _, module_options = _ways(words[0].text)
    first = words[1].text
    if row.subcommand:
        return first != row.subcommand
    return first in module_options or (len(words) == 2 and first == "--version")


def _program(call: CommandCall, language: str, text: str) -> None:
    call.record_code(language, text)
    trace_shell_calls(call, language, text)


def _until(words: list[Word], spec: str, last: frozenset[str]) -> tuple[list[tuple[str, Word | None]], int]:
    """Options up to one after which the words are no longer the interpreter's."""
    given, at = parse_options(words, 1, spec)
    for place, (option, _) in enumerate(given):
        if option in last:
            return given[: place + 1], at
    return given, at


# Windows


_POWERSHELL_VALUES = frozenset(
    (
        *("executionpolicy", "ep", "ex", "exec", "windowstyle", "w", "outputformat", "of", "inputformat", "if"),
        *("version", "v", "configurationname", "workingdirectory", "wd", "settingsfile", "custompipename"),
    )
)


def _powershell(call: CommandCall) -> str | None:
    words = call.words
    valued = False
    for place in range(1, len(words)):
        if valued:
            valued = False
            continue
        option = words[place].text.lower().lstrip("-/")
        valued = words[place].text.startswith(("-", "/")) and option in _POWERSHELL_VALUES
        if not words[place].text.startswith(("-", "/")):
            call.record_code("powershell", " ".join(word.text for word in words[place:]))
            return None
        rest = " ".join(word.text for word in words[place + 1 :])
        if option and "command".startswith(option):
            text = _input(call) if rest == "-" else rest
            call.record_code("powershell", text if text is not None else UNKNOWN)
            return None
        if option in ("e", "ec") or (len(option) > 1 and "encodedcommand".startswith(option)):
            call.record_code("powershell", _utf16(words[place + 1].text) if place + 1 < len(words) else UNKNOWN)
            return None
        if option in ("f", "file") and place + 1 < len(words):
            script = read_contents(call.walker, words[place + 1], call.scope)
            if script is not None:
                call.record_code("powershell", script)
            return None
    text = _input(call)
    if text is not None:
        call.record_code("powershell", text)
    return None


def _utf16(text: str) -> str:
    try:
        return base64.b64decode(text, validate=False).decode("utf-16-le", "replace")
    except (binascii.Error, ValueError):
        return UNKNOWN


def _cmd(call: CommandCall) -> str | None:
    for place, word in enumerate(call.words[1:], 1):
        if word.text.lower()[:2] in ("/c", "/k", "/r"):
            rest = [word.text[2:], *(following.text for following in call.words[place + 1 :])]
            call.record_code("cmd", " ".join(part for part in rest if part))
            return None
    return None


HANDLERS: dict[str, Callable[[CommandCall], str | None]] = {
    **dict.fromkeys(_SHELLS, _shell),
    **dict.fromkeys(INTERPRETERS, _interpret),
    "powershell": _powershell,
    "powershell.exe": _powershell,
    "pwsh": _powershell,
    "pwsh.exe": _powershell,
    "cmd": _cmd,
    "cmd.exe": _cmd,
}
