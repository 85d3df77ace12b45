"""Registry of the programs that run other commands, and of the ways to find those commands."""

from collections.abc import Callable

from verdikt.shell import build_scripts, exec_options, interpreter
from verdikt.shell.awk_program import trace_awk
from verdikt.shell.command import Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.exec_options import ESCAPES, LINES
from verdikt.shell.file_writers import FILE_WRITERS
from verdikt.shell.git_inner_commands import is_inert_git_command, trace_git
from verdikt.shell.justfile import trace_just
from verdikt.shell.makefile import trace_make
from verdikt.shell.package_json import trace_package_script
from verdikt.shell.repeated_command import has_no_find_action, trace_fd, trace_find, trace_parallel, trace_xargs
from verdikt.shell.sed_script import is_inert_sed_command, trace_sed
from verdikt.shell.subcommand import SUBCOMMANDS
from verdikt.shell.wrapped_command import find_subcommand_row, trace_row, trace_subcommand, trace_wrapper
from verdikt.shell.wrapper import WRAPPERS

Handler = Callable[[CommandCall], str | None]


def trace_inner_commands(call: CommandCall) -> str | None:
    """Walk the commands that a command runs; return their constant output."""
    handler = _find_handler(call.name, call.words[0].text)
    return None if handler is None else handler(call)


def has_no_inner_commands(words: list[Word]) -> bool:
    """Whether the tables alone show that a command runs no other one; False means that it has to be walked."""
    name = words[0].text
    if name in HANDLERS:
        is_inert = _INERT_CHECKS.get(name)
        return is_inert is not None and is_inert(words)
    return _find_handler(name, name) is None


def _find_handler(name: str, program: str) -> Handler | None:
    """Return the handler of a program; `program` is its name as written, perhaps with a directory."""
    handler = HANDLERS.get(name)
    # `python3.12`, `bash.exe`: the digits or the suffix are removed only where there are some.
    if handler is None and name[-1] in "0123456789e":
        handler = interpreter.find_versioned_handler(name)
    if handler is None and "/" in program:
        return interpreter.trace_script_file
    return handler


# The shell's own commands


def _trace_command_builtin(call: CommandCall) -> str | None:
    if len(call.words) > 2 and call.words[1].text in ("-v", "-V"):
        return f"/usr/bin/{call.words[2].text}\n" if call.words[2].is_known else None
    return trace_row(call, WRAPPERS["command"], 1)


def _trace_trap(call: CommandCall) -> str | None:
    words = [word for word in call.words[1:] if word.text not in ("--", "-p", "-l")]
    if len(words) > 1 and words[0].text not in ("-", ""):
        if words[0].is_known and {word.text.upper().removeprefix("SIG") for word in words[1:]} & {"EXIT", "0"}:
            # It runs at the end, with the variables as they are by then.
            call.walker.exit_traps.append((call, words[0].text))
            return None
        frame = call.frame
        call.frame = frame.as_conditional()
        call.walk_shell_text(words[0].text, inherit_stdin=False)
        call.frame = frame
    return None


def _trace_source(call: CommandCall) -> str | None:
    return interpreter.trace_source(call) if len(call.words) > 1 else None


# The registry


def _chain_handlers(*handlers: Callable[[CommandCall], object]) -> Handler:
    """Return a handler that applies all of these; the last one gives the output."""

    def trace_all(call: CommandCall) -> str | None:
        for handler in handlers[:-1]:
            handler(call)
        output = handlers[-1](call)
        return output if isinstance(output, str) else None

    return trace_all


def _add_exec_options(handlers: dict[str, Handler]) -> dict[str, Handler]:
    """Add the programs that an option or a line of input can make run a command."""
    for table, trace in ((ESCAPES, exec_options.trace_exec_options), (LINES, exec_options.trace_shell_lines)):
        only_trace = _chain_handlers(trace)
        for name in table:
            handlers[name] = _chain_handlers(trace, handlers[name]) if name in handlers else only_trace
    return handlers


HANDLERS: dict[str, Handler] = _add_exec_options(
    {
        **dict.fromkeys(WRAPPERS, trace_wrapper),
        **dict.fromkeys((name for name in SUBCOMMANDS if " " not in name), trace_subcommand),
        **interpreter.HANDLERS,
        **dict.fromkeys(("npm", "pnpm", "yarn"), _chain_handlers(trace_package_script, trace_subcommand)),
        "bun": _chain_handlers(trace_package_script, trace_subcommand, interpreter.HANDLERS["bun"]),
        "deno": _chain_handlers(trace_subcommand, interpreter.HANDLERS["deno"]),
        **dict.fromkeys(("make", "gmake"), trace_make),
        **build_scripts.HANDLERS,
        "xdotool": _chain_handlers(build_scripts.trace_typed_keys, trace_subcommand),
        "just": trace_just,
        "git": trace_git,
        **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), trace_awk),
        **dict.fromkeys(("sed", "gsed"), trace_sed),
        "socat": exec_options.trace_socat,
        "hg": exec_options.trace_mercurial,
        **dict.fromkeys(("at", "batch"), exec_options.trace_queued_input),
        **dict.fromkeys(("tmux", "screen"), exec_options.trace_multiplexer),
        **dict.fromkeys(("xargs", "gxargs"), trace_xargs),
        "parallel": trace_parallel,
        **dict.fromkeys(("find", "gfind"), trace_find),
        **dict.fromkeys(("fd", "fdfind"), trace_fd),
        "command": _trace_command_builtin,
        "trap": _trace_trap,
        **dict.fromkeys(("export", "declare", "typeset", "local", "readonly"), exec_options.trace_exported_variables),
        **FILE_WRITERS,
        **dict.fromkeys(("source", "."), _trace_source),
    }
)
"""Program → how to find the commands that it runs."""


def _has_no_subcommand_row(words: list[Word]) -> bool:
    return find_subcommand_row(words)[0] is None


_INERT_CHECKS: dict[str, Callable[[list[Word]], bool]] = {
    # `cpio` stands for the programs that only an option makes run a command, and nothing else.
    **{name: exec_options.has_no_exec_option for name in ESCAPES if HANDLERS[name] is HANDLERS["cpio"]},
    **{name: _has_no_subcommand_row for name in SUBCOMMANDS if HANDLERS.get(name) is trace_subcommand},
    **dict.fromkeys(("find", "gfind"), has_no_find_action),
    **dict.fromkeys(
        ("go", "cargo"), lambda words: exec_options.has_no_exec_option(words) and _has_no_subcommand_row(words)
    ),
    **{
        name: interpreter.has_no_inline_code
        for name in interpreter.INTERPRETERS
        if HANDLERS[name] is interpreter.HANDLERS[name]
    },
    "sed": is_inert_sed_command,
    "git": is_inert_git_command,
    # What these write matters to a later command only, and the caller checks that there is none.
    **dict.fromkeys(FILE_WRITERS, bool),
    "wget": exec_options.has_no_exec_option,
}
"""Program with a handler → whether its words show that there is no inner command."""
