"""Find the commands that a program runs, by what its record says."""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from verdikt.shell import build_scripts, exec_options, file_writers, interpreter
from verdikt.shell.awk_program import trace_awk
from verdikt.shell.command import Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.git_inner_commands import is_inert_git_command, trace_git
from verdikt.shell.justfile import trace_just
from verdikt.shell.makefile import trace_make
from verdikt.shell.package_json import trace_package_script
from verdikt.shell.possible_wrapper import POSSIBLE_WRAPPER, find_possible_command
from verdikt.shell.redirection import find_written_file
from verdikt.shell.repeated_command import has_no_find_action, trace_fd, trace_find, trace_parallel, trace_xargs
from verdikt.shell.runner import Runner, find_runner
from verdikt.shell.sed_script import is_inert_sed_command, trace_sed
from verdikt.shell.wrapped_command import find_subcommand_row, trace_subcommand, trace_wrapper

_PROGRAM_DIRECTORIES = frozenset(
    "/bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /opt/homebrew/bin /opt/local/bin /snap/bin".split()
)
"""Where the programs of a machine are; no project and no home has them."""

InertCheck = Callable[[list[Word]], bool]


class CommandTracer(NamedTuple):
    """A way to find inner commands; `is_inert` tells from the words alone that there are none."""

    trace: Callable[[CommandCall], object]
    is_inert: InertCheck | None = None


def trace_inner_commands(call: CommandCall) -> str | None:
    """Walk the commands that a command runs; return their constant output."""
    tracers = find_tracers(call.name)
    if not tracers:
        if len(call.words) > 2 and find_runner(call.name) is None:
            _trace_possible_wrapper(call)
        if "/" in call.words[0].text and not _is_installed_program(call):
            return interpreter.trace_script_file(call)
    output: object = None
    for tracer in tracers:
        output = tracer.trace(call)
    if tracers and len(call.words) > 3 and call.words[1].text[:1] == "-":
        _trace_other_readings(call, tracers)
    return output if isinstance(output, str) else None


def _is_installed_program(call: CommandCall) -> bool:
    """Return whether a command is a program of the machine that has a record, which says more of it than its text.

    Many are scripts that only find their interpreter: `/usr/bin/gsutil`. A file that the text itself put there is none.
    """
    program = call.words[0]
    is_installed = program.text.rpartition("/")[0] in _PROGRAM_DIRECTORIES and find_runner(call.name) is not None
    is_replaced = program.text in call.walker.copied_paths or find_written_file(call.walker, program, call.scope)[0]
    return is_installed and not is_replaced


def _trace_other_readings(call: CommandCall, tracers: tuple[CommandTracer, ...]) -> None:
    """Walk what a command runs if options before its first operand, which the record does not list, take values."""
    words, frame = call.words, call.frame
    for other_words in _list_other_readings(words, call.name):
        # Readings multiply where one wrapper runs another: a line of two hundred letters had millions.
        if not call.walker.spend_reading_budget():
            call.walker.add_problem("its options can be read in too many ways")
            break
        call.words, call.frame = other_words, frame.as_conditional()
        for tracer in tracers:
            # That one reads unlisted options both ways itself.
            if tracer.trace is not trace_subcommand:
                tracer.trace(call)
    call.words, call.frame = words, frame


def _list_other_readings(words: list[Word], name: str) -> list[list[Word]]:
    """Return the words without the unlisted options, for each word that is the first operand in some reading."""
    runner = find_runner(name)
    known_words, readings, at = words[:1], [], 1
    while runner is not None and at + 1 < len(words) and words[at].text[:1] == "-" and words[at].text != "--":
        option, step = words[at].text, 1
        if not _is_unlisted(option, runner):
            step += option in runner.valued_options
            known_words = [*known_words, *words[at : at + step]]
        elif words[at + 1].text[:1] != "-":
            readings.append([*known_words, *words[at + 1 :]])
            step += 1
        at += step
    # The first of them is what the plain reading finds: no option takes a value.
    return [*readings[1:], [*known_words, *words[at:]]] if readings else []


def _is_unlisted(option: str, runner: Runner) -> bool:
    """Return whether a record does not tell whether an option takes the next word; in a cluster, the last letter."""
    if "=" in option or len(option) < 2 or option in runner.known_options:
        return False
    if option[:2] == "--":
        return True
    *flags, last = (f"-{letter}" for letter in option[1:])
    return last not in runner.known_options and runner.plain_options.issuperset(flags)


def _trace_possible_wrapper(call: CommandCall) -> None:
    """Walk what an unknown program may run; the label tells that it may as well be something else."""
    if start := find_possible_command(call.words):
        frame = call.frame
        call.frame = frame.as_conditional()
        call.walk_command(call.words[start:], label=f"{POSSIBLE_WRAPPER}{call.name}")
        call.frame = frame


def has_no_inner_commands(words: list[Word]) -> bool:
    """Whether the records alone show that a command runs no other one; False means that it has to be walked."""
    for tracer in find_tracers(words[0].text):  # noqa: SIM110  a generator costs more than the tests of most programs
        if tracer.is_inert is None or not tracer.is_inert(words):
            return False
    return True


def is_file_writer(name: str) -> bool:
    """Whether a program puts something into files which a later command may run."""
    runner = find_runner(name)
    return runner is not None and runner.trace in _FILE_WRITERS


@lru_cache(maxsize=4096)
def find_tracers(name: str) -> tuple[CommandTracer, ...]:
    """Return the ways in which a program runs others; the last one gives the output."""
    runner = find_runner(name)
    return () if runner is None else tuple(_list_tracers(runner))


def _list_tracers(runner: Runner) -> list[CommandTracer]:
    tracers = []
    if runner.shell_lines:
        tracers.append(CommandTracer(exec_options.trace_shell_lines, exec_options.has_no_shell_line))
    # A function that finds what a program runs reads the options of its commands itself.
    if runner.exec_options or (runner.command_exec_options and not runner.trace):
        tracers.append(CommandTracer(exec_options.trace_exec_options, exec_options.has_no_exec_option))
    if runner.trace:
        tracers.append(_TRACERS[runner.trace])
    if runner.commands is not None:
        tracers.append(CommandTracer(trace_subcommand, _has_no_subcommand_row))
    if runner.interpreter is not None:
        tracers.append(CommandTracer(interpreter.trace_interpreter, interpreter.has_no_inline_code))
    if runner.wrapper is not None and not runner.trace:
        tracers.append(CommandTracer(trace_wrapper))
    return tracers


# The shell's own commands


def _trace_command_builtin(call: CommandCall) -> str | None:
    if len(call.words) > 2 and call.words[1].text in ("-v", "-V"):
        return f"/usr/bin/{call.words[2].text}\n" if call.words[2].is_known else None
    return trace_wrapper(call)


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


def _has_no_subcommand_row(words: list[Word]) -> bool:
    runner = find_runner(words[0].text.rsplit("/", 1)[-1])
    if runner is None or runner.commands is None:
        return True
    rows, levels = runner.commands.rows, runner.commands.levels
    for word in words:
        # Which word is the command has to be found out only if one of them is the name of one that runs others.
        if word.text in rows or word.text in levels:
            return find_subcommand_row(words, runner)[0] is None
    return True


_FILE_WRITERS: dict[str, CommandTracer] = {
    # What these write matters to a later command only, and the caller checks that there is none.
    "copy": CommandTracer(file_writers.trace_copy, bool),
    "tee": CommandTracer(file_writers.trace_tee, bool),
    "block_copy": CommandTracer(file_writers.trace_block_copy, bool),
    "download": CommandTracer(file_writers.trace_download, bool),
}
_TRACERS: dict[str, CommandTracer] = {
    "ant": CommandTracer(build_scripts.trace_ant),
    "awk": CommandTracer(trace_awk),
    "cmake": CommandTracer(build_scripts.trace_cmake),
    "cmd": CommandTracer(interpreter.trace_cmd),
    "command": CommandTracer(_trace_command_builtin),
    "exported_variables": CommandTracer(exec_options.trace_exported_variables),
    "fd": CommandTracer(trace_fd),
    "find": CommandTracer(trace_find, has_no_find_action),
    "git": CommandTracer(trace_git, is_inert_git_command),
    "gradle": CommandTracer(build_scripts.trace_gradle),
    "just": CommandTracer(trace_just),
    "make": CommandTracer(trace_make),
    "mercurial": CommandTracer(exec_options.trace_mercurial),
    "multiplexer": CommandTracer(exec_options.trace_multiplexer),
    "ninja": CommandTracer(build_scripts.trace_ninja),
    "package_script": CommandTracer(trace_package_script),
    "parallel": CommandTracer(trace_parallel),
    "powershell": CommandTracer(interpreter.trace_powershell),
    "queued_input": CommandTracer(exec_options.trace_queued_input),
    "sed": CommandTracer(trace_sed, is_inert_sed_command),
    "shell": CommandTracer(interpreter.trace_shell),
    "socat": CommandTracer(exec_options.trace_socat),
    "source": CommandTracer(_trace_source),
    "tex": CommandTracer(build_scripts.trace_tex),
    "trap": CommandTracer(_trace_trap),
    "typed_keys": CommandTracer(build_scripts.trace_typed_keys),
    "xargs": CommandTracer(trace_xargs),
    **_FILE_WRITERS,
}
"""The functions that a record may name as `trace`, for what its rows can't say."""
