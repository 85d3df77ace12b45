"""Classify Node, Perl, Ruby, PHP, Lua and similar scripts by the names of calls and the strings beside them.

There is no grammar: a call counts if its name stands before a parenthesis or a string, outside strings and comments.
The patterns are in `script_patterns.py`.
"""

import re
from collections.abc import Iterator

from verdikt.effects import host
from verdikt.effects.code import script_patterns, script_syntax
from verdikt.effects.code.constant_folding import fold_constants
from verdikt.effects.code.debugger import classify_debugger
from verdikt.effects.code.language_calls import classify_language_calls, rewrite_calls
from verdikt.effects.code.page_session import classify_page_session
from verdikt.effects.code.python_functions import PATH_TESTS
from verdikt.effects.code.sql import classify_sql, looks_like_sql
from verdikt.effects.invocation import Invocation
from verdikt.effects.secret_sends import is_issuer_host
from verdikt.effects.word_kinds import SECRET_NAME
from verdikt.knowledge import find_role
from verdikt.model.effect import Certainty, Effect, EffectClass, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

_MAX_SCRIPT = 100_000
_SHELLS = find_role("shell")
_HOME_VARIABLE = compile_lazily(r"\$(?:HOME\b|\{HOME\})")
_RISKY_PROGRAMS = find_role("risky")
_ALARMING = ("code.remote", "net.send", "cred.send", "git.push.force", "persist.")
_LOGIN_DISTANCE = 60
"""How many characters before a variable tell that it is a login."""
_MAX_CONSTANTS = 60
_HOME_MARK = "\x02"
_OPEN_MODES = ("<", ">", ">>", "+<", "+>", "-|", "|-")
"""The modes of Perl's `open`, where they stand alone."""


def name_own_place(path: str) -> dict[str, str]:
    """Return what the names stand for by which a program finds its own file."""
    directory = path.rpartition("/")[0]
    if not directory:
        return {}
    return dict.fromkeys(("__dirname", "__dir__", "__DIR__"), directory) | dict.fromkeys(
        ("__filename", "__FILE__"), path
    )


def _fill_script_directory(text: str, path: str, root: str) -> str:
    """Return text with the directory that `$FindBin::Bin` of Perl stands for: that of the script.

    A module lies in a `lib` beside the scripts that use it, or below their directory.
    """
    if "$FindBin::" not in text or not path:
        return text
    place, is_module, _ = path.partition("/lib/")
    if not is_module or not path.endswith(".pm"):
        directory = path.rpartition("/")[0]
    else:
        directory = f"{place}/bin" if place == root else place
    return script_patterns.PERL_PLACE.sub(lambda _: directory, text)


def classify_script(language: str, text: str, call: Invocation, path: str = "") -> Iterator[Effect]:
    """Yield the effects of a program in one of these languages; `path` is that of its file."""
    if language == "gdb":
        yield from classify_debugger(text, call)
        return
    text = _strip_comments_and_imports(language, text[:_MAX_SCRIPT])
    yield from _classify_eval_source(text, call)
    if language != "awk":  # the shell analysis has folded the constants of awk
        text = _fill_script_directory(text, path, call.facts.project_root)
        text = fold_constants(language, rewrite_calls(language, text), name_own_place(path))
    if language == "rust":
        text = script_patterns.RUST_ARGUMENTS.sub(", ", script_patterns.RUST_REFERENCE.sub("", text))
    yield from _classify_eval_text(language, text, call)
    if language == "php":
        text = script_patterns.PHP_JOIN.sub(
            r"\1 , ", text
        )  # in PHP a dot joins strings; here it would look like a method
    yield from _classify_environment_dump(language, text, call)
    yield from _classify_library_calls(language, text, call)
    yield from classify_language_calls(language, text, call)
    if _has_socket_shell(language, text):
        yield call.make_effect("net.shell", note="a shell over a socket")
    for match in script_patterns.SHELL_CALL.finditer(text):
        yield from _classify_shell_call(match, call, language)
    yield from _classify_downloaded_run(text, call)
    if language in script_patterns.BACKTICK_LANGUAGES:
        for match in script_patterns.BACKTICK_COMMAND.finditer(text):
            yield from call.classify_shell(next((group for group in match.group(1, 2, 3, 4, 6) if group), ""))
    if language != "awk":
        yield from _classify_file_calls(language, text, call)
    yield from _classify_loops(language, text, call)
    yield from _classify_unseen_arguments(text, call)
    for match in script_patterns.OPEN_CALL.finditer(text):
        yield from _classify_open(match, call)
    yield from _classify_addresses(text, call)
    yield from classify_page_session(text, call)
    yield from _classify_connections(text, call)


# Text of the script.


def _strip_comments_and_imports(language: str, text: str) -> str:
    text = _strip_line_comments(language, text)
    if language == "perl":
        text = re.sub(r"\buse\s+[\w:]+[^;]*;", ";", text)  # imported names are no calls
    elif language == "go":
        text = script_patterns.GO_IMPORT.sub("", text)
    elif language == "rust":
        # `Command::new("rm").arg("-rf")` has its words in several calls.
        text = script_patterns.RUST_ARGUMENTS.sub(", ", text)
    return text


def _strip_line_comments(language: str, text: str) -> str:
    mark = script_patterns.LINE_COMMENT.get(language)
    if mark is None or mark not in text:
        return text
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(mark))


def _first_group(match: "re.Match[str]", start: int = 0, stop: int | None = None) -> str:
    """Return the first group that matched; a string is one of three groups, one for each kind of quote."""
    return next(group for group in match.groups()[start:stop] if group is not None)


def _find_strings(text: str) -> list[str]:
    return [next((g for g in groups if g), "") for groups in re.findall(script_patterns.STRING_GROUPS, text)]


def _to_word(text: str) -> Word:
    """Return the body of a string as a word, with `UNKNOWN` for interpolated names."""
    if re.search(r"\$\{|#\{|\$[A-Za-z_]", text):
        text = re.sub(r"\$\{[^}]*\}|#\{[^}]*\}|\$[A-Za-z_]\w*", UNKNOWN, text)
    text = re.sub(r"\\(.)", r"\1", text)
    return Word(text, text, "*" in text)


def _is_joined(language: str, match: "re.Match[str]") -> bool:
    """Return whether something unknown is joined to the string at the end of a match."""
    pattern = script_patterns.JOINED_EXPRESSION[language in script_syntax.DOT_JOIN_LANGUAGES]
    return pattern.match(match.string, match.end()) is not None


# Code that is run.


def _classify_eval_source(text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effect of running text as a program, by where the text comes from."""
    if script_patterns.RUN_ADDRESS.search(text):
        yield call.make_effect("code.remote", note="runs a file from an address")
    if script_patterns.RUN_FETCHED.search(text) or _runs_fetched_name(text):
        yield call.make_effect("code.remote", note="runs what it downloads")
    if script_patterns.RUN_DECODED.search(text):
        yield call.make_effect("code.hidden", note="runs what a decoder makes of its input")
    if not script_patterns.EVAL_CALL.search(text):
        return
    if script_patterns.FETCH_CALL.search(text):
        yield call.make_effect("code.remote", note="runs what it downloads")
    elif script_patterns.DECODE_CALL.search(text):
        yield call.make_effect("code.hidden", note="runs what a decoder makes of its input")


def _classify_eval_text(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of program text in a constant string that is evaluated."""
    for match in script_patterns.EVAL_TEXT.finditer(text):
        inner = _first_group(match)
        # Always shorter than the text, so that the recursion ends.
        if len(inner) < len(text):
            yield from classify_script(language, re.sub(r"\\([\"'`\\])", r"\1", inner), call)


def _has_socket_shell(language: str, text: str) -> bool:
    if not script_patterns.SOCKET_CALL.search(text):
        return False
    if language == "awk":
        # An answer that is read from the connection itself comes from no process.
        names = script_patterns.AWK_CONNECTION.findall(text)
        text = re.sub(rf"(?:{'|'.join(map(re.escape, names))})\s*\|&\s*getline", "", text) if names else text
    return script_patterns.PROCESS_START.search(text) is not None or (
        language in script_patterns.BACKTICK_LANGUAGES and script_patterns.BACKTICK_COMMAND.search(text) is not None
    )


def _classify_shell_call(match: "re.Match[str]", call: Invocation, language: str) -> Iterator[Effect]:
    first = _first_group(match, 0, 3)
    if not match.group(4) and _is_joined(language, match):
        first += UNKNOWN
    arguments = _find_strings(match.group(4) or "")
    # `exec("…", "utf8")`, `popen("…", "r")`: an encoding or a mode, no words of the command.
    if any(text in ("utf8", "utf-8", "r", "w") for text in arguments):
        arguments = []
    # `exec` and `execute` are methods of databases too; `run` is a method of everything in Node and PHP.
    if looks_like_sql(first) or (language in ("node", "php") and match.group(0).startswith("run")):
        return
    words = [text if text[:1] == "~" or "*" in text else f"'{text}'" for text in arguments]
    # Words of which some are no constants: `spawn("rm", ["-rf", place])`.
    if " " not in first and script_patterns.FURTHER_NAME.match(match.string, match.end()):
        words.append('"$x"')
    if language == "csharp":
        words = arguments[:1]  # the whole command line after the program
    # The shell knows its own home, whatever the language makes of other names.
    line = _to_word(_HOME_VARIABLE.sub(_HOME_MARK, first)).text.replace(_HOME_MARK, "$HOME")
    whole = " ".join([line, *words]).replace(UNKNOWN, "$x")
    # Between quotes a shell takes `~` as it stands, and we have folded it from what the language knows as the home.
    yield from call.classify_shell(whole.replace('"~/', '"$HOME/'))


def _classify_unseen_arguments(text: str, call: Invocation) -> Iterator[Effect]:
    """Yield what the constants of a script would do where it runs or deletes something that is not followed.

    A command line in a string, and a call that runs what a name stands for: the one may well reach the other.
    """
    runs, deletes = script_patterns.UNSEEN_RUN.search(text), script_patterns.UNSEEN_DELETE.search(text)
    if runs is None and deletes is None:
        return
    for constant in dict.fromkeys(_find_strings(text)[:_MAX_CONSTANTS]):
        first = constant.partition(" ")[0]
        if runs and " " in constant and first in _RISKY_PROGRAMS:
            for effect in call.classify_shell(_to_word(constant).text.replace(UNKNOWN, "$x")):
                if effect.cls is EffectClass.DESTRUCTIVE or effect.what.startswith(_ALARMING):
                    yield effect._replace(certainty=Certainty.POSSIBLE)
        elif deletes and constant[:1] in ("/", "~") and " " not in constant:
            target = call.resolve_path(_to_word(constant))
            if target.zone in (Zone.HOME, Zone.SECRET):
                yield call.make_effect("fs.delete.tree", (target,), possible=True, recoverable=False)


def _runs_fetched_name(text: str) -> bool:
    """Return whether a shell is given what a request brought, by its name: `const t = await r.text(); exec(t)`."""
    runs = {match[1] for match in script_patterns.RUN_NAME.finditer(text)}
    if not runs or not script_patterns.FETCH_CALL.search(text):
        return False
    return any((match[1] or match[2]) in runs for match in script_patterns.FETCHED_NAME.finditer(text))


def _classify_downloaded_run(text: str, call: Invocation) -> Iterator[Effect]:
    """Yield `code.remote` for a file that is downloaded and then run by its path."""
    downloads = {_first_group(match) for match in script_patterns.DOWNLOADED_FILE.finditer(text)}
    for match in script_patterns.SHELL_CALL.finditer(text) if downloads else ():
        words = _first_group(match, 0, 3).split()
        if words and (words[0] in downloads or words[-1] in downloads):
            yield call.make_effect("code.remote", note="runs what it downloaded")
    for match in script_patterns.LOADED_PATH.finditer(text) if downloads else ():
        if _first_group(match) in downloads:
            yield call.make_effect("code.remote", note="loads what it downloaded")


# Files, databases, addresses, the environment.


def _classify_file_calls(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of calls that name a file."""
    for what, pattern in script_patterns.FILE_CALLS:
        for match in pattern.finditer(text):
            path = _first_group(match)
            if path.startswith("-") and (words := script_patterns.NEXT_STRING.match(text, match.end())):
                path = _first_group(words)  # `rm("-rf", path)`, as a shell has it
            yield from _classify_path(what, path, match, call, language)
            if what == "fs.move" and (place := script_patterns.NEXT_STRING.match(text, match.end())):
                yield from _classify_path("fs.overwrite", _first_group(place), place, call, language)
    for match in script_patterns.DELETE_CALL.finditer(text):
        owner = match["of"]
        if (
            owner is None
            or script_patterns.FILE_MODULE.match(owner)
            # `const x = require("fs")`: the owner is a module under another name.
            or re.search(
                rf"\b{re.escape(owner)}\s*=\s*(?:await\s+)?(?:require|import)\s*\(?\s*{script_patterns.FILE_LIBRARY}",
                text,
            )
        ):
            yield from _classify_path("fs.delete", _first_group(match, 1), match, call, language)
    for match in script_patterns.PATH_METHOD.finditer(text):
        if (path := _first_group(match, 0, 3))[:1] in ("/", "~"):
            yield from call.make_effects("fs.delete" if match[4] == "unlink" else "fs.delete.tree", [_to_word(path)])
    yield from _classify_handed_secrets(text, call)


def _classify_handed_secrets(text: str, call: Invocation) -> Iterator[Effect]:
    """Yield `cred.read` for a secret file whose name an unknown function is given, which may read it."""
    for match in script_patterns.HANDED_PATH.finditer(text):
        path = _first_group(match, 1)
        if path[:1] not in ("/", "~") or match[1] in PATH_TESTS:
            continue
        target = call.resolve_path(_to_word(path))
        if target.zone is Zone.SECRET:
            yield call.make_effect("cred.read", (target,), possible=True)


def _classify_path(what: str, path: str, match: "re.Match[str]", call: Invocation, language: str) -> Iterator[Effect]:
    if not path.startswith(("http:", "https:")):
        yield from call.make_effects(what, [_to_word(path + (UNKNOWN if _is_joined(language, match) else ""))])


def _classify_open(match: "re.Match[str]", call: Invocation) -> Iterator[Effect]:
    """Yield the effects of `open`, whose first argument may be a path, a mode, or in Perl both or a command."""
    first = _first_group(match, 0, 3)
    second = next((group for group in match.groups()[3:] if group is not None), None)
    mode, path = "r", first
    if first in _OPEN_MODES or first.startswith(("<:", ">:", ">>:")):
        mode, path = first, second or ""
    elif first.startswith((">>", ">", "<")):
        mode, path = first[: 2 if first.startswith(">>") else 1], first.lstrip("<> ")
    elif first.endswith("|") or first.startswith("|"):
        yield from call.classify_shell(first.strip("| "))
        return
    elif second:
        mode = second
    if mode in ("-|", "|-"):
        yield from _classify_pipe_open(mode, path, match.string, call)
    elif path and not path.startswith(("http:", "https:", "php:")):
        what = "fs.read"
        if mode.startswith(("a", ">>")):
            what = "fs.append"
        elif mode.startswith(("w", ">")):
            what = "fs.overwrite"
        yield from call.make_effects(what, [_to_word(path)])
    elif path.startswith("http"):
        yield call.make_effect("net.fetch", (Target(host.parse_host(path), "host"),))


def _classify_pipe_open(mode: str, command: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a command opened as a pipe, and of what is printed into it if it is a shell."""
    yield from call.classify_shell(command)
    words = command.split()
    if mode == "|-" and words and words[0].rsplit("/", 1)[-1] in _SHELLS:
        for match in script_patterns.PRINT_TO_HANDLE.finditer(text):
            yield from call.classify_shell(_first_group(match).replace("\\n", "\n"))


def _classify_library_calls(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of databases through their libraries, and of files emptied or deleted as objects."""
    for what, pattern in script_patterns.DATABASE_CALLS:
        if pattern.search(text):
            yield call.make_effect(what, possible=True)
    for match in script_patterns.SQL_CALL.finditer(text):
        statement = _first_group(match)
        if looks_like_sql(statement):
            yield from classify_sql(statement, call)
    for match in script_patterns.EMPTY_WRITE.finditer(text):
        yield from call.make_effects("fs.truncate", [_to_word(_first_group(match))])
    for match in script_patterns.FILE_OBJECT.finditer(text):
        name = "/".join(group for group in match.groups()[:6] if group is not None)
        yield from call.make_effects("fs.delete" if match.group(7) == "delete" else "fs.delete.tree", [_to_word(name)])
    for match in script_patterns.PROCESS_SEQUENCE.finditer(text):
        words = _find_strings(match.group(1))
        yield from call.classify_shell(" ".join(word if word[:1] == "~" else f"'{word}'" for word in words))
    yield from _classify_own_syntax(language, text, call)


def _classify_own_syntax(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of what only one language has: `$`…`` of Bun, `file delete` of Tcl."""
    if language == "groovy":
        yield from _classify_executed(text, call)
    elif language == "osascript":
        yield from _classify_applescript(text, call)
    elif language == "r":
        # It loads the profile of the project first, whatever its own text does.
        yield call.make_effect("code.run", note=language)
    elif language == "julia" and script_patterns.JULIA_BUILD.search(text):
        yield call.make_effect("code.build")
    elif language == "node":
        for match in script_patterns.BUN_SHELL.finditer(text):
            yield from call.classify_shell(re.sub(r"\$\{[^}]*\}", "$x", match.group(1)))
    elif language == "tcl":
        # `[file join $env(HOME) .config]`; the home is known by its sign here, as a string of its own.
        joined = script_patterns.TCL_JOIN.sub(lambda match: "/".join(match[1].split()), text)
        for match in script_patterns.TCL_DELETE.finditer(joined):
            yield from call.make_effects("fs.delete.tree", [_to_word(match.group(1).strip("{}").replace('"', ""))])
        for name, mode in script_patterns.TCL_OPEN.findall(joined):
            yield from call.make_effects("fs.overwrite" if mode == "w" else "fs.append", [_to_word(name)])


def _classify_executed(text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of words and of text that Groovy's own method executes."""
    for match in script_patterns.EXECUTED.finditer(text):
        words = [f"'{word}'" for word in _find_strings(match[1])] if match[1] else [_first_group(match, 4)]
        yield from call.classify_shell(" ".join(words))


def _classify_loops(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of loops over files, and of programs that start themselves endlessly."""
    if script_patterns.FORK_BOMB.search(text):
        yield call.make_effect("sys.crash", note="starts itself over and over")
    if script_patterns.KILL_ALL.search(text):
        yield call.make_effect("sys.crash", note="ends every process")
    if language == "ruby":
        for match in script_patterns.RUBY_DELETE_LOOP.finditer(text):
            yield from call.make_effects("fs.delete", [_to_word(_first_group(match, 0, 3))])
    elif language == "perl":
        for match in script_patterns.PERL_ARGUMENTS.finditer(text):
            yield from call.make_effects("fs.read", [_to_word(_first_group(match))])
        for match in script_patterns.PERL_UNLINK_GLOB.finditer(text):
            yield from call.make_effects("fs.delete", [_to_word(match.group(1))])
        if script_patterns.PERL_UNLINK.search(text):
            for match in script_patterns.PERL_FIND_DELETE.finditer(text):
                yield from call.make_effects("fs.delete.tree", [_to_word(_first_group(match))])


def _classify_connections(text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effect of a raw connection to another machine that the text names."""
    if script_patterns.RAW_CONNECTION.search(text) is None:
        return
    names = [name for name in script_patterns.FOREIGN_HOST.findall(text) if not host.is_local_host(name)]
    if names:
        yield call.make_effect("net.connect", (Target(names[0], "host"),))


def _classify_addresses(text: str, call: Invocation) -> Iterator[Effect]:
    sends = script_patterns.SEND_CALL.search(text) is not None
    addresses = [_read_address(match) for match in script_patterns.NETWORK_CALL.finditer(text)]
    addresses += [f"https://{name}" for name in script_patterns.REQUEST_HOST.findall(text)]
    if "http" in text:
        addresses += [address for address in script_patterns.PHP_FETCH.findall(text) if address not in addresses]
    for address in addresses:
        if not address.startswith(("http:", "https:", "//")) and "." not in address:
            continue
        name = host.parse_host(address)
        what = "net.local" if host.is_local_host(name) else "net.send" if sends else "net.fetch"
        yield call.make_effect(what, (Target(name, "host"),))
        if what == "net.send" and _sends_variable(text, name):
            note = "a secret from the environment"
            yield call.make_effect("cred.send", (Target(name, "host"),), possible=True, note=note)


def _read_address(match: "re.Match[str]") -> str:
    """Return the address that a call is given; in `require("axios").post("https://…")` a later string holds it."""
    text = _first_group(match)
    if "(" not in text and ")" not in text:
        return text
    following = script_patterns.WEB_ADDRESS.search(match.string, match.start())
    return following[0] if following is not None else ""


def _sends_variable(text: str, host_name: str) -> bool:
    """Return whether a program that sends has a secret of the environment that is neither a login nor for the host."""
    for match in script_patterns.ENVIRONMENT_VARIABLE.finditer(text):
        name = _first_group(match).upper()
        before = text[max(0, match.start() - _LOGIN_DISTANCE) : match.start()]
        if SECRET_NAME.search(name) and not script_patterns.LOGIN_WORD.search(before):
            return not is_issuer_host(name, host_name)
    return False


def _classify_environment_dump(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effect of printing the whole environment, or what a filter selects of it by names of secrets."""
    pattern = script_patterns.ENVIRONMENT_DUMP.get(language)
    dump = pattern.search(text) if pattern is not None else None
    if dump is None:
        return
    condition = script_patterns.FILTER_CALL.search(text[dump.start() : dump.start() + 300])
    if condition is None:
        yield call.make_effect("env.read.all")
    elif SECRET_NAME.search(condition[1].upper()):
        yield call.make_effect("env.read.secret")


def _classify_applescript(text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of what AppleScript tells other programs to do."""
    if re.search(r"(?i)\bdelete\s+(?:every|all|folder|the\s+contents|items?)\b", text):
        yield call.make_effect("fs.delete.tree", possible=True, recoverable=False)
    if re.search(r"(?i)\bempty\s+(?:the\s+)?trash\b", text):
        yield call.make_effect("backup.delete", (Target("the trash", "other"),))
    if re.search(r"(?i)\bwith administrator privileges\b", text):
        yield call.make_effect("priv.escalate")
    if re.search(r"(?i)\btell application \"(?:mail|messages|microsoft outlook|slack)\".*\bsend\b", text, re.DOTALL):
        yield call.make_effect("message.send", possible=True)
    if re.search(r"(?i)\b(?:keystroke|key code)\b", text):
        yield call.make_effect("code.unknown", possible=True, note="types for the person")
    if re.search(r"(?i)\b(?:shut down|restart|log out)\b", text) and re.search(
        r"(?i)system events|finder|loginwindow", text
    ):
        yield call.make_effect("sys.power")
