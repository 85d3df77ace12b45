"""Shell text read for what it does: each command by its program's table, then what flows from one to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from verdikt.effects import host
from verdikt.effects.code import classify_code
from verdikt.effects.command_input import (
    MAX_LOOKBEHIND,
    detect_language,
    find_program_word,
    find_static_output,
    has_endless_output,
    match_programs,
    substitute_listed_names,
)
from verdikt.effects.command_verbs import has_destroy_verb
from verdikt.effects.created_in_session import (
    DELETE_EFFECTS,
    REF_DELETE_EFFECTS,
    REPLACE_EFFECTS,
    downgrade_conditional_writes,
    downgrade_own_ref_deletes,
    mark_own_deletes,
)
from verdikt.effects.dataflow import (
    OUTGOING_PREFIXES,
    RAW_CONNECTION_PROGRAMS,
    SHELLS,
    drop_login_reads,
    find_secret_copies,
    find_temporary_writes,
    trace_dataflow,
)
from verdikt.effects.environment_variables import classify_assignment
from verdikt.effects.invocation import Invocation
from verdikt.effects.program import find_program
from verdikt.effects.program.table import Program
from verdikt.effects.self_protection import PRODUCT_NAME, find_self_access, mentions_daemon_socket
from verdikt.effects.zone import is_device, is_sink
from verdikt.effects.zone_effects import derive_effect, derive_hidden_reads, derive_zone_effects, is_foreign_secret
from verdikt.model.effect import Certainty, Effect, EffectClass, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.analysis import analyse
from verdikt.shell.command import UNKNOWN, Command, Word

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver
    from verdikt.shell.command import Code, Redirect

_FILE_WRITING_PROGRAMS = frozenset("find gfind awk gawk mawk nawk sed gsed".split())
"""Programs that write files of their own accord, and put something into them."""

MAX_DEPTH = 6
"""How far texts inside texts are followed; beyond that, unknown."""

_INTERPRETERS = SHELLS | frozenset("python python2 python3 perl ruby node php lua eval source . deno bun exec".split())
_FETCHERS = frozenset("curl wget wget2 fetch aria2c lynx http https xh w3m".split())
_DECODERS = frozenset("base64 base32 xxd openssl uudecode gpg rev tr gunzip zcat".split())
_DOWNLOADERS = frozenset("curl wget wget2 aria2c axel".split())
_PAYLOAD_DECODERS = frozenset("base64 base32 xxd openssl uudecode gpg".split())
"""Programs that turn what nobody can read into a program."""
_FILE_SOURCES = _DOWNLOADERS | _PAYLOAD_DECODERS | frozenset("cat tee echo printf".split())
"""Programs that may put into a file what is run later."""
_FETCH_PATTERN = compile_lazily(
    r"(?<![\w/.-])(?:curl|wget|wget2|fetch|aria2c|lynx|http|https|xh)\s|urlopen\(|requests\.get"
)
_SHELL_INIT = compile_lazily(
    r"(?:init|hook|shellenv|activate|completions?|env|shell-init|printenv|--version|export|-s|-k|alias|shell|setup|ssh-agent|dircolors|resize|login)\b"
)
_IMPORTS_VERDIKT = compile_lazily(r"\b(?:from|import)\s+verdikt\.(?:ledger|cli)\b")
_NETWORK_DEVICE = compile_lazily(r"^/dev/(?:tcp|udp)/([^/]+)/")
_SPLICED_WORD = compile_lazily(r"""[\w.](?:''|""|\\(?=[\w.]))[\w.]|[\w.]'[\w.]+'|[\w.]"[\w.]+"[\w.]""")
_HIDDEN_TEMPORARY = compile_lazily(r"^(?:/tmp|/var/tmp|/dev/shm)/(?:[^/]+/)*\.[^/]+$|^/dev/shm/")
_MINING_POOL = "stratum+"
_POWERSHELL_START = compile_lazily(
    r"\s*(?:(?:\$\w+\s*=\s*|\(|&\s*\{\s*)?[A-Z][a-z]+-[A-Z]\w+\b|\[[A-Za-z.]+\]::|(?:irm|iwr)\s|ri\s[^|;]*-(?:r|fo))"
)
"""How a text begins that is PowerShell's, and no other shell's."""
_POWERSHELL_FIRST_CHARACTERS = (*"ABCDEFGHIJKLMNOPQRSTUVWXYZ$(&[", "irm", "iwr", "ri")
_UNIX_FIRST_CHARACTERS = frozenset("abcdefghjklmnopqstuvwxyz./~#")
_CMDLET = compile_lazily(r"^[A-Z][a-z]+-[A-Z][A-Za-z]+$")
_DESTRUCTIVE_NAME = compile_lazily(r"(?:^|[-_.])(?:uninstall|destroy|wipe|nuke|teardown)(?:[-_.]|$)")
_PRINTS_FILE = compile_lazily(r"^(?:\$\(|`)\s*(?:cat|head|tail|sed|awk|grep|cut|tr|rev|xxd|base64|openssl)\b|^\$\(<")
_UNKNOWN_PROGRAM_NAME = compile_lazily(
    rf"(?:^|[;&|(\n{{`]|\b(?:do|then|else|if|while|until|eval|exec|time|sudo|env)\s|!\s)\s*(?:\w+=\S*\s+)*[\"']?[^\s;&|=]*{UNKNOWN}"
)
"""Something unknown where the name of a program stands."""
_COMPILERS = frozenset("go gcc g++ cc c++ clang clang++ rustc java javac tcc swiftc swift".split())
_SOURCE_LANGUAGES = {".go": "go", ".c": "c", ".cc": "c", ".cpp": "c", ".rs": "rust", ".java": "java", ".swift": "swift"}
_PRINT_PROGRAMS = frozenset("cat echo printf".split())
_OUTPUT_OPERATORS = (">", ">|", ">>", "&>", "&>>")


def _is_powershell(text: str) -> bool:
    """Whether a text is PowerShell's. The first letters tell most that are not, without loading `re`."""
    return (
        text[:1] not in _UNIX_FIRST_CHARACTERS
        and text.lstrip().startswith(_POWERSHELL_FIRST_CHARACTERS)
        and _POWERSHELL_START.match(text) is not None
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One command of what was read, with what it does; `depth` is how far inside the text it stands."""

    depth: int
    command: Command
    effects: tuple[Effect, ...]


class ScriptClassifier:
    """One action's shell text, being read. Files written on the way are remembered, for when they are run."""

    __slots__ = (
        "_decoded_paths",
        "_depth",
        "_downloaded_paths",
        "_mentions_verdikt",
        "_resolver",
        "_secret_copies",
        "_temporary_paths",
        "_written_texts",
        "steps",
    )

    def __init__(self, resolver: TargetResolver, steps: list[Step] | None = None) -> None:
        self._resolver = resolver
        self._depth = 0
        self._written_texts: dict[str, str] = {}
        self._downloaded_paths: set[str] = set()
        self._decoded_paths: set[str] = set()
        self._temporary_paths: set[str] = set()
        self._secret_copies: set[str] = set()
        self._mentions_verdikt = False
        """Whether something in it has our name."""
        self.steps = steps
        """Where the steps are noted, when somebody wants to see them."""

    def classify_shell(self, text: str, cwd: Word | None = None, where: str = "") -> list[Effect]:
        """What shell text does, in order."""
        if self._depth >= MAX_DEPTH:
            return [_make_unknown_effect("nested too deeply to follow")]
        self._depth += 1
        try:
            return self._classify_script(text, cwd, where)
        finally:
            self._depth -= 1

    def _classify_script(self, text: str, cwd: Word | None, where: str) -> list[Effect]:
        facts = self._resolver.facts
        self._mentions_verdikt = self._mentions_verdikt or PRODUCT_NAME in text
        start = cwd.text if cwd is not None and cwd.is_known else facts.cwd
        script = analyse(text, home=facts.home, cwd=start, read=self._load_script)
        commands = script.commands
        if where or (cwd is not None and not cwd.is_known):
            commands = tuple(
                replace(c, host=c.host or where, cwd=c.cwd if c.cwd is not None or cwd is None else cwd)
                for c in commands
            )
        foreign = self._classify_powershell(text) if self._depth == 1 and _is_powershell(text) else []
        alone = len(commands) == 1 and not commands[0].conditional and not foreign
        if alone and not script.codes and not script.problems and self.steps is None:
            return self._classify_single(commands)
        found = [self._classify_command(index, command, commands) for index, command in enumerate(commands)]
        loose = foreign
        for code in script.codes:
            into = found[code.command] if code.command is not None and code.command < len(found) else loose
            into += self._classify_embedded_code(code, commands)
        self._add_zone_effects(commands, found)
        if loose:
            loose += derive_zone_effects(loose, facts)
        names = {effect.what for effects in found for effect in effects}
        if "cred.read" in names:
            drop_login_reads(commands, found)
        trace_dataflow(commands, found)
        if not names.isdisjoint(DELETE_EFFECTS):
            mark_own_deletes(commands, found, self._resolver)
        if not names.isdisjoint(REF_DELETE_EFFECTS):
            downgrade_own_ref_deletes(commands, found)
        if not names.isdisjoint(REPLACE_EFFECTS):
            downgrade_conditional_writes(text, commands, found, self._resolver)
        if self.steps is not None:
            self.steps += [Step(self._depth + c.depth, c, tuple(e)) for c, e in zip(commands, found, strict=True)]
        if len(found) == 1 and not loose and not script.problems:
            return found[0]
        return [*(e for effects in found for e in effects), *loose, *map(_make_unknown_effect, script.problems)]

    def _add_zone_effects(self, commands: Sequence[Command], effects_by_command: list[list[Effect]]) -> None:
        """Adds what the effects of each command come to by where they fall, in order."""
        notable = False
        for index, effects in enumerate(effects_by_command):
            if more := derive_zone_effects(effects, self._resolver.facts, self._secret_copies):
                more = [effect for effect in more if not self._is_own_temporary(effect)]
                effects.extend(more)
                effects.extend(self._find_spliced_secrets(more, commands[index]))
                notable = True
            if len(effects_by_command) > 1:
                self._temporary_paths.update(find_temporary_writes(effects))
            if notable:
                self._secret_copies.update(find_secret_copies(index, commands, effects_by_command))

    def _classify_powershell(self, text: str) -> list[Effect]:
        """What the text would do in the shell whose language it begins in."""
        call = Invocation(Command(argv=(Word(text[:80]),)), self._resolver, (), self._classify_inner)
        return list(classify_code("powershell", text, call))

    def _classify_single(self, commands: Sequence[Command]) -> list[Effect]:
        """What one command does that nothing stands beside."""
        effects = self._classify_command(0, commands[0], commands)
        if more := derive_zone_effects(effects, self._resolver.facts, self._secret_copies):
            effects.extend(more)
            effects.extend(self._find_spliced_secrets(more, commands[0]))
            self._secret_copies.update(find_secret_copies(0, commands, [effects]))
        for effect in effects:
            if effect.what.startswith(OUTGOING_PREFIXES):
                trace_dataflow(commands, [effects])
                break
        return effects

    def _load_script(self, path: str) -> str | None:
        """The text of a script that is run: what this action wrote there, else what is on the disk."""
        if path in self._written_texts:
            return self._written_texts[path]
        return self._resolver.facts.text(path)

    def _classify_inner(self, text: str, command: Command) -> list[Effect]:
        return self.classify_shell(text, command.cwd, command.host)

    # One command.

    def _classify_command(self, index: int, command: Command, commands: Sequence[Command]) -> list[Effect]:
        call = Invocation(command, self._resolver, commands, self._classify_inner)
        name = call.name
        found: list[Effect] = []
        if (
            command.via
            or command.redirects
            or command.assignments
            or command.background
            or command.repeated
            or not name
        ):
            found = self._classify_modifiers(call, index)
            if not name:
                return found
        if name in _INTERPRETERS:
            found += self._classify_substitution(call, index)
        effects = self._classify_program(call)
        if name in _FILE_SOURCES:
            self._remember_written_files(call)
        elif name in _COMPILERS and (self._written_texts or command.stdin):
            effects = [*effects, *self._classify_compiled_sources(call)]
        if self._mentions_verdikt:
            effects = [*effects, *find_self_access(call, effects)]
        return found + effects if found else effects

    def _classify_modifiers(self, call: Invocation, index: int) -> list[Effect]:
        """What a command does besides running its program: assignments, redirections, the background."""
        command = call.command
        found: list[Effect] = []
        if command.repeated and any(not word.is_known for word in command.argv[1:]):
            substitute_listed_names(call, index)
        for variable, value in command.assignments:
            found += self._classify_assignment(call, variable, value)
        for redirect in command.redirects:
            found += self._classify_redirect(call, redirect)
        if command.background:
            found.append(call.make_effect("proc.spawn", note="goes on in the background"))
        if command.argv and not call.name:
            found += self._classify_unnamed_program(call)
        elif call.name and f"{call.name}()" in command.via and (command.background or command.pipe_to is not None):
            found.append(call.make_effect("sys.crash", note="a function that starts itself over and over"))
        return found

    def _classify_assignment(self, call: Invocation, name: str, value: Word) -> list[Effect]:
        found: list[Effect] = []
        for effect in classify_assignment(call, name, value):
            found.append(effect)
            # A file that a shell runs before anything else.
            if (
                effect.what == "code.run"
                and effect.targets[0].path
                and (text := self._load_script(effect.targets[0].path))
            ):
                found += self._classify_inner(text, call.command)
        return found

    def _classify_program(self, call: Invocation) -> list[Effect]:
        command = call.command
        found: list[Effect] = []
        program = find_program(call.name)
        if program is not None:
            found = call.classify_program(program)
        elif command.argv[0].glob:
            for name in match_programs(call.name):
                found += call.classify_program(find_program(name) or Program())
        elif "/" in command.argv[0].text:
            found += call.make_effects("code.run", [command.argv[0]])
            if _HIDDEN_TEMPORARY.match(command.argv[0].text) or any(_MINING_POOL in word.text for word in command.argv):
                found += self._classify_hidden_program(call)
        else:
            found = self._classify_unknown_program(call)
        for effect in found:
            if effect.what == "code.run":
                return found + self._classify_run_files(call, found)
        return found

    def _classify_hidden_program(self, call: Invocation) -> list[Effect]:
        """A program that hides among temporary files, or one that works for a mining pool."""
        if any(_MINING_POOL in word.text for word in call.command.argv):
            return [call.make_effect("proc.mine", (Target(call.name, "other"),))]
        target = call.resolve_path(call.command.argv[0])
        if target.path in self._written_texts:
            return []
        return [call.make_effect("code.unknown", (target,), note="a program that hides among temporary files")]

    def _find_spliced_secrets(self, effects: Sequence[Effect], command: Command) -> list[Effect]:
        """Secrets whose name is taken apart: nobody writes `~/.s''sh` but to be overlooked."""
        if not any(
            _SPLICED_WORD.search(word.raw) for word in command.argv if word.raw != word.text and word.raw[1:3] != ":\\"
        ):
            return []
        return [
            derive_effect("cred.read.hidden", effect, effect.targets, note="its name is taken apart")
            for effect in effects
            if effect.what == "cred.read" and any(map(self._is_foreign_secret, effect.targets))
        ]

    def _is_own_temporary(self, effect: Effect) -> bool:
        """Whether a secret is read that this very text made among temporary files, and is no copy of another."""
        return effect.what == "cred.read" and all(
            target.path in self._temporary_paths and target.path not in self._secret_copies for target in effect.targets
        )

    def _is_foreign_secret(self, target: Target) -> bool:
        return is_foreign_secret(target, self._resolver.project_root)

    def _classify_unknown_program(self, call: Invocation) -> list[Effect]:
        """Nobody here knows it; what it is given may tell something all the same."""
        found = [call.make_effect("unknown.program", (Target(call.name, "other"),))]
        words = call.command.argv[1:]
        secrets = tuple(
            t for word in words if "/" in word.text and self._is_foreign_secret(t := call.resolve_path(word))
        )
        if secrets:
            found.append(call.make_effect("cred.read", secrets, possible=True))
        texts = [word.text for word in words if word.is_known]
        if devices := tuple(
            t for word in words if word.text[:5] == "/dev/" and is_device((t := call.resolve_path(word)).path)
        ):
            found.append(call.make_effect("disk.write", devices, possible=True))
        if any(_MINING_POOL in text for text in texts):
            found.append(call.make_effect("proc.mine", (Target(call.name, "other"),)))
        if _CMDLET.match(call.name):
            above = [c for c in call.iter_upstream() if _CMDLET.match(c.name)]
            line = " | ".join(" ".join(w.raw or w.text for w in c.argv) for c in (*reversed(above), call.command))
            found += classify_code("powershell", line, call)
        elif has_destroy_verb(texts) or _DESTRUCTIVE_NAME.search(call.name):
            # Told in so many words to destroy something.
            found.append(
                call.make_effect(
                    "unknown.destroy", (Target(" ".join([call.name, *texts[:3]]), "other"),), possible=True
                )
            )
        return found

    def _classify_unnamed_program(self, call: Invocation) -> list[Effect]:
        """A command whose program is not known: it may be anything, and its arguments tell how bad that could be."""
        first, rest = call.command.argv[0], call.command.argv[1:]
        if _FETCH_PATTERN.search(first.raw):
            return [call.make_effect("code.remote", note="runs what it downloads")]
        found: list[Effect] = []
        if not rest and first.raw.startswith(("$(", "`")) and _PRINTS_FILE.search(first.raw):
            found.append(call.make_effect("code.unknown", possible=True, note="runs what a file holds"))
        if {word.text for word in rest} & {"-rf", "-fr", "-Rf", "-r", "-R"}:
            targets = [word for word in rest if not word.text.startswith("-")]
            found += call.make_effects("fs.delete.tree", targets, possible=True, note="if the unknown program is `rm`")
        return [*found, call.make_effect("unknown.program", (Target(first.display_text, "other"),), possible=True)]

    def _classify_substitution(self, call: Invocation, index: int) -> list[Effect]:
        """An interpreter whose program is the output of another command: `eval "$(…)"`, `sh -c "$(…)"`, `bash <(…)`."""
        word = find_program_word(call.command)
        if word is None or (_is_literal(word) and not word.raw.startswith("<(")):
            return []
        names = {c.name for c in call.commands[max(0, index - MAX_LOOKBEHIND) : index] if c.feeds == index}
        if names & _FETCHERS or _FETCH_PATTERN.search(word.raw):
            source = (Target(word.raw or word.display_text, "other"),)
            return [call.make_effect("code.remote", source, note="runs what it downloads")]
        if names & RAW_CONNECTION_PROGRAMS:
            return [call.make_effect("net.shell", note="runs whatever the other side sends")]
        if names & _DECODERS:
            return [call.make_effect("code.hidden", note="runs what a decoder makes of its input")]
        if call.name in ("source", ".") or _SHELL_INIT.search(word.raw):
            return []
        if call.name in SHELLS and _UNKNOWN_PROGRAM_NAME.search(word.text) is None:
            return []  # which programs run is told, and with what they run the effects of each say
        return [call.make_effect("code.unknown", possible=True, note="runs text that is made at run time")]

    def _classify_run_files(self, call: Invocation, effects: Sequence[Effect]) -> list[Effect]:
        """A file that is run: judged by what this action put into it, or where it came from."""
        found: list[Effect] = []
        for effect in effects:
            if effect.what != "code.run":
                continue
            for target in effect.targets:
                if target.path in self._downloaded_paths:
                    found.append(call.make_effect("code.remote", (target,), note="runs what it downloaded"))
                elif target.path in self._decoded_paths and target.path not in self._written_texts:
                    found.append(call.make_effect("code.hidden", (target,), note="runs what a decoder made"))
                elif target.path:
                    found += self._classify_script_file(call, target.path)
        return found

    def _classify_script_file(self, call: Invocation, path: str) -> list[Effect]:
        """The effects of a file in another language than shell; shell files are followed by the shell analysis."""
        language = detect_language(call.name, path, SHELLS)
        text = self._load_script(path) if language else None
        if text is None or self._depth >= MAX_DEPTH:
            return []
        found = self._classify_code(language, text, call)
        # A program that was there before may use the library; one that this action wrote is looked at more closely.
        if language == "python" and path in self._written_texts and _IMPORTS_VERDIKT.search(text):
            found.append(call.make_effect("guard.forge"))
        return found

    def _classify_compiled_sources(self, call: Invocation) -> list[Effect]:
        """What a program does that this action wrote and has compiled: nobody does that but to run it."""
        found: list[Effect] = []
        if call.command.stdin and any(word.text == "-" for word in call.command.argv):
            found += self._classify_code("c", call.command.stdin, call)
        for word in call.command.argv[1:]:
            language = _SOURCE_LANGUAGES.get(word.text[word.text.rfind(".") :])
            text = (
                self._written_texts.get(self._resolver.to_absolute(word.text, call.command.cwd)) if language else None
            )
            if language and text is not None:
                found += self._classify_code(language, text, call)
        return found

    def _remember_written_files(self, call: Invocation) -> None:
        """What the command put into files, for when they are run later in the same text."""
        command, absolute = call.command, self._resolver.to_absolute
        into = [r.target for r in command.redirects if r.op in _OUTPUT_OPERATORS]
        if call.name in _DOWNLOADERS:
            into += call.args.get_values("-o --output -O --output-document --out")
            if call.args.has_flag("-O --remote-name") or call.name.startswith("wget"):
                into += [Word(w.text.split("?")[0].rsplit("/", 1)[-1]) for w in call.args.operands if "/" in w.text]
            self._downloaded_paths.update(
                filter(None, (absolute(word.text, command.cwd) for word in into if word.is_known))
            )
            return
        if call.name in _PAYLOAD_DECODERS:
            into += call.args.get_values("-o -out --output -r")
            if call.args.has_flag("-d -D --decode -r --decrypt"):
                self._decoded_paths.update(
                    filter(None, (absolute(word.text, command.cwd) for word in into if word.is_known))
                )
        into += call.args.operands if call.name == "tee" else []
        if into and (text := find_static_output(command)) is not None:
            self._written_texts.update({absolute(word.text, command.cwd): text for word in into if word.is_known})

    # Redirections.

    def _classify_redirect(self, call: Invocation, redirect: Redirect) -> Sequence[Effect]:
        op, target = redirect.op, redirect.target
        if op in ("<<", "<<-", "<<<") or (op in (">&", "<&") and (target.text.isdigit() or target.text in ("-", ""))):
            return ()
        if target.text == "/dev/null":
            return ()
        if target.text.startswith("/dev/") and (found := _NETWORK_DEVICE.match(target.text)):
            return (self._classify_network_file(call, op, found.group(1)),)
        if op in ("<", "<&"):
            return call.make_effects("fs.read", [target])
        if op in (">>", "&>>"):
            return call.make_effects("fs.append", [target])
        if op == "<>":
            return call.make_effects("fs.write", [target])
        if op not in (">&", "&>", ">", ">|") or (op == ">&" and not target.is_known):
            return ()
        effects = call.make_effects(
            "fs.truncate" if _empties_file(call.command, redirect) else "fs.overwrite", [target]
        )
        if has_endless_output(call.command) and not is_sink(target.text):
            effects.append(call.make_effect("fs.fill", (call.resolve_path(target),)))
        return effects

    def _classify_network_file(self, call: Invocation, op: str, name: str) -> Effect:
        """bash's `/dev/tcp/host/port`."""
        hosts = (Target(host.parse_host(name), "host"),)
        if call.name in SHELLS or call.name == "exec" or not call.command.argv:
            return call.make_effect("net.shell", hosts, note="a shell over a bare connection")
        if op.startswith("<") and op != "<>":
            return call.make_effect("net.fetch", hosts)
        return call.make_effect("net.local" if host.is_local_host(name) else "net.send", hosts)

    # Other languages.

    def _classify_embedded_code(self, code: Code, commands: Sequence[Command]) -> list[Effect]:
        known = code.command is not None and code.command < len(commands)
        owner = commands[code.command or 0] if known else Command(argv=(Word(code.language),))
        call = Invocation(owner, self._resolver, commands, self._classify_inner)
        if not code.is_known and not code.text.replace(UNKNOWN, "").strip():
            # What a file holds that this text did not write is no more unknown than any program.
            if find_program_word(owner) is None and not call.has_piped_input() and code.language != "sh":
                note = f"{code.language} code that the text does not show"
                return [call.make_effect("code.unknown", possible=True, note=note)]
            return []
        if self._depth >= MAX_DEPTH:
            return [_make_unknown_effect("nested too deeply to follow")]
        found = self._classify_code(code.language, code.text, call)
        if code.language == "python" and _IMPORTS_VERDIKT.search(code.text):
            found.append(call.make_effect("guard.forge"))
        if self._mentions_verdikt and mentions_daemon_socket(code.text):
            found.append(call.make_effect("guard.tamper", (Target("the warm process", "other"),)))
        return found

    def _classify_code(self, language: str, text: str, call: Invocation) -> list[Effect]:
        self._depth += 1
        try:
            effects = list(classify_code(language, text, call))
        finally:
            self._depth -= 1
        return effects + derive_hidden_reads(effects, self._resolver.project_root)


def _is_literal(word: Word) -> bool:
    """Whether a word is as it stands there, but for secrets that were taken out of it."""
    return word.is_known or word.text.count(UNKNOWN) <= word.raw.count(UNKNOWN)


def _empties_file(command: Command, redirect: Redirect) -> bool:
    """Whether a redirection leaves its file empty: `> x`, `: > x`, `cat /dev/null > x`, `echo -n > x`."""
    if command.name in _PRINT_PROGRAMS and redirect.fd == 1 and len(command.argv) <= 3:
        words = [word.text for word in command.argv[1:]]
        return (words == ["/dev/null"]) if command.name == "cat" else not "".join(words).removeprefix("-n").strip()
    if not command.argv and command.via and command.via[-1] in _FILE_WRITING_PROGRAMS:
        return False  # `find -fprint`, awk and sed put something there
    return command.name in ("", ":", "true") and redirect.fd == 1 and command.pipe_from is None


def _make_unknown_effect(problem: str) -> Effect:
    return Effect(
        cls=EffectClass.EXECUTE, what="unknown.parse", certainty=Certainty.POSSIBLE, recoverable=False, note=problem
    )
