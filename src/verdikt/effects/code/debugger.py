"""Commands of a debugger, line by line: those that run a shell or Python, and the files they load."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_MAX_LINES = 2_000
_SHELL_LINE = compile_lazily(r"\s*(?:shell\s+|platform\s+shell\s+|!\s*|pipe\b[^|]*\|\s*|make\s+)(.+)")
_PYTHON_LINE = compile_lazily(r"\s*(?:python|py|pi|python-interactive|script)\b[ \t]*(.*)")
_LOAD_LINE = compile_lazily(r"\s*(?:source|command\s+source|command\s+script\s+import)\s+(?:-\S+\s+)*(\S+)")


def classify_debugger(text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a script for gdb or lldb; `python` on a line of its own begins a block."""
    from verdikt.effects.code.python import classify_python  # few scripts of a debugger hold Python

    block: list[str] | None = None
    for line in text.split("\n")[:_MAX_LINES]:
        if block is not None:
            if line.strip() == "end":
                yield from classify_python("\n".join(block), call)
                block = None
            else:
                block.append(line)
        elif match := _SHELL_LINE.match(line):
            yield from call.classify_shell(match[1])
        elif match := _PYTHON_LINE.match(line):
            if match[1]:
                yield from classify_python(match[1], call)
            else:
                block = []
        elif match := _LOAD_LINE.match(line):
            yield from call.make_effects("code.run", [Word(match[1])])
    if block:
        yield from classify_python("\n".join(block), call)
