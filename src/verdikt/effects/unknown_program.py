"""Classify commands that no table describes: unknown programs, names that only run time tells, substituted code."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from verdikt.effects.code import classify_code
from verdikt.effects.command_input import MAX_LOOKBEHIND, find_code_file, find_program_word, find_text_file
from verdikt.effects.command_verbs import has_destroy_verb, split_tokens, takes_offline
from verdikt.effects.execution_context import list_own_words
from verdikt.effects.host import to_host_target
from verdikt.effects.invocation import DECODERS, DOWNLOADERS, RAW_CONNECTION_PROGRAMS, SHELLS
from verdikt.effects.secret_sends import is_listed_host
from verdikt.effects.target import is_device
from verdikt.effects.written_files import spell_unknown
from verdikt.effects.zone_effects import holds_secret, is_foreign_secret
from verdikt.knowledge import find_role, join_role
from verdikt.model.effect import Certainty, Effect, EffectClass, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word
from verdikt.shell.evaluated_text import COPROCESS_DESCRIPTORS
from verdikt.shell.redirection import STDIN_NAMES
from verdikt.shell.text_filters import FILTERS

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

_DOWNLOAD_PATTERN = compile_lazily(
    rf"(?<![\w/.-])(?:{'|'.join(sorted(find_role('downloader')))})\s|urlopen\(|requests\.get"
)
# `eval "$(pyenv init -)"` and the like: the documented way to set up a shell.
_SHELL_INIT = compile_lazily(
    r"(?:init|hook|shellenv|activate|completions?|env|shell-init|--version|export|-s|-k|alias|shell|setup|login"
    rf"|{'|'.join(sorted(find_role('shell_initializer')))})\b"
)
_HIDDEN_TEMPORARY = compile_lazily(r"^(?:/tmp|/var/tmp|/dev/shm)/(?:[^/]+/)*\.[^/]+$|^/dev/shm/")
_LOADERS = ("source", ".")
_MINING_POOL = "stratum+"
# The program is named after what it controls: `pumactl stop`, `mattermost-ctl stop`.
_CONTROLLER_SUFFIX = "ctl"
_STOP_VERBS = frozenset(("stop", "force-stop", "stop-all", "quit"))
_BUILTIN_READERS = frozenset(("source", ".", "eval", "exec"))
_PROGRAM_READERS = SHELLS | find_role("code_runner") | _BUILTIN_READERS
_PIPE_MAKERS = find_role("pipe_maker")
_OUTPUT_OPTION = compile_lazily(r"-(?:-?out\w*(?:-\w+)*|o|O|-dest\w*|-save\w*|-write\w*|-to)$")
_ENCRYPTING = compile_lazily(r"(?i)crypt|seal|^-e$")
_CMDLET = compile_lazily(r"^[A-Z][a-z]+-[A-Z][A-Za-z]+$")
_SENDING_VERBS = frozenset("upload push send share publish post paste transfer attach beam".split())
_STORE_WORDS = frozenset("secret secrets env vars variables config vault".split())
"""Words by which a secret goes where secrets are kept: `eas secret:push`."""
_DESTRUCTIVE_NAME = compile_lazily(r"(?:^|[-_.])(?:uninstall|destroy|wipe|nuke|teardown)(?:[-_.]|$)")
_READS_STATEMENTS = compile_lazily(
    r"(?i)fmt|format|lint|pars|explain|highlight|pretty|check|translat|transpil|token|analy[sz]|diff"
)
"""Names of programs, and of their subcommands, that look at a statement and run none."""
_LOSING_STATEMENT = compile_lazily(
    r"(?i)[\s;(]*(?:drop\s+(?:table|schema|database|view|user|role|column|keyspace|collection|owned)"
    r"|truncate\s+(?:table\s+)?[\w.\"`\[]|delete\s+from\s|update\s+\S+\s+set\s|alter\s+table\s)"
)
"""How a statement begins that may lose rows or tables, whichever program gets it."""
_FILE_PRINTERS = "|".join(sorted({*FILTERS, *find_role("concatenator")}))
_PRINTS_FILE = compile_lazily(rf"^(?:\$\(|`)\s*(?:{_FILE_PRINTERS})\b|^\$\(<")
_UNKNOWN_PROGRAM_NAME = compile_lazily(
    rf"(?:^|[;&|(\n{{`]|\b(?:do|then|else|if|while|until|{join_role('command_prefix')})\s|!\s)\s*"
    rf"(?:\w+=\S*\s+)*[\"']?[^\s;&|=]*{UNKNOWN}"
)
"""Something unknown where the name of a program stands."""


def classify_unknown_program(call: Invocation) -> list[Effect]:
    """Return what the arguments of a program that no table lists say about it, besides `unknown.program`."""
    effects = [call.make_effect("unknown.program", (Target(call.name, "other"),))]
    effects += _classify_named_paths(call)
    effects += _classify_secret_output(call)
    effects += _classify_secret_upload(call)
    effects += _classify_statements(call)
    texts = [word.text for word in call.command.argv[1:] if word.is_known]
    own_texts = [word.text for word in list_own_words(call) if word.is_known]
    if any(_MINING_POOL in text for text in texts):
        effects.append(call.make_effect("proc.mine", (Target(call.name, "other"),)))
    if _CMDLET.match(call.name):
        upstream = [c for c in call.iter_upstream() if _CMDLET.match(c.name)]
        line = " | ".join(" ".join(w.raw or w.text for w in c.argv) for c in (*reversed(upstream), call.command))
        effects += classify_code("powershell", line, call)
    elif has_destroy_verb(own_texts) or _DESTRUCTIVE_NAME.search(call.name):
        label = " ".join([call.name, *texts[:3]])
        effects.append(call.make_effect("unknown.destroy", (Target(label, "other"),), possible=True))
    elif call.name.endswith(_CONTROLLER_SUFFIX) and not _STOP_VERBS.isdisjoint(texts):
        effects.append(call.make_effect("sys.service.stop", (Target(call.name, "unit"),), possible=True))
    return effects


def _classify_secret_upload(call: Invocation) -> Iterator[Effect]:
    """Yield `cred.send` where an unknown program is told to send a secret, and not to keep it as one."""
    words = [word for word in call.command.argv[1:] if word.is_known]
    tokens = {token for word in words[:3] if word.text[:1].isalpha() for token in split_tokens(word.text)}
    if not _SENDING_VERBS.isdisjoint(tokens) and _STORE_WORDS.isdisjoint(tokens):
        secrets = tuple(target for target in map(call.resolve_path, words) if holds_secret(target, call.facts))
        if secrets:
            yield call.make_effect("cred.send", secrets, possible=True)


def _classify_statements(call: Invocation) -> Iterator[Effect]:
    """Yield what SQL among the words of an unknown program may lose: `dbadm exec 'DROP TABLE users'`."""
    texts = [word.text for word in call.command.argv[1:] if " " in word.text]
    texts = [text.partition("=")[2] if text[:1] == "-" else text for text in texts]
    if not texts or _READS_STATEMENTS.search(" ".join([call.name, *(word.text for word in call.command.argv[1:2])])):
        return
    for text in filter(_LOSING_STATEMENT.match, texts):
        for effect in classify_code("sql", text, call):
            yield effect._replace(certainty=Certainty.POSSIBLE)


def classify_offline_order(call: Invocation) -> list[Effect]:
    """Return the effect of taking an application offline, whichever framework's console is told to do so."""
    words = call.command.argv[1:6]
    if not any("aintenance" in word.text for word in words) or not takes_offline([word.text for word in words]):
        return []
    target = Target("the application", "other")
    return [call.make_effect("sys.service.stop", (target,), note="takes the application offline")]


def _classify_named_paths(call: Invocation) -> Iterator[Effect]:
    """Yield what an unknown program may do to the secrets and devices among its arguments."""
    words = call.command.argv[1:]
    root = call.resolver.project_root
    paths = [call.resolve_path(word) for word in words if "/" in word.text]
    if secrets := tuple(target for target in paths if is_foreign_secret(target, root)):
        yield call.make_effect("cred.read", secrets, possible=True)
    if devices := tuple(
        target for word in words if word.text[:5] == "/dev/" and is_device((target := call.resolve_path(word)).path)
    ):
        yield call.make_effect("disk.write", devices, possible=True)


def _classify_secret_output(call: Invocation) -> Iterator[Effect]:
    """Yield `cred.copy` where an unknown program is given a secret and a file to write: `qrencode -r .env -o a.png`.

    What encrypts makes no copy that tells the secret.
    """
    words = [word for word in call.command.argv[1:] if word.is_known]
    if len(words) < 2 or any(_ENCRYPTING.search(word.text) for word in call.command.argv):
        return
    outputs = [after for option, after in pairwise(words) if _OUTPUT_OPTION.match(option.text)]
    outputs += [
        Word(value)
        for word in words
        for option, _, value in [word.text.partition("=")]
        if value and _OUTPUT_OPTION.match(option)
    ]
    inputs = [call.resolve_path(word) for word in words if word not in outputs and word.text[:1] != "-"]
    if outputs and any(holds_secret(target, call.facts) for target in inputs):
        yield call.make_effect("cred.copy", tuple(map(call.resolve_path, outputs)), possible=True)


def classify_hidden_program(call: Invocation, written_paths: Container[str]) -> list[Effect]:
    """Return the effects of a program that hides among temporary files, or that works for a mining pool.

    A program in `written_paths` is not hidden: this action wrote it, and what it does is known.
    """
    argv = call.command.argv
    if any(_MINING_POOL in word.text for word in argv):
        return [call.make_effect("proc.mine", (Target(call.name, "other"),))]
    if not _HIDDEN_TEMPORARY.match(argv[0].text):
        return []
    target = call.resolve_path(argv[0])
    if target.path in written_paths:
        return []
    return [call.make_effect("code.unknown", (target,), note="a program that hides among temporary files")]


def classify_unnamed_program(call: Invocation) -> list[Effect]:
    """Return the effects of a command whose program is only known at run time, by its arguments."""
    first, operands = call.command.argv[0], call.command.argv[1:]
    if _DOWNLOAD_PATTERN.search(first.raw):
        return [call.make_effect("code.remote", note="runs what it downloads")]
    effects: list[Effect] = []
    if not operands and first.raw.startswith(("$(", "`")) and _PRINTS_FILE.search(first.raw):
        effects.append(call.make_effect("code.unknown", possible=True, note="runs what a file holds"))
    elif not operands and first.text == UNKNOWN and call.command.via and call.command.via[-1].split()[0] in SHELLS:
        # `bash -c '$X'` is `bash -c "$X"` in other quotes.
        effects.append(call.make_effect("code.unknown", possible=True, note="runs text that is made at run time"))
    if {word.text for word in operands} & {"-rf", "-fr", "-Rf", "-r", "-R"}:
        targets = [word for word in operands if not word.text.startswith("-")]
        effects += call.make_effects("fs.delete.tree", targets, possible=True, note="if the unknown program is `rm`")
    return [*effects, call.make_effect("unknown.program", (Target(first.display_text, "other"),), possible=True)]


def classify_named_download(call: Invocation, downloaded_names: Container[str]) -> list[Effect]:
    """Return the effect of running a file that only a variable names, and that was downloaded by the same name."""
    words: list[Word | None] = [*call.command.argv[:1]]
    if call.name in _PROGRAM_READERS:  # `tar xzf "$T"` and `file "$T"` do not run it
        words.append(find_program_word(call.command))
    for word in words:
        if word is not None and not word.is_known and spell_unknown(word) in downloaded_names:
            return [call.make_effect("code.remote", (Target(word.raw, "other"),), note="runs what it downloaded")]
    return []


def classify_substitution(call: Invocation, index: int) -> list[Effect]:
    """Return the effect of an interpreter that runs another command's output: `eval "$(…)"`, `bash <(…)`."""
    word = find_program_word(call.command)
    if word is not None and word.text in STDIN_NAMES and word.text != "-":
        # `… | bash /dev/stdin`; the programs' own records know `-`.
        piped = call.classify_piped_code() if call.command.stdin is None and call.has_piped_input() else ()
        return [effect for effect in piped if effect.what != "code.unknown" or call.name not in _LOADERS]
    if word is None or (_is_literal(word) and not word.raw.startswith("<(")):
        return []
    if effects := _classify_source(call, index, word):
        return effects
    if call.name in _LOADERS or _SHELL_INIT.search(word.raw):
        return []
    # The text shows which programs run; their own effects say what they do with the unknown part.
    if call.name in SHELLS and _UNKNOWN_PROGRAM_NAME.search(word.text) is None:
        return []
    return [call.make_effect("code.unknown", possible=True, note="runs text that is made at run time")]


def classify_code_file(call: Invocation, index: int, downloaded: Collection[str]) -> list[Effect]:
    """Return the effect of a runner whose file of commands comes from elsewhere: `make -f <(…)`, `… | make -f -`."""
    # A command that stands alone gets no file from another one, unless it is a substitution that runs nothing.
    text = call.full_text
    if len(call.commands) < 2 and not downloaded and "/dev/fd/" not in text and UNKNOWN not in text:
        return []
    word = find_code_file(call.command)
    if word is None:
        return []
    if word.text in STDIN_NAMES:
        if call.command.stdin is not None or not call.has_piped_input():
            return []
        return [effect for effect in call.classify_piped_code() if effect.what != "code.unknown"]
    if word.raw.startswith("<("):
        return _classify_source(call, index, word)
    target = call.resolve_path(word) if downloaded else None
    if target is not None and target.path in downloaded:
        return [call.make_effect("code.remote", (target,), note="runs what it downloaded")]
    return []


def classify_input_program(call: Invocation) -> list[Effect]:
    """Return the effects of an interpreter that reads its program from a file, `sh < setup.sh`, or from a FIFO."""
    command = call.command
    if any(redirect.op == "<&" and redirect.target.text == COPROCESS_DESCRIPTORS[0] for redirect in command.redirects):
        return _classify_coprocess_output(call)
    files = [redirect.target for redirect in command.redirects if redirect.op == "<" and redirect.fd == 0]
    if not files or call.name in _BUILTIN_READERS or find_program_word(command) is not None:
        return []
    effects = call.make_effects("code.run", files[-1:])
    for path in [target.path for effect in effects for target in effect.targets if target.path[:5] != "/dev/"]:
        if call.facts.path(path, git=False).kind == "other" or _is_new_pipe(call, path):
            target = call.resolve_path(files[-1])
            effects.append(call.make_effect("code.unknown", (target,), note="runs whatever is written into it"))
    return effects


def _classify_coprocess_output(call: Invocation) -> list[Effect]:
    """Return the effect of an interpreter that runs what a coprocess prints: `coproc nc …; bash <&"${COPROC[0]}"`."""
    names = {command.name for command in call.commands}
    if names & RAW_CONNECTION_PROGRAMS:
        return [call.make_effect("net.shell", note="runs whatever the other side sends")]
    if names & DOWNLOADERS:
        return [call.make_effect("code.remote", note="runs what it downloads")]
    return [call.make_effect("code.unknown", possible=True, note="runs what a coprocess prints")]


def _is_new_pipe(call: Invocation, path: str) -> bool:
    """Return whether another command of the text makes a FIFO at this path."""
    words = [(word, c.cwd) for c in call.commands if c.name in _PIPE_MAKERS for word in c.argv[1:]]
    return any(call.resolver.to_absolute(word.text, cwd) == path for word, cwd in words)


def classify_fetched_text(call: Invocation, index: int) -> list[Effect]:
    """Return the effect of a program that carries out what was just downloaded: `psql -f <(…)`, `… | git apply`."""
    word = find_text_file(call.command)
    if word is None:
        return []
    if word.raw.startswith("<("):
        sources = [c for c in call.commands[max(0, index - MAX_LOOKBEHIND) : index] if c.feeds == index]
    elif word.text in STDIN_NAMES and call.command.stdin is None:
        sources = [*call.iter_upstream()]
    else:
        return []
    addresses = [word for c in sources if c.name in DOWNLOADERS for word in c.argv[1:] if "://" in word.text]
    # What ordinary work fetches from, such as a forge, is as good as what it clones.
    hosts = [target for target in map(to_host_target, addresses) if not is_listed_host(target.text)]
    note = "carries out what it downloads, which nothing has read"
    return [call.make_effect("code.unknown", tuple(hosts), possible=True, note=note)] if hosts else []


def _classify_source(call: Invocation, index: int, word: Word) -> list[Effect]:
    """Return the effect of running what other commands put into a word, by where they have it from."""
    names = {c.name for c in call.commands[max(0, index - MAX_LOOKBEHIND) : index] if c.feeds == index}
    if names & DOWNLOADERS or _DOWNLOAD_PATTERN.search(word.raw):
        source = (Target(word.raw or word.display_text, "other"),)
        return [call.make_effect("code.remote", source, note="runs what it downloads")]
    if names & RAW_CONNECTION_PROGRAMS:
        return [call.make_effect("net.shell", note="runs whatever the other side sends")]
    if names & DECODERS:
        return [call.make_effect("code.hidden", note="runs what a decoder makes of its input")]
    return []


def _is_literal(word: Word) -> bool:
    """Return whether a word is constant, apart from secrets that redaction took out of it."""
    return word.is_known or word.text.count(UNKNOWN) <= word.raw.count(UNKNOWN)


def make_unparsed_effect(problem: str) -> Effect:
    """Return the effect of text that is not understood as shell, or not to its end."""
    return Effect(
        cls=EffectClass.EXECUTE, what="unknown.parse", certainty=Certainty.POSSIBLE, recoverable=False, note=problem
    )


def make_too_deep_effect() -> Effect:
    """Return the effect of text that stands in more texts than are followed."""
    return make_unparsed_effect("nested too deeply to follow")
