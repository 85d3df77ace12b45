"""Words of a command line that are code: Python's modules, what an alias stands for, variables that are shown or set."""

from collections.abc import Iterator, Sequence

from verdikt.effects.arguments import Arguments, OptionTable, word_set
from verdikt.effects.environment_variables import classify_assignment
from verdikt.effects.execution_context import find_preceding
from verdikt.effects.invocation import Invocation
from verdikt.effects.program_evaluator import evaluate_program, run_script
from verdikt.effects.program_record import find_program
from verdikt.effects.word_kinds import SECRET_NAME
from verdikt.knowledge import find_role
from verdikt.model.effect import Effect, EffectClass, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_SERVER_MODULES = find_role("python_server_module")
_BUILD_MODULES = find_role("python_build_module")
_MODULE_PROGRAMS = {"pip3": "pip", "awscli": "aws"}
_TRUSTED_NAMES = word_set("sudo doas su ssh gpg passwd login git")
_SAME_PROGRAMS = word_set("sudo doas run0 command builtin env noglob nocorrect")
_JOINS = compile_lazily(r"[;&|]")
_ALARMING = ("code.remote", "code.hidden", "net.send", "net.shell", "cred.", "persist.", "guard.")
_VARIABLE = compile_lazily(r"\$\{?([A-Za-z_]\w*)(?!\w*:?\+)")


def classify_python(call: Invocation) -> Iterator[Effect]:
    argv, operands = call.command.argv[1:], call.args.operands
    for index, word in enumerate(argv):
        text = word.text
        if operands and word is operands[0]:
            yield from run_script(argv[index:], call)
            return
        is_cluster = text[:1] == "-" and text[:2] != "--" and len(text) > 1
        if is_cluster and text.endswith("m"):
            yield from _classify_module(call, argv[index + 1 :])
            return
        if text.startswith("-c") or (is_cluster and "c" in text and text[1:].isalpha()):
            return
    yield from run_script((), call)


def _classify_module(call: Invocation, words: Sequence[Word]) -> Iterator[Effect]:
    if not words:
        return
    name = words[0].text
    if name == "verdikt.council":
        name, words = "verdikt", (Word("verdikt"), Word("findings"), *words[1:])
    if name in _SERVER_MODULES:
        yield call.make_effect("net.listen", (Target(name, "other"),))
        if name == "http.server":
            arguments = Arguments(words[1:], OptionTable(word_set("-d --directory -b --bind -p --protocol")))
            yield from call.classify_served_directories(arguments.get_values("-d --directory"))
    elif name in _BUILD_MODULES:
        yield call.make_effect("code.build")
    elif (program := find_program(_MODULE_PROGRAMS.get(name, name))) is not None:
        yield from evaluate_program(program, call.make_inner_call(words, name))
    else:
        yield call.make_effect("code.run", (Target(name, "other"),))


def classify_alias(call: Invocation) -> Iterator[Effect]:
    """Classify a new meaning for a command name: report what it would run where that destroys or sends."""
    for word in call.command.argv[1:]:
        name, equals, body = word.text.partition("=")
        first = body.split()[:1]
        if not equals or not first or not word.is_known or find_program(name) is None:
            continue
        is_same = first[0].lstrip("\\") == name or (first[0] in _SAME_PROGRAMS and name in body.split()[1:2])
        if is_same and not _JOINS.search(body):
            continue
        for effect in call.classify_shell(body if is_same else f'{body} "$argument"'):
            if effect.cls is EffectClass.DESTRUCTIVE or effect.what.startswith(_ALARMING):
                yield effect
        if name in _TRUSTED_NAMES and first[0] not in _SAME_PROGRAMS and not is_same and not find_program(first[0]):
            yield call.make_effect("code.unknown", (Target(name, "other"),), note=f"something else answers to {name}")


def classify_echo(call: Invocation) -> Iterator[Effect]:
    """Classify a secret of the environment that is shown; one that goes into a pipe or a file is not."""
    argv = call.command.argv
    if call.command.pipe_to is not None or call.command.redirects or not any("$" in word.raw for word in argv):
        return
    # What a file of secrets gave the variable is known to us, and a secret all the same.
    is_loaded = len(call.commands) > 1 and any(map(call.loads_secret, find_preceding(call.command, call.commands)))
    names = [name for word in argv[1:] if is_loaded or not word.is_known for name in _VARIABLE.findall(word.raw)]
    secrets = tuple(Target(f"${name}", "other") for name in names if name.isupper() and SECRET_NAME.search(name))
    if secrets:
        yield call.make_effect("env.read.secret", secrets)


def classify_export(call: Invocation) -> Iterator[Effect]:
    for word in call.args.operands:
        name, equals, value = word.text.partition("=")
        if equals:
            yield from classify_assignment(call, name, Word(value, word.raw), persistent=True)


def classify_key_binding(call: Invocation) -> Iterator[Effect]:
    """Classify the command that `bind -x` makes the shell run at a key, which stands after a colon."""
    for word in call.args.get_values("-x"):
        yield from call.classify_shell(word.text.partition(":")[2].strip(' "'))
