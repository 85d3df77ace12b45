"""Interpreters: running a script, a module, or what comes through a pipe. Program text itself is read by `effects/code`."""

from collections.abc import Iterator, Sequence

from verdikt.effects.argument import Arguments, words
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target
from verdikt.model.value import replace
from verdikt.shell.command import Word

_SERVERS = words(
    "http.server SimpleHTTPServer pyftpdlib smtpd aiosmtpd uvicorn gunicorn flask django streamlit jupyter hypercorn"
)
_BUILD = words(
    "pytest unittest doctest nose nose2 tox nox mypy ruff black isort flake8 pylint pyflakes coverage build compileall py_compile timeit "
    "cProfile profile trace pdb json.tool venv virtualenv ensurepip zipfile tarfile calendar this site sysconfig platform inspect dis ast "
    "tokenize pydoc sphinx mkdocs cython IPython ipykernel jupyter bandit vulture pyright pre_commit twine.check"
)


def _python(call: Call) -> Iterator[Effect]:
    argv = call.command.argv[1:]
    for index, word in enumerate(argv):
        text = word.text
        if text == "-m" or (
            text.startswith("-") and not text.startswith("--") and text.endswith("m") and len(text) > 2
        ):
            yield from _module(call, argv[index + 1 :])
            return
        if text.startswith("-c") or (
            text.startswith("-") and not text.startswith("--") and "c" in text[1:] and text[1:].isalpha()
        ):
            return
        if text in ("-W", "-X", "--check-hash-based-pycs"):
            continue
        if not text.startswith("-"):
            if index and argv[index - 1].text in ("-W", "-X"):
                continue
            yield from call.on("code.run", [word])
            yield from _known(call, argv[index:])
            return
    if call.command.stdin is None and call.reads_pipe():
        yield from call.piped_code()


def _known(call: Call, rest: Sequence[Word]) -> Iterator[Effect]:
    """A script with a name of its own: `manage.py`, `artisan`, `bin/rails`."""
    from verdikt.effects.program import lookup

    name = rest[0].text.rsplit("/", 1)[-1]
    program = lookup(name)
    if program is not None:
        inner = Call(replace(call.command, argv=tuple(rest)), call.resolver, call.commands, call.shell_of, name=name)
        yield from inner.run(program)


def _module(call: Call, rest: tuple[Word, ...]) -> Iterator[Effect]:
    from verdikt.effects.program import lookup

    if not rest:
        return
    name = rest[0].text
    if name == "verdikt.council":
        name, rest = "verdikt", (Word("verdikt"), Word("findings"), *rest[1:])
    if name in _SERVERS:
        yield call.effect("net.listen", (Target(name, "other"),))
        if name == "http.server":
            arguments = Arguments(rest[1:], words("-d --directory -b --bind -p --protocol"))
            yield from call.served(arguments.all("-d --directory"))
    elif name in _BUILD:
        yield call.effect("code.build")
    elif (program := lookup({"pip3": "pip", "awscli": "aws", "ansible": "ansible"}.get(name, name))) is not None:
        inner = Call(replace(call.command, argv=rest), call.resolver, call.commands, call.shell_of, name=name)
        yield from inner.run(program)
    else:
        yield call.effect("code.run", (Target(name, "other"),))


def _script(call: Call) -> Iterator[Effect]:
    args = call.args
    for file in args.all("-r --require --import --loader --experimental-loader"):
        if "/" in file.text and call.name != "php" and "\n" not in file.text:
            from verdikt.effects.variable import loaded

            yield from loaded(call, call.name, file)
    if call.name == "php" and args.has("-S"):
        yield call.effect("net.listen")
        argv = call.command.argv
        yield from call.served([argv[i + 1] for i, word in enumerate(argv[:-1]) if word.text == "-t"])
        return
    if args.has(_CODE_FLAGS.get(call.name, "-e --eval -E -r")):
        if call.name == "perl" and args.has("-i"):
            yield from call.on("fs.write", args.operands)
        elif call.name in ("perl", "ruby") and args.has("-n -p"):
            yield from call.on("fs.read", args.operands)
        elif call.name in _UNREAD and (text := args.value("-e --eval -E")) is not None:
            from verdikt.effects.code.script import read_script

            yield from read_script(_UNREAD[call.name], text.text, call)
        return
    if args.operands and args.operands[0].text != "-":
        if call.name in ("node", "nodejs") and args.operands[0].text == "inspect":
            return
        yield from call.on("code.run", args.operands[:1])
        argv = call.command.argv
        place = next((index for index, word in enumerate(argv) if word is args.operands[0]), 0)
        if place:
            yield from _known(call, argv[place:])
    elif call.command.stdin is None and call.reads_pipe():
        yield from call.piped_code()


_UNREAD = {
    "jrunscript": "java",
    "jjs": "java",
    "groovy": "groovy",
    "scala": "java",
    "elixir": "elixir",
    "osascript": "osascript",
    "Rscript": "r",
    "R": "r",
    "raku": "perl",
}
"""Interpreters whose program text the shell analysis does not take out, and the language nearest to theirs."""

_CODE_FLAGS = {
    "perl": "-e -E",
    "ruby": "-e",
    "node": "-e --eval -p --print",
    "nodejs": "-e --eval -p --print",
    "php": "-r -B -R -E",
    "lua": "-e",
    "Rscript": "-e",
    "julia": "-e --eval -E",
}


def _jar(call: Call) -> Iterator[Effect]:
    """A program in a jar is one that nobody here knows; it may be told in so many words to destroy something."""
    from verdikt.effects.verb import destroys

    texts = [word.text for word in call.args.operands if word.known]
    if call.args.has("-jar") and destroys(texts):
        yield call.effect("unknown.destroy", (Target(" ".join(texts[:3]), "other"),), possible=True)


def _deno(call: Call) -> Iterator[Effect]:
    verb = call.args.operands[0].text if call.args.operands else ""
    if verb == "run" and len(call.args.operands) > 1:
        script = call.args.operands[1]
        if script.text.startswith(("http://", "https://")):
            yield call.effect("code.remote", (Target(script.shown, "host"),))
        else:
            yield from call.on("code.run", [script])
    elif verb in ("install", "add"):
        yield call.effect("pkg.install")
    else:
        yield call.effect("code.build")


PROGRAMS: dict[str, Program] = {
    **programs("python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy pypy3 py micropython", Program(call=_python)),
    **programs("perl ruby node nodejs php lua luajit tclsh wish Rscript R julia groovy scala elixir iex jshell jrunscript jjs osascript raku guile racket sbcl swift kotlin ghci runghc ocaml crystal nim dart ts-node tsx", Program(call=_script, values="-e -E --eval -r -I -M -m -R -B --require --import -C -x -d")),
    "deno": Program(call=_deno),
    **programs("java javaw", Program(Does("code.run", "-jar", bare=True), call=_jar, values="-jar -cp -classpath --class-path -m", single=True)),
    "irb": Program(Does("code.run")),
    **programs("ipython jupyter jupyter-lab jupyter-notebook", Program(Does("code.run", "0", bare=True), values="-c")),
}  # fmt: skip
