"""Interpreters that run a script, a module or piped input; `effects/code` classifies the program text itself."""

from collections.abc import Iterator, Sequence

from verdikt.effects.arguments import Arguments, OptionTable, word_set
from verdikt.effects.code.script import classify_script
from verdikt.effects.command_verbs import has_destroy_verb
from verdikt.effects.environment_variables import classify_startup_file
from verdikt.effects.invocation import Invocation
from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import find_program
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word

_SERVERS = word_set(
    "http.server SimpleHTTPServer pyftpdlib smtpd aiosmtpd uvicorn gunicorn flask django streamlit jupyter hypercorn"
)
_BUILD = word_set(
    "pytest unittest doctest nose nose2 tox nox mypy ruff black isort flake8 pylint pyflakes coverage build "
    "compileall py_compile timeit cProfile profile trace pdb json.tool venv virtualenv ensurepip zipfile tarfile "
    "calendar this site sysconfig platform inspect dis ast tokenize pydoc sphinx mkdocs cython IPython ipykernel "
    "jupyter bandit vulture pyright pre_commit twine.check"
)


def classify_python(call: Invocation) -> Iterator[Effect]:
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
            yield from call.make_effects("code.run", [word])
            yield from _classify_named_script(call, argv[index:])
            return
    if call.command.stdin is None and call.has_piped_input():
        yield from call.classify_piped_code()


def _classify_named_script(call: Invocation, rest: Sequence[Word]) -> Iterator[Effect]:
    """Classify a script with a name of its own: `manage.py`, `artisan`, `bin/rails`."""
    name = rest[0].text.rsplit("/", 1)[-1]
    program = find_program(name)
    if program is not None:
        inner = Invocation(
            call.command._replace(argv=tuple(rest)), call.resolver, call.commands, call.shell_classifier, name=name
        )
        yield from evaluate_program(program, inner)


def _module(call: Invocation, rest: tuple[Word, ...]) -> Iterator[Effect]:
    if not rest:
        return
    name = rest[0].text
    if name == "verdikt.council":
        name, rest = "verdikt", (Word("verdikt"), Word("findings"), *rest[1:])
    if name in _SERVERS:
        yield call.make_effect("net.listen", (Target(name, "other"),))
        if name == "http.server":
            arguments = Arguments(rest[1:], OptionTable(word_set("-d --directory -b --bind -p --protocol")))
            yield from call.classify_served_directories(arguments.get_values("-d --directory"))
    elif name in _BUILD:
        yield call.make_effect("code.build")
    elif (program := find_program({"pip3": "pip", "awscli": "aws", "ansible": "ansible"}.get(name, name))) is not None:
        inner = Invocation(
            call.command._replace(argv=rest), call.resolver, call.commands, call.shell_classifier, name=name
        )
        yield from evaluate_program(program, inner)
    else:
        yield call.make_effect("code.run", (Target(name, "other"),))


def classify_script_file(call: Invocation) -> Iterator[Effect]:
    args = call.args
    for file in args.get_values("-r --require --import --loader --experimental-loader"):
        if "/" in file.text and call.name != "php" and "\n" not in file.text:
            yield from classify_startup_file(call, call.name, file)
    if call.name == "php" and args.has_flag("-S"):
        yield call.make_effect("net.listen")
        argv = call.command.argv
        yield from call.classify_served_directories(
            [argv[i + 1] for i, word in enumerate(argv[:-1]) if word.text == "-t"]
        )
        return
    if args.has_flag(_CODE_FLAGS.get(call.name, "-e --eval -E -r")):
        if call.name == "perl" and args.has_flag("-i"):
            yield from call.make_effects("fs.write", args.operands)
        elif call.name in ("perl", "ruby") and args.has_flag("-n -p"):
            yield from call.make_effects("fs.read", args.operands)
        elif call.name in _UNREAD and (text := args.get_value("-e --eval -E")) is not None:
            yield from classify_script(_UNREAD[call.name], text.text, call)
        return
    if args.operands and args.operands[0].text != "-":
        if call.name in ("node", "nodejs") and args.operands[0].text == "inspect":
            return
        yield from call.make_effects("code.run", args.operands[:1])
        argv = call.command.argv
        place = next((index for index, word in enumerate(argv) if word is args.operands[0]), 0)
        if place:
            yield from _classify_named_script(call, argv[place:])
    elif call.command.stdin is None and call.has_piped_input():
        yield from call.classify_piped_code()


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


def classify_jar(call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a program in a jar, which is unknown: its arguments may order it to destroy something."""
    texts = [word.text for word in call.args.operands if word.is_known]
    if call.args.has_flag("-jar") and has_destroy_verb(texts):
        yield call.make_effect("unknown.destroy", (Target(" ".join(texts[:3]), "other"),), possible=True)


def classify_deno(call: Invocation) -> Iterator[Effect]:
    verb = call.args.operands[0].text if call.args.operands else ""
    if verb == "run" and len(call.args.operands) > 1:
        script = call.args.operands[1]
        if script.text.startswith(("http://", "https://")):
            yield call.make_effect("code.remote", (Target(script.display_text, "host"),))
        else:
            yield from call.make_effects("code.run", [script])
    elif verb in ("install", "add"):
        yield call.make_effect("pkg.install")
    else:
        yield call.make_effect("code.build")
