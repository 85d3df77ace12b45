"""Going inside: from a command to the commands that it runs."""

from collections.abc import Callable

from verdikt.shell import build_scripts, exec_options, interpreter
from verdikt.shell.awk_program import trace_awk
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.escape_sequences import decode_escapes
from verdikt.shell.exec_options import ESCAPES, LINES
from verdikt.shell.file_writers import trace_copy, trace_download, trace_tee
from verdikt.shell.git_inner_commands import is_inert_git_command as git_runs_nothing
from verdikt.shell.git_inner_commands import trace_git
from verdikt.shell.justfile import trace_just
from verdikt.shell.makefile import trace_make
from verdikt.shell.option_parser import ParsedOptions, parse_options, parse_permuted_options, parse_valued_options
from verdikt.shell.package_json import trace_package_script
from verdikt.shell.plain import is_plain_sed
from verdikt.shell.scope import Scope
from verdikt.shell.sed_script import trace_sed
from verdikt.shell.subcommand import RUNNERS, SUBCOMMANDS
from verdikt.shell.wrapper import WRAPPERS, Wrapper

Handler = Callable[[CommandCall], str | None]

_MOST_ITEMS = 64
_MOST_RUNS = 16


def trace_inner_commands(call: CommandCall) -> str | None:
    """Goes inside a command that runs others; their constant output."""
    handler = HANDLERS.get(call.name)
    if handler is None:
        handler = interpreter.find_handler(call.name, call.words[0].text)
    return None if handler is None else handler(call)


def has_no_inner_commands(words: list[Word]) -> bool:
    """Whether whoever goes inside such a command finds nothing there, told without going; where it says no, look."""
    name = words[0].text
    if name not in HANDLERS:
        return interpreter.find_handler(name, name) is None
    quiet = _QUIET.get(name)
    return quiet is not None and quiet(words)


def count_deciding_words(name: str) -> int:
    """How many words tell whether such a command runs another: 0, none of them; 1, its subcommand; 9, all there is."""
    if name in SUBCOMMANDS and HANDLERS[name] is _grouped:
        return 1
    return 9 if name in HANDLERS or interpreter.find_handler(name, name) is not None else 0


# Wrappers


def _wrapped(call: CommandCall) -> str | None:
    return _wrap(call, WRAPPERS[call.name], 1)


def _grouped(call: CommandCall) -> str | None:
    """A program with subcommands: follows them to a row."""
    row, start = _row(call.name, call.words)
    return _wrap(call, row, start) if row else None


def _row(name: str, words: list[Word]) -> tuple[Wrapper | None, int]:
    """The row of a subcommand, and where its own words begin."""
    key, start = name, 1
    while key in SUBCOMMANDS:
        start = parse_options(words, start, SUBCOMMANDS[key])[1]
        if start >= len(words):
            return None, start
        key = f"{key} {words[start].text}"
        start += 1
    return RUNNERS.get(key), start


def _wrap(call: CommandCall, row: Wrapper, start: int) -> str | None:
    words, count = call.words, len(call.words)
    spec = f"{row.valued} {row.text}"
    given, at = (
        (parse_permuted_options(words, start, spec)[0], count) if row.only_text else parse_options(words, start, spec)
    )
    where = row.host if row.host != "1" else ""
    for _ in range(row.skip):
        if at >= count:
            break
        where = words[at].text if row.host == "1" else where
        at += 1
        if row.joined or row.after or row.text:
            # `ssh host -p 22 cmd`, `kubectl exec pod -it -- cmd`, `flock file -c cmd`: options may follow the word.
            more, at = parse_options(words, at, spec)
            given += more
        elif at < count and words[at].text == "--":
            at += 1
    scope = _moved(call, row, given)
    texts, logins, programs = (
        parse_valued_options(row.text),
        parse_valued_options(row.login),
        parse_valued_options(row.program),
    )
    for option, value in given:
        if option in texts and value is not None:
            text = value.text
            if row.split:
                text = " ".join([text, *(_requoted(word) for word in words[at:])])
                at = count
            call.walk_shell_text(text, host=where, repeated=row.repeated, scope=scope)
    if row.after:
        at = next((place + 1 for place in range(start, count) if words[place].text in row.after.split()), at)
    assignments, at = _assigned(words, at) if row.assignments else ((), at)
    inner = [value for option, value in given if option in programs and value is not None] + words[at:]
    login = any(option in logins for option, _ in given)
    if not inner:
        return _idle(call, where) if row.shell or login else None
    if row.only_text:
        return None
    if row.joined or login:
        text = " ".join(word.text for word in inner)
        return call.walk_shell_text(
            text, host=where, repeated=row.repeated, scope=call.scope if call.name == "eval" else scope
        )
    if call.name in _PYTHONIC and inner[0].text.endswith(".py"):
        inner.insert(0, Word("python", "python"))
    return call.walk_command(inner, host=where, repeated=row.repeated, scope=scope, assignments=assignments)


def _requoted(word: Word) -> str:
    """A word that stands in a text for a shell as what it has become."""
    return word.text if word.glob or not word.is_known else "'" + word.text.replace("'", "'\\''") + "'"


_PYTHONIC = frozenset(("uv", "poetry", "pipenv", "pdm", "hatch", "rye"))
"""What runs a `.py` file with Python."""


def _assigned(words: list[Word], at: int) -> tuple[tuple[tuple[str, Word], ...], int]:
    """The assignments of `env A=1 cmd`, and the index of the command."""
    found: list[tuple[str, Word]] = []
    while at < len(words):
        name, equals, value = words[at].text.partition("=")
        if words[at].text != "-" and (not equals or not name.isidentifier()):
            break
        if equals:
            found.append((name, Word(value, words[at].raw)))
        at += 1
    return tuple(found), at


def _moved(call: CommandCall, row: Wrapper, given: ParsedOptions) -> Scope | None:
    """The scope of a wrapper that changes the directory, as `env -C` does."""
    directories = row.directory.split()
    return next(
        (call.create_directory_scope(value) for option, value in given if option in directories and value is not None),
        None,
    )


def _idle(call: CommandCall, where: str) -> str | None:
    """A shell without a command, which reads its commands."""
    return None if call.frame.stdin is None else call.walk_shell_text(call.frame.stdin, host=where, inherit_stdin=False)


# Programs that repeat a command over what they read or find


def _xargs(call: CommandCall) -> str | None:
    spec = "J R S a --arg-file d --delimiter E I L --max-lines n --max-args P --max-procs s --max-chars --replace --process-slot-var"
    given, at = parse_options(call.words, 1, spec)
    chosen = dict(given)
    inner = call.words[at:] or [Word("echo", "echo")]
    replace = None
    for option in ("-I", "-i", "--replace", "-J"):
        if option in chosen:
            value = chosen[option]
            replace = value.text if value is not None else "{}"
    items = _items(call, chosen, lines=replace is not None)
    if replace:
        for item in items[:_MOST_RUNS]:
            call.walk_command([_filled(word, replace, item) for word in inner], repeated=True, scope=Scope(call.scope))
        return None
    output = call.walk_command(
        [*inner, *(Word(item, item if item != UNKNOWN else "…") for item in items)],
        repeated=True,
        scope=Scope(call.scope),
    )
    return output if inner[0].text in ("echo", "printf") else None


def _items(call: CommandCall, chosen: dict[str, Word | None], *, lines: bool) -> list[str]:
    """What `xargs` reads, when that is constant."""
    text = call.frame.stdin
    if text is None or UNKNOWN in text or "-a" in chosen or "--arg-file" in chosen:
        return [UNKNOWN]
    mark = chosen.get("-d") or chosen.get("--delimiter")
    if mark is not None:
        found = text.split(decode_escapes(mark.text)) if mark.text else [text]
    elif "-0" in chosen or "--null" in chosen:
        found = text.split("\0")
    else:
        found = [line.strip() for line in text.splitlines()] if lines else text.split()
    found = [item.strip("\n") for item in found if item.strip("\n")]
    return found if len(found) <= _MOST_ITEMS else [*found[:_MOST_ITEMS], UNKNOWN]


def _filled(word: Word, mark: str, item: str) -> Word:
    return Word(word.text.replace(mark, item), word.raw, word.glob) if mark in word.text else word


def _parallel(call: CommandCall) -> str | None:
    spec = "j --jobs --max-procs n --max-args N a --arg-file C --colsep d --delimiter I S --sshlogin --joblog --results --timeout --retries --delay --tmpdir --wd --workdir"
    at = parse_options(call.words, 1, spec)[1]
    words = call.words[at:]
    marks = [place for place, word in enumerate(words) if word.text in (":::", ":::+", "::::", "::::+")]
    stop = marks[0] if marks else len(words)
    inner = [word.text for word in words[:stop]]
    if marks:
        given = words[stop + 1 : marks[1] if len(marks) > 1 else None]
        items = [word.text for word in given] if words[stop].text == ":::" else [UNKNOWN]
    else:
        stdin = call.frame.stdin
        items = [UNKNOWN] if stdin is None or UNKNOWN in stdin else stdin.splitlines()
    text = " ".join(inner)
    for item in items[:_MOST_RUNS]:
        filled = text
        for mark in ("{}", "{.}", "{/}", "{//}", "{/.}", "{1}", "{2}", "{#}", "{%}"):
            filled = filled.replace(mark, item if mark in ("{}", "{1}") else UNKNOWN)
        call.walk_shell_text(filled if filled != text else f"{text} {item}".strip(), repeated=True)
    return None


_WRITES = frozenset(("-fprint", "-fprint0", "-fprintf", "-fls"))
_EXEC = frozenset(("-exec", "-execdir", "-ok", "-okdir"))


def _find(call: CommandCall) -> str | None:
    words, count = call.words, len(call.words)
    at = 1
    while at < count and (words[at].text in ("-H", "-L", "-P", "-X", "-E") or words[at].text.startswith("-O")):
        at += 1
    roots: list[Word] = []
    while at < count and not words[at].text.startswith(("-", "(", "!", ")")):
        roots.append(words[at])
        at += 1
    while at < count:
        if words[at].text in _EXEC:
            stop = next(
                (
                    place
                    for place in range(at + 1, count)
                    if words[place].text in (";", "+") and _ends(words, at, place)
                ),
                count,
            )
            _over(call, words[at + 1 : stop], roots, words[at].text)
            at = stop
        elif words[at].text in _WRITES and at + 1 < count:
            call.record_write(words[at + 1].text)
        at += 1
    return None


def _ends(words: list[Word], start: int, place: int) -> bool:
    return words[place].text == ";" or words[place - 1].text == "{}"


def _over(call: CommandCall, inner: list[Word], roots: list[Word], option: str) -> None:
    """Runs what `find -exec` runs, once for each place it looks in."""
    for root in (roots or [Word(".", ".")])[:8]:
        found = root.text.rstrip("/") + "/" + UNKNOWN
        filled = [Word(word.text.replace("{}", found), word.raw) if "{}" in word.text else word for word in inner]
        call.walk_command(filled, label=f"{call.name} {option}", repeated=True, scope=Scope(call.scope))


def _fd(call: CommandCall) -> str | None:
    words = call.words
    for place, word in enumerate(words):
        if word.text in ("-x", "-X", "--exec", "--exec-batch"):
            stop = next((end for end in range(place + 1, len(words)) if words[end].text == ";"), len(words))
            inner = words[place + 1 : stop]
            filled = [Word(part.text.replace("{}", f"./{UNKNOWN}"), part.raw) for part in inner]
            if filled == inner:
                filled.append(Word(f"./{UNKNOWN}", "{}"))
            call.walk_command(filled, label=f"{call.name} {word.text}", repeated=True, scope=Scope(call.scope))
    return None


# The shell's own


def _command(call: CommandCall) -> str | None:
    if len(call.words) > 2 and call.words[1].text in ("-v", "-V"):
        return f"/usr/bin/{call.words[2].text}\n" if call.words[2].is_known else None
    return _wrap(call, WRAPPERS["command"], 1)


def _trap(call: CommandCall) -> str | None:
    words = [word for word in call.words[1:] if word.text not in ("--", "-p", "-l")]
    if len(words) > 1 and words[0].text not in ("-", ""):
        if words[0].is_known and {word.text.upper().removeprefix("SIG") for word in words[1:]} & {"EXIT", "0"}:
            call.walker.exit_traps.append((call, words[0].text))
            return None
        frame = call.frame
        call.frame = frame.as_conditional()
        call.walk_shell_text(words[0].text, inherit_stdin=False)
        call.frame = frame
    return None


def _source(call: CommandCall) -> str | None:
    if len(call.words) < 2:
        return None
    return interpreter.trace_source(call)


def _first(*handlers: Callable[[CommandCall], object]) -> Callable[[CommandCall], str | None]:
    """Goes inside by every way there is; the last one says what is printed."""

    def both(call: CommandCall) -> str | None:
        for handler in handlers[:-1]:
            handler(call)
        output = handlers[-1](call)
        return output if isinstance(output, str) else None

    return both


def _with_escapes(handlers: dict[str, Handler]) -> dict[str, Handler]:
    for table, way in ((ESCAPES, exec_options.trace_exec_options), (LINES, exec_options.trace_shell_lines)):
        alone = _first(way)
        for name in table:
            handlers[name] = _first(way, handlers[name]) if name in handlers else alone
    return handlers


HANDLERS: dict[str, Handler] = _with_escapes(
    {
        **dict.fromkeys(WRAPPERS, _wrapped),
        **dict.fromkeys((name for name in SUBCOMMANDS if " " not in name), _grouped),
        **interpreter.HANDLERS,
        **dict.fromkeys(("npm", "pnpm", "yarn"), _first(trace_package_script, _grouped)),
        "bun": _first(trace_package_script, _grouped, interpreter.HANDLERS["bun"]),
        "deno": _first(_grouped, interpreter.HANDLERS["deno"]),
        **dict.fromkeys(("make", "gmake"), trace_make),
        **build_scripts.HANDLERS,
        "xdotool": _first(build_scripts.trace_typed_keys, _grouped),
        "just": trace_just,
        "git": trace_git,
        **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), trace_awk),
        **dict.fromkeys(("sed", "gsed"), trace_sed),
        "socat": exec_options.trace_socat,
        "hg": exec_options.trace_mercurial,
        **dict.fromkeys(("at", "batch"), exec_options.trace_queued_input),
        **dict.fromkeys(("tmux", "screen"), exec_options.trace_multiplexer),
        **dict.fromkeys(("xargs", "gxargs"), _xargs),
        "parallel": _parallel,
        **dict.fromkeys(("find", "gfind"), _find),
        **dict.fromkeys(("fd", "fdfind"), _fd),
        "command": _command,
        "trap": _trap,
        **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), exec_options.trace_exported_variables),
        **dict.fromkeys(("cp", "mv", "ln", "install"), trace_copy),
        "tee": trace_tee,
        **dict.fromkeys(("curl", "wget"), trace_download),
        **dict.fromkeys(("source", "."), _source),
    }
)


# Commands whose words tell that nothing is inside


def _finds(words: list[Word]) -> bool:
    return not any(word.text in _EXEC or word.text in _WRITES for word in words)


_QUIET: dict[str, Callable[[list[Word]], bool]] = {
    **{
        name: exec_options.has_no_exec_option for name in ESCAPES if HANDLERS[name] is HANDLERS["cpio"]
    },  # by nothing else
    **{
        name: lambda words: _row(words[0].text, words)[0] is None
        for name in SUBCOMMANDS
        if " " not in name and HANDLERS[name] is _grouped
    },
    **dict.fromkeys(("find", "gfind"), _finds),
    **dict.fromkeys(
        ("go", "cargo"), lambda words: exec_options.has_no_exec_option(words) and _row(words[0].text, words)[0] is None
    ),
    **{
        name: interpreter.has_no_inline_code
        for name in interpreter.INTERPRETERS
        if HANDLERS.get(name) is not None and HANDLERS[name] is interpreter.HANDLERS.get(name)
    },
    "sed": lambda words: len(words) > 2 and words[-1].text[:1] != "-" and is_plain_sed(words[1].text, words[2].text),
    "git": git_runs_nothing,
    # What these put into files is of no account to a command that stands alone.
    **dict.fromkeys(("cp", "mv", "ln", "install", "tee", "curl"), bool),
    "wget": exec_options.has_no_exec_option,
}
