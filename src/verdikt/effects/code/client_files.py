"""Files and programs of this machine that a database client reads, writes or runs."""

from collections.abc import Iterator

from verdikt.effects.code.sql_session import find_server
from verdikt.effects.host import is_local_address, is_local_host
from verdikt.effects.invocation import Invocation
from verdikt.knowledge import find_role
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_CLIENT_FILE = compile_lazily(
    r"(?im)^\s*\\(copy)\b.*?\b(from|to)\s+(?!program\b|p?std)'?([^\s']+)"
    r"|^\s*\\(lo_import|ir?|include(?:_relative)?|o|out|w|write)\s+()'?([^\s'|]+)"
    r"|\b(load)\s+(?:data|xml)\s+(?:\w+\s+)?local\s+(infile)\s+['\"]([^'\"]+)"
)
"""What makes the client itself read or write a file: command, direction, file."""
_CODE_RUNNERS = find_role("shell") | find_role("code_runner")
_WRITING_COMMANDS = ("o", "out", "w", "write")
_CLIENT_PROGRAM = compile_lazily(
    r"(?im)^\s*\\(?:copy\b.*?\b(?:from|to)\s+program\s+'((?:[^']|'')*)'|(?:o|out|g|gx|w|write)\s+\|(.*)|set\s+\S+\s+`([^`\n]*)`)"
)


def classify_local_files(call: Invocation, text: str, base: str) -> Iterator[Effect]:
    """Yield what a client does with files and programs of this machine, whose contents go to the server."""
    if "\\" not in text and "infile" not in text.lower():
        return
    has_local_part = False
    for match in _CLIENT_FILE.finditer(text):
        command, direction, name = (part for part in match.groups() if part is not None)
        is_write = direction.lower() == "to" or command.lower() in _WRITING_COMMANDS
        yield from call.make_effects("fs.overwrite" if is_write else "fs.read", [Word(name, name)])
        has_local_part = True
    for match in _CLIENT_PROGRAM.finditer(text):
        program = (match[1] or match[2] or match[3] or "").replace("''", "'")
        yield from classify_output_program(call, program, reads_output=match[3] is None)
        has_local_part = True
    server = find_server(call, base)
    if has_local_part and server and not is_local_address(server):
        yield call.make_effect("net.connect", (Target(server, "host"),), note="gets what the client reads")


def classify_output_program(call: Invocation, program: str, *, reads_output: bool) -> Iterator[Effect]:
    """Yield the effects of a program that a client starts; with `reads_output` it gets what the client prints."""
    effects = list(call.classify_shell(program))
    yield from effects
    words = program.split()
    if reads_output and words and words[0].rsplit("/", 1)[-1] in _CODE_RUNNERS and not words[1:]:
        yield call.make_effect("code.unknown", note="runs the results of queries")
    elif not reads_output and any(effect.what == "net.fetch" for effect in effects):
        yield call.make_effect("code.remote", note="statements and commands from the network")


COPIED_FILE = compile_lazily(r"(?i)copy\b.*?\bfrom\s+'([^']+)'")
"""psql: `\\copy t from 'file'` reads a file of this machine."""
_HOST_SETTING = compile_lazily(r"\b(?:host|hostaddr)=(\S+)|://(?:[^@/]*@)?([^/:?]+)")


def classify_copied_file(path: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a file of this machine that a client copies to its server, which may be another machine."""
    given = call.args.get_value("-h --host")
    named = [_HOST_SETTING.search(word.text) for word in (*call.args.operands, *call.args.get_values("-d --dbname"))]
    hosts = [given.text] if given is not None else [match[1] or match[2] for match in named if match]
    if any(not is_local_host(name) for name in hosts):
        yield from call.classify_sent_files([Word(path)])
    else:
        yield from call.make_effects("fs.read", [Word(path)])
