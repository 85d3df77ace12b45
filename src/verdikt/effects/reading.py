"""Shell text read for what it does: each command by its program's table, then what flows from one to another."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from verdikt.effects import host
from verdikt.effects.call import Call
from verdikt.effects.code import read_code
from verdikt.effects.name import named
from verdikt.effects.program import lookup
from verdikt.effects.program.find import narrowed, selected
from verdikt.effects.program.table import Program
from verdikt.effects.target import Resolver
from verdikt.effects.verb import destroys
from verdikt.effects.zone import homely, is_hook
from verdikt.model.effect import Certainty, Effect, EffectClass, Target, Zone
from verdikt.model.facts import Facts
from verdikt.shell.analysis import analyse
from verdikt.shell.command import UNKNOWN, Code, Command, Redirect, Word

DEPTH = 6
"""How far texts inside texts are followed; beyond that, unknown."""

_WRITES = (
    "fs.write",
    "fs.append",
    "fs.overwrite",
    "fs.truncate",
    "fs.delete",
    "fs.shred",
    "fs.move",
    "fs.link",
    "fs.chmod",
    "fs.chown",
)
_PUTS = ("fs.write", "fs.append", "fs.overwrite")
_SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh"])
_RUNNERS = _SHELLS | frozenset(
    ["python", "python2", "python3", "perl", "ruby", "node", "php", "lua", "eval", "source", ".", "deno", "bun", "exec"]
)
_FETCHERS = frozenset(["curl", "wget", "wget2", "fetch", "aria2c", "lynx", "http", "https", "xh", "w3m"])
_DECODERS = frozenset(["base64", "base32", "xxd", "openssl", "uudecode", "gpg", "rev", "tr", "gunzip", "zcat"])
_NAMERS = frozenset(["find", "gfind", "fd", "fdfind", "ls", "git", "grep", "egrep", "rg", "locate"])
_RAW = frozenset(
    ["nc", "ncat", "netcat", "telnet", "socat", "openssl", "socket", "nc.traditional", "nc.openbsd", "websocat", "ztcp"]
)
_FETCHES = re.compile(r"(?<![\w/.-])(?:curl|wget|wget2|fetch|aria2c|lynx|http|https|xh)\s|urlopen\(|requests\.get")
_INIT = re.compile(
    r"(?:init|hook|shellenv|activate|completions?|env|shell-init|printenv|--version|export|-s|-k|alias|shell|setup|ssh-agent|dircolors|resize|login)\b"
)
_TCP = re.compile(r"^/dev/(?:tcp|udp)/([^/]+)/")
_SPLICED = re.compile(r"""[\w.](?:''|""|\\(?=[\w.]))[\w.]|[\w.]'[\w.]+'|[\w.]"[\w.]+"[\w.]""")
_EMPTYING = frozenset(("", ":", "true"))


class Reading:
    """One action's shell text, being read. Files written on the way are remembered, for when they are run."""

    __slots__ = ("_depth", "_fetched", "_resolver", "_tainted", "_written", "problems")

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._depth = 0
        self._written: dict[str, str] = {}
        self._fetched: set[str] = set()
        self._tainted: set[str] = set()
        self.problems: list[str] = []

    def script(self, text: str, cwd: Word | None = None, where: str = "") -> list[Effect]:
        """What shell text does, in order."""
        if self._depth >= DEPTH:
            return [_unknown("nested too deeply to follow")]
        self._depth += 1
        try:
            return self._script(text, cwd, where)
        finally:
            self._depth -= 1

    def _script(self, text: str, cwd: Word | None, where: str) -> list[Effect]:
        facts = self._resolver.facts
        start = cwd.text if cwd is not None and cwd.known else facts.cwd
        script = analyse(text, home=facts.home, cwd=start, env={}, read=self._read, aliases={})
        commands = script.commands
        if where or (cwd is not None and not cwd.known):
            commands = tuple(
                replace(c, where=c.where or where, cwd=c.cwd if c.cwd is not None or cwd is None else cwd)
                for c in commands
            )
        found: list[list[Effect]] = []
        for index, command in enumerate(commands):
            found.append(list(self._command(index, command, commands)))
        loose: list[Effect] = []
        for code in script.codes:
            into = found[code.command] if code.command is not None and code.command < len(found) else loose
            into.extend(self._code(code, commands))
        for index, effects in enumerate(found):
            effects.extend(self._derived(effects))
            self._taint(index, commands, found)
        loose.extend(self._derived(loose))
        self._flow(commands, found)
        problems = [_unknown(problem) for problem in script.problems]
        self.problems.extend(script.problems)
        return [*(e for effects in found for e in effects), *loose, *problems]

    def _read(self, path: str) -> str | None:
        """The text of a script that is run: what this action wrote there, else what is on the disk."""
        if path in self._written:
            return self._written[path]
        return self._resolver.facts.text(path)

    def _inner(self, text: str, command: Command) -> Iterable[Effect]:
        return self.script(text, command.cwd, command.where)

    def _call(self, command: Command, commands: Sequence[Command]) -> Call:
        return Call(command, self._resolver, commands, self._inner)

    # -- one command ----------------------------------------------------------------------------------------------

    def _command(self, index: int, command: Command, commands: Sequence[Command]) -> Iterator[Effect]:
        call = self._call(command, commands)
        if command.repeated and any(not word.known for word in command.argv[1:]):
            self._fed(call, index)
        for name, value in command.assignments:
            yield from self._assigned(call, name, value)
        if command.redirects:
            yield from self._redirects(call)
        if command.background:
            yield call.effect("proc.spawn", note="goes on in the background")
        if not command.argv:
            return
        name = command.name
        if not name:
            yield from self._nameless(call)
            return
        if command.via and f"{name}()" in command.via and (command.background or command.pipe_to is not None):
            yield call.effect("sys.crash", note="a function that starts itself over and over")
        if name in _RUNNERS:
            yield from self._substituted(call, index)
        yield from self._program(call)
        self._remember(call)

    def _assigned(self, call: Call, name: str, value: Word) -> Iterator[Effect]:
        for effect in call.assigned(name, value):
            yield effect
            # A file that a shell runs before anything else.
            if effect.what == "code.run" and effect.targets[0].path and (text := self._read(effect.targets[0].path)):
                yield from self._inner(text, call.command)

    def _program(self, call: Call) -> Iterator[Effect]:
        command = call.command
        for word in command.argv[1:]:
            # Nobody writes `~/.s''sh` but to be overlooked.
            if _SPLICED.search(word.raw) and self._foreign_secret(target := call.path(word)):
                yield call.effect("cred.read.hidden", (target,), note="its name is taken apart")
        program = lookup(command.name)
        if program is not None:
            effects = list(call.run(program))
        elif command.argv[0].glob:
            effects = [effect for name in _meant(command.name) for effect in call.run(lookup(name) or Program())]
        elif "/" in command.argv[0].text:
            effects = list(call.on("code.run", [command.argv[0]]))
        else:
            effects = [
                call.effect("unknown.program", (Target(command.name, "other"),)),
                *self._named_secrets(call),
                *_unknown_verb(call),
            ]
        yield from effects
        yield from self._ran(call, effects)

    def _named_secrets(self, call: Call) -> Iterator[Effect]:
        """An unknown program that is given a secret of the person's very likely reads it."""
        for word in call.command.argv[1:]:
            if "/" in word.text and self._foreign_secret(target := call.path(word)):
                yield call.effect("cred.read", (target,), possible=True)

    def _fed(self, call: Call, index: int) -> None:
        """Puts the names that `find` or `ls` would give in the place of the words that come from them."""
        command, commands = call.command, call.commands
        source: Command | None = None
        if "find" in command.via[-1:] or (command.via and command.via[-1].startswith("find")):
            source = next((c for c in reversed(commands[:index]) if c.name in ("find", "gfind")), None)
        else:
            source = next((c for c in call.upstream() if c.name in _NAMERS), None)
        if source is None:
            return
        given = _names(source)
        if not given:
            return
        words: list[Word] = []
        for word in command.argv:
            words.extend([word] if word.known else given)
        call.command = replace(command, argv=tuple(words))
        call.doubt = source.name not in ("ls", "find", "gfind") or narrowed(source)

    def _nameless(self, call: Call) -> Iterator[Effect]:
        """A command whose program is not known: it may be anything, and its arguments tell how bad that could be."""
        first, rest = call.command.argv[0], call.command.argv[1:]
        if _FETCHES.search(first.raw):
            yield call.effect("code.remote", note="runs what it downloads")
            return
        flags = {word.text for word in rest}
        if flags & {"-rf", "-fr", "-Rf", "-r", "-R"}:
            targets = [word for word in rest if not word.text.startswith("-")]
            yield from call.on("fs.delete.tree", targets, possible=True, note="if the unknown program is `rm`")
        yield call.effect("unknown.program", (Target(first.shown, "other"),), possible=True)

    def _substituted(self, call: Call, index: int) -> Iterator[Effect]:
        """An interpreter whose program is the output of another command: `eval "$(…)"`, `sh -c "$(…)"`, `bash <(…)`."""
        word = _program_word(call.command)
        if word is None or (word.known and not word.raw.startswith("<(")):
            return
        names = {c.name for c in call.commands if c.feeds == index}
        if names & _FETCHERS or _FETCHES.search(word.raw):
            yield call.effect("code.remote", (Target(word.raw or word.shown, "other"),), note="runs what it downloads")
        elif names & _RAW:
            yield call.effect("net.shell", note="runs whatever the other side sends")
        elif names & _DECODERS:
            yield call.effect("code.hidden", note="runs what a decoder makes of its input")
        elif call.command.name in ("source", "."):
            return
        elif not _INIT.search(word.raw):
            yield call.effect("code.unknown", possible=True, note="runs text that is made at run time")

    def _ran(self, call: Call, effects: Sequence[Effect]) -> Iterator[Effect]:
        """A file that is run: judged by what this action put into it, or where it came from."""
        for effect in effects:
            if effect.what != "code.run":
                continue
            for target in effect.targets:
                if target.path in self._fetched:
                    yield call.effect("code.remote", (target,), note="runs what it downloaded")
                elif target.path:
                    yield from self._script_file(call, target.path)

    def _script_file(self, call: Call, path: str) -> Iterator[Effect]:
        """The effects of a file in another language than shell; shell files are followed by the shell analysis."""
        language = _language(call.name, path)
        if not language:
            return
        text = self._read(path)
        if text is not None and self._depth < DEPTH:
            yield from self._read_code(language, text, call)

    def _remember(self, call: Call) -> None:
        """What the command put into files, for when they are run later in the same text."""
        command = call.command
        name = command.name
        if name in ("curl", "wget", "wget2", "aria2c", "axel"):
            outputs = [*call.args.all("-o --output -O --output-document --out")]
            if call.args.has("-O --remote-name") or name.startswith("wget"):
                outputs += [Word(w.text.split("?")[0].rsplit("/", 1)[-1]) for w in call.args.operands if "/" in w.text]
            self._fetched.update(
                filter(None, (self._resolver.absolute(w.text, command.cwd) for w in outputs if w.known))
            )
            self._fetched.update(self._outputs(command))
            return
        text = _output(command)
        if text is None:
            return
        for path in self._outputs(command):
            self._written[path] = text
        if name == "tee":
            for word in call.args.operands:
                if word.known and (path := self._resolver.absolute(word.text, command.cwd)):
                    self._written[path] = text

    def _outputs(self, command: Command) -> list[str]:
        paths = (
            self._resolver.absolute(r.target.text, command.cwd)
            for r in command.redirects
            if r.op in (">", ">|", ">>", "&>", "&>>") and r.target.known
        )
        return [path for path in paths if path]

    # -- redirections ---------------------------------------------------------------------------------------------

    def _redirects(self, call: Call) -> Iterator[Effect]:
        for redirect in call.command.redirects:
            yield from self._redirect(call, redirect)

    def _redirect(self, call: Call, redirect: Redirect) -> Iterator[Effect]:
        op, target, command = redirect.op, redirect.target, call.command
        if op in ("<<", "<<-", "<<<"):
            return
        if op in (">&", "<&") and (target.text.isdigit() or target.text in ("-", "")):
            return
        if found := _TCP.match(target.text):
            yield from self._network_file(call, op, found.group(1))
            return
        if op in ("<", "<&"):
            yield from call.on("fs.read", [target])
            return
        if op in (">>", "&>>"):
            yield from call.on("fs.append", [target])
            return
        if op == "<>":
            yield from call.on("fs.write", [target])
            return
        if op in (">&", "&>", ">", ">|") and not (op == ">&" and not target.known):
            empties = command.name in _EMPTYING and redirect.fd == 1 and command.pipe_from is None
            empties = empties or (command.name == "cat" and [w.text for w in command.argv[1:]] == ["/dev/null"])
            yield from call.on("fs.truncate" if empties else "fs.overwrite", [target])

    def _network_file(self, call: Call, op: str, name: str) -> Iterator[Effect]:
        """bash's `/dev/tcp/host/port`."""
        hosts = (Target(host.host(name), "host"),)
        program = call.command.name
        if program in _SHELLS or program == "exec" or not call.command.argv:
            yield call.effect("net.shell", hosts, note="a shell over a bare connection")
        elif op.startswith("<") and op != "<>":
            yield call.effect("net.fetch", hosts)
        else:
            yield call.effect("net.local" if host.is_local(name) else "net.send", hosts)

    # -- other languages --------------------------------------------------------------------------------------------

    def _code(self, code: Code, commands: Sequence[Command]) -> Iterator[Effect]:
        owner = (
            commands[code.command]
            if code.command is not None and code.command < len(commands)
            else Command(argv=(Word(code.language),))
        )
        call = self._call(owner, commands)
        if not code.known and not code.text.replace(UNKNOWN, "").strip():
            # What a file holds that this text did not write is no more unknown than any program.
            if _program_word(owner) is None and not call.reads_pipe() and code.language != "sh":
                yield call.effect(
                    "code.unknown", possible=True, note=f"{code.language} code that the text does not show"
                )
            return
        if self._depth >= DEPTH:
            yield _unknown("nested too deeply to follow")
            return
        yield from self._read_code(code.language, code.text, call)

    def _read_code(self, language: str, text: str, call: Call) -> Iterator[Effect]:
        self._depth += 1
        try:
            effects = list(read_code(language, text, call))
        finally:
            self._depth -= 1
        yield from effects
        yield from self._hidden(effects)

    # -- what follows from where things lie ---------------------------------------------------------------------------

    def _derived(self, effects: Sequence[Effect]) -> Iterator[Effect]:
        """Reading a secret, writing where things run from, touching a guard: told by the zones of the targets."""
        for effect in effects:
            if effect.what in ("fs.read", "disk.read"):
                secrets = tuple(t for t in effect.targets if t.zone is Zone.SECRET)
                if secrets:
                    yield _of("cred.read", effect, secrets)
                tainted = [t.path for t in effect.targets if t.path in self._tainted]
                if tainted:
                    yield _of("cred.read", effect, effect.targets, note="a copy of a secret")
            elif effect.what.startswith(_WRITES):
                yield from derived_writes(effect, self._resolver.facts)

    def _hidden(self, effects: Iterable[Effect]) -> Iterator[Effect]:
        """Secrets outside the project that program text reads: no program of the project needs that."""
        for effect in effects:
            if effect.what == "fs.read":
                secrets = tuple(target for target in effect.targets if self._foreign_secret(target))
                if secrets:
                    yield _of("cred.read.hidden", effect, secrets)

    def _foreign_secret(self, target: Target) -> bool:
        root = self._resolver.root
        return target.zone is Zone.SECRET and not (root and target.path.startswith(root + "/"))

    # -- what flows where -----------------------------------------------------------------------------------------------

    def _flow(self, commands: Sequence[Command], found: list[list[Effect]]) -> None:
        """Secrets that reach the network, shells that hang on a connection."""
        secret, env = self._sources(commands, found)
        substituted = any(flag and _inside(command) for flag, command in zip(secret, commands, strict=True))
        substituted_env = any(flag and _inside(command) for flag, command in zip(env, commands, strict=True))
        for index, command in enumerate(commands):
            out = [
                e
                for e in found[index]
                if e.what.startswith(("net.send", "net.fetch", "net.connect", "net.lookup", "message.send"))
            ]
            if out and command.name in _RAW and self._feeds_from_shell(index, commands):
                found[index].append(_of("net.shell", out[0], out[0].targets, note="a shell over a connection"))
            sends = [e for e in out if not all(host.is_local(t.text) for t in e.targets) or not e.targets]
            if not sends:
                continue
            if secret[index] or (substituted and not _inside(command)):
                found[index].append(_of("cred.send", sends[0], sends[0].targets))
            elif env[index] or (substituted_env and not _inside(command)):
                found[index].append(_of("cred.send", sends[0], sends[0].targets, possible=True, note="the environment"))

    def _taint(self, index: int, commands: Sequence[Command], found: list[list[Effect]]) -> None:
        """Files into which a command puts a secret are secrets from then on."""
        puts = [effect for effect in found[index] if effect.what in _PUTS]
        above: int | None = index
        for _ in range(32 if puts else 0):
            if above is None:
                return
            if any(effect.what.startswith("cred.read") for effect in found[above]):
                self._tainted.update(target.path for effect in puts for target in effect.targets if target.path)
                return
            above = commands[above].pipe_from

    def _sources(self, commands: Sequence[Command], found: list[list[Effect]]) -> tuple[list[bool], list[bool]]:
        """For each command, whether what it puts out holds a secret, or the environment."""
        secret = [any(e.what.startswith("cred.read") for e in effects) for effects in found]
        env = [any(e.what.startswith("env.read") for e in effects) for effects in found]
        for index in range(len(commands) - 1, -1, -1):
            # What runs inside a wrapper is what the wrapper puts out.
            for inner in range(index + 1, len(commands)):
                if len(commands[inner].via) <= len(commands[index].via):
                    break
                secret[index] |= secret[inner]
                env[index] |= env[inner]
        for index, command in enumerate(commands):
            above = command.pipe_from
            if above is not None and 0 <= above < len(commands) and above != index:
                secret[index] |= secret[above]
                env[index] |= env[above] and command.name not in ("grep", "egrep", "rg", "head", "wc")
        return secret, env

    def _feeds_from_shell(self, index: int, commands: Sequence[Command]) -> bool:
        above, seen = commands[index].pipe_from, 0
        while above is not None and 0 <= above < len(commands) and seen < 32:
            command = commands[above]
            words = [word.text for word in command.argv[1:]]
            if command.name in _SHELLS and ("-i" in words or not [w for w in words if not w.startswith("-")]):
                return True
            above, seen = command.pipe_from, seen + 1
        return False


def derived_writes(effect: Effect, facts: Facts) -> Iterator[Effect]:
    """What a write comes to by where it goes: a guard, what runs later, a credential."""
    home = facts.home
    guards: list[Target] = []
    hooks: list[Target] = []
    later: list[Target] = []
    secrets: list[Target] = []
    for target in effect.targets:
        if target.zone is Zone.GUARD:
            (hooks if is_hook(homely(target.path, home)) else guards).append(target)
        elif effect.what.startswith(_WHOLE) and _holds_guard(target.path, facts):
            guards.append(target)
        elif target.zone is Zone.PERSIST:
            later.append(target)
        elif target.zone is Zone.SECRET and (
            target.state != "absent" or homely(target.path, home).startswith(("~/.", "/etc"))
        ):
            secrets.append(target)
    if guards:
        yield _of("guard.tamper", effect, tuple(guards))
    if hooks and not effect.what.startswith("fs.delete"):
        yield _of("persist.hook", effect, tuple(hooks))
    elif hooks:
        yield _of("git.hook.skip", effect, tuple(hooks), note="removes a git hook")
    if later and not effect.what.startswith(("fs.delete", "fs.shred", "fs.truncate")):
        yield _of("persist.write", effect, tuple(later))
    if secrets and not effect.what.startswith(("fs.delete", "fs.shred", "fs.truncate")):
        yield _of("cred.write", effect, tuple(secrets))


_WHOLE = ("fs.delete", "fs.move", "fs.chmod.tree", "fs.chown.tree")
"""What happens to a directory together with everything in it."""


def _holds_guard(path: str, facts: Facts) -> bool:
    """Whether something that watches over the agent lies below a directory."""
    below = path.rstrip("/") + "/"
    return bool(path) and any(
        place.startswith(below) and facts.path(place, git=False).exists for place in facts.guarded
    )


def _of(what: str, effect: Effect, targets: tuple[Target, ...], *, possible: bool = False, note: str = "") -> Effect:
    """Another effect of the same command."""
    entry = named(what)
    return Effect(
        cls=entry.cls,
        what=what,
        targets=targets,
        certainty=Certainty.POSSIBLE if possible else effect.certainty,
        recoverable=entry.recoverable,
        by=effect.by,
        note=note or effect.note,
    )


def _unknown_verb(call: Call) -> Iterator[Effect]:
    """A program that no table knows, told in so many words to destroy something."""
    texts = [word.text for word in call.command.argv[1:] if word.known]
    if destroys(texts):
        yield call.effect("unknown.destroy", (Target(" ".join(texts[:3]), "other"),), possible=True)


def _unknown(problem: str) -> Effect:
    return Effect(
        cls=EffectClass.EXECUTE, what="unknown.parse", certainty=Certainty.POSSIBLE, recoverable=False, note=problem
    )


def _inside(command: Command) -> bool:
    """Whether a command's output becomes part of another's words."""
    return command.feeds is not None


def _program_word(command: Command) -> Word | None:
    """The word that an interpreter takes its program from: after `-c` or `-e`, else the first operand."""
    words = command.argv[1:]
    if command.name == "eval":
        return next((word for word in words if not word.known), words[0] if words else None)
    for position, word in enumerate(words):
        text = word.text
        if text.startswith("-") and not text.startswith("--") and text[-1:] in "ce" and text[1:].isalpha():
            return words[position + 1] if position + 1 < len(words) else None
        if not text.startswith(("-", "+")):
            return word
    return None


def _meant(pattern: str) -> list[str]:
    """The programs that a wildcard in the place of a program may stand for, of those that matter."""
    from fnmatch import fnmatchcase

    return [
        name
        for name in ("rm", "dd", "shred", "mv", "cp", "cat", "chmod", "chown", "nc", "curl", "tee")
        if fnmatchcase(name, pattern)
    ]


def _names(source: Command) -> list[Word]:
    """The names that a command gives to what it feeds, as words."""
    if source.name in ("find", "gfind"):
        return selected(source)
    operands = [word for word in source.argv[1:] if not word.text.startswith("-")]
    if source.name == "ls":
        return [Word(f"{word.text.rstrip('/')}/*", word.raw, True) if not word.glob else word for word in operands] or [
            Word("*", "*", True)
        ]
    if source.name == "git":
        return [Word("**/*", "*", True)]
    return [Word(f"{word.text.rstrip('/')}/**/*", word.raw, True) for word in operands[1:]] or [Word("**/*", "*", True)]


def _output(command: Command) -> str | None:
    """What a command writes to its output, where the text tells."""
    if command.stdin is not None and command.name in ("cat", "tee"):
        return command.stdin
    if command.name in ("echo", "printf") and all(word.known for word in command.argv):
        words = [word.text for word in command.argv[1:] if word.text not in ("-e", "-n", "-en", "-ne")]
        text = " ".join(words)
        return text.replace("\\n", "\n").replace("\\t", "\t")
    return None


_EXTENSIONS = {
    ".py": "python",
    ".js": "node",
    ".mjs": "node",
    ".cjs": "node",
    ".ts": "node",
    ".pl": "perl",
    ".rb": "ruby",
    ".php": "php",
    ".lua": "lua",
    ".sql": "sql",
    ".ps1": "powershell",
}
_INTERPRETERS = {
    "python": "python",
    "pypy": "python",
    "py": "python",
    "node": "node",
    "nodejs": "node",
    "perl": "perl",
    "ruby": "ruby",
    "php": "php",
    "lua": "lua",
}


def _language(program: str, path: str) -> str:
    """The language of a file that a program runs; empty for shell and for what nobody here reads."""
    for name, language in _INTERPRETERS.items():
        if program.startswith(name):
            return language
    if program in _SHELLS or program in ("source", "."):
        return ""
    dot = path.rfind(".")
    return _EXTENSIONS.get(path[dot:], "") if dot > path.rfind("/") else ""
