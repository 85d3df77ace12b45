"""Shell text read for what it does: each command by its program's table, then what flows from one to another."""

from __future__ import annotations

from verdikt.effects import host
from verdikt.effects.call import Call
from verdikt.effects.code import read_code
from verdikt.effects.consequence import consequences, hidden, is_foreign, of
from verdikt.effects.flow import OUT, RAW, SHELLS, copies, follow, hand_over, keys
from verdikt.effects.made import LOSES, REPLACES, SHEDS, keep, shed, spare
from verdikt.effects.program import lookup
from verdikt.effects.program.table import Program
from verdikt.effects.reach import NAME, opens, reached
from verdikt.effects.source import NEAR, feed, is_endless, language_of, meant, output, program_word
from verdikt.effects.verb import destroys
from verdikt.effects.zone import is_device, is_sink
from verdikt.model.effect import Certainty, Effect, EffectClass, Target
from verdikt.model.regex import regex
from verdikt.model.value import Value, replace
from verdikt.shell.analysis import analyse
from verdikt.shell.command import UNKNOWN, Command, Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from verdikt.effects.target import Resolver
    from verdikt.shell.command import Code, Redirect

_AUTHORS = frozenset("find gfind awk gawk mawk nawk sed gsed".split())
"""Programs that write files of their own accord, and put something into them."""

DEPTH = 6
"""How far texts inside texts are followed; beyond that, unknown."""

_RUNNERS = SHELLS | frozenset("python python2 python3 perl ruby node php lua eval source . deno bun exec".split())
_FETCHERS = frozenset("curl wget wget2 fetch aria2c lynx http https xh w3m".split())
_DECODERS = frozenset("base64 base32 xxd openssl uudecode gpg rev tr gunzip zcat".split())
_DOWNLOADERS = frozenset("curl wget wget2 aria2c axel".split())
_UNWRAPPERS = frozenset("base64 base32 xxd openssl uudecode gpg".split())
"""Programs that turn what nobody can read into a program."""
_KEEPERS = _DOWNLOADERS | _UNWRAPPERS | frozenset("cat tee echo printf".split())
"""Programs that may put into a file what is run later."""
_FETCHES = regex(r"(?<![\w/.-])(?:curl|wget|wget2|fetch|aria2c|lynx|http|https|xh)\s|urlopen\(|requests\.get")
_INIT = regex(
    r"(?:init|hook|shellenv|activate|completions?|env|shell-init|printenv|--version|export|-s|-k|alias|shell|setup|ssh-agent|dircolors|resize|login)\b"
)
_FORGES = regex(r"\b(?:from|import)\s+verdikt\.(?:ledger|cli)\b")
_TCP = regex(r"^/dev/(?:tcp|udp)/([^/]+)/")
_SPLICED = regex(r"""[\w.](?:''|""|\\(?=[\w.]))[\w.]|[\w.]'[\w.]+'|[\w.]"[\w.]+"[\w.]""")
_LURKING = regex(r"^(?:/tmp|/var/tmp|/dev/shm)/(?:[^/]+/)*\.[^/]+$|^/dev/shm/")
_POOL = "stratum+"
_POWERSHELL = regex(
    r"\s*(?:(?:\$\w+\s*=\s*|\(|&\s*\{\s*)?[A-Z][a-z]+-[A-Z]\w+\b|\[[A-Za-z.]+\]::|(?:irm|iwr)\s|ri\s[^|;]*-(?:r|fo))"
)
"""How a text begins that is PowerShell's, and no other shell's."""
_POWERSHELL_STARTS = (*"ABCDEFGHIJKLMNOPQRSTUVWXYZ$(&[", "irm", "iwr", "ri")
_UNIX_STARTS = frozenset("abcdefghjklmnopqstuvwxyz./~#")
_CMDLET = regex(r"^[A-Z][a-z]+-[A-Z][A-Za-z]+$")
_UNINSTALLS = regex(r"(?:^|[-_.])(?:uninstall|destroy|wipe|nuke|teardown)(?:[-_.]|$)")
_SHOWS = regex(r"^(?:\$\(|`)\s*(?:cat|head|tail|sed|awk|grep|cut|tr|rev|xxd|base64|openssl)\b|^\$\(<")
_PROGRAM_UNKNOWN = regex(
    rf"(?:^|[;&|(\n{{`]|\b(?:do|then|else|if|while|until|eval|exec|time|sudo|env)\s|!\s)\s*(?:\w+=\S*\s+)*[\"']?[^\s;&|=]*{UNKNOWN}"
)
"""Something unknown where the name of a program stands."""
_COMPILERS = frozenset("go gcc g++ cc c++ clang clang++ rustc java javac tcc swiftc swift".split())
_SOURCES = {".go": "go", ".c": "c", ".cc": "c", ".cpp": "c", ".rs": "rust", ".java": "java", ".swift": "swift"}
_SAYERS = frozenset("cat echo printf".split())
_INTO = (">", ">|", ">>", "&>", "&>>")


def _is_powershell(text: str) -> bool:
    """Whether a text is PowerShell's. The first letters tell most that are not, without loading `re`."""
    return (
        text[:1] not in _UNIX_STARTS
        and text.lstrip().startswith(_POWERSHELL_STARTS)
        and _POWERSHELL.match(text) is not None
    )


class Step(Value):
    """One command of what was read, with what it does; `depth` is how far inside the text it stands."""

    depth: int
    command: Command
    effects: tuple[Effect, ...]


class Reading:
    """One action's shell text, being read. Files written on the way are remembered, for when they are run."""

    __slots__ = ("_copies", "_depth", "_fetched", "_keys", "_near", "_resolver", "_unwrapped", "_written", "steps")

    def __init__(self, resolver: Resolver, steps: list[Step] | None = None) -> None:
        self._resolver = resolver
        self._depth = 0
        self._written: dict[str, str] = {}
        self._fetched: set[str] = set()
        self._unwrapped: set[str] = set()
        self._keys: set[str] = set()
        self._copies: set[str] = set()
        self._near = False
        """Whether something in it has our name."""
        self.steps = steps
        """Where the steps are noted, when somebody wants to see them."""

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
        self._near = self._near or NAME in text
        start = cwd.text if cwd is not None and cwd.known else facts.cwd
        script = analyse(text, home=facts.home, cwd=start, read=self._read)
        commands = script.commands
        if where or (cwd is not None and not cwd.known):
            commands = tuple(
                replace(c, where=c.where or where, cwd=c.cwd if c.cwd is not None or cwd is None else cwd)
                for c in commands
            )
        foreign = self._windows(text) if self._depth == 1 and _is_powershell(text) else []
        alone = len(commands) == 1 and not commands[0].conditional and not foreign
        if alone and not script.codes and not script.problems and self.steps is None:
            return self._alone(commands)
        found = [self._command(index, command, commands) for index, command in enumerate(commands)]
        loose = foreign
        for code in script.codes:
            into = found[code.command] if code.command is not None and code.command < len(found) else loose
            into += self._code(code, commands)
        self._consequences(commands, found)
        if loose:
            loose += consequences(loose, facts)
        names = {effect.what for effects in found for effect in effects}
        if "cred.read" in names:
            hand_over(commands, found)
        follow(commands, found)
        if not names.isdisjoint(LOSES):
            keep(commands, found, self._resolver)
        if not names.isdisjoint(SHEDS):
            shed(commands, found)
        if not names.isdisjoint(REPLACES):
            spare(text, commands, found, self._resolver)
        if self.steps is not None:
            self.steps += [Step(self._depth + c.depth, c, tuple(e)) for c, e in zip(commands, found, strict=True)]
        if len(found) == 1 and not loose and not script.problems:
            return found[0]
        return [*(e for effects in found for e in effects), *loose, *map(_unknown, script.problems)]

    def _consequences(self, commands: Sequence[Command], found: list[list[Effect]]) -> None:
        """Adds what the effects of each command come to by where they fall, in order."""
        notable = False
        for index, effects in enumerate(found):
            if more := consequences(effects, self._resolver.facts, self._copies):
                more = [effect for effect in more if not self._is_own(effect)]
                effects.extend(more)
                effects.extend(self._spliced(more, commands[index]))
                notable = True
            if len(found) > 1:
                self._keys.update(keys(effects))
            if notable:
                self._copies.update(copies(index, commands, found))

    def _windows(self, text: str) -> list[Effect]:
        """What the text would do in the shell whose language it begins in."""
        call = Call(Command(argv=(Word(text[:80]),)), self._resolver, (), self._inner)
        return list(read_code("powershell", text, call))

    def _alone(self, commands: Sequence[Command]) -> list[Effect]:
        """What one command does that nothing stands beside."""
        effects = self._command(0, commands[0], commands)
        if more := consequences(effects, self._resolver.facts, self._copies):
            effects.extend(more)
            effects.extend(self._spliced(more, commands[0]))
            self._copies.update(copies(0, commands, [effects]))
        for effect in effects:
            if effect.what.startswith(OUT):
                follow(commands, [effects])
                break
        return effects

    def _read(self, path: str) -> str | None:
        """The text of a script that is run: what this action wrote there, else what is on the disk."""
        if path in self._written:
            return self._written[path]
        return self._resolver.facts.text(path)

    def _inner(self, text: str, command: Command) -> list[Effect]:
        return self.script(text, command.cwd, command.where)

    # One command.

    def _command(self, index: int, command: Command, commands: Sequence[Command]) -> list[Effect]:
        call = Call(command, self._resolver, commands, self._inner)
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
            found = self._around(call, index)
            if not name:
                return found
        if name in _RUNNERS:
            found += self._substituted(call, index)
        effects = self._program(call)
        if name in _KEEPERS:
            self._remember(call)
        elif name in _COMPILERS and (self._written or command.stdin):
            effects = [*effects, *self._compiled(call)]
        if self._near:
            effects = [*effects, *reached(call, effects)]
        return found + effects if found else effects

    def _around(self, call: Call, index: int) -> list[Effect]:
        """What a command does besides running its program: assignments, redirections, the background."""
        command = call.command
        found: list[Effect] = []
        if command.repeated and any(not word.known for word in command.argv[1:]):
            feed(call, index)
        for variable, value in command.assignments:
            found += self._assigned(call, variable, value)
        for redirect in command.redirects:
            found += self._redirect(call, redirect)
        if command.background:
            found.append(call.effect("proc.spawn", note="goes on in the background"))
        if command.argv and not call.name:
            found += self._nameless(call)
        elif call.name and f"{call.name}()" in command.via and (command.background or command.pipe_to is not None):
            found.append(call.effect("sys.crash", note="a function that starts itself over and over"))
        return found

    def _assigned(self, call: Call, name: str, value: Word) -> list[Effect]:
        from verdikt.effects.variable import assigned

        found: list[Effect] = []
        for effect in assigned(call, name, value):
            found.append(effect)
            # A file that a shell runs before anything else.
            if effect.what == "code.run" and effect.targets[0].path and (text := self._read(effect.targets[0].path)):
                found += self._inner(text, call.command)
        return found

    def _program(self, call: Call) -> list[Effect]:
        command = call.command
        found: list[Effect] = []
        program = lookup(call.name)
        if program is not None:
            found = call.run(program)
        elif command.argv[0].glob:
            for name in meant(call.name):
                found += call.run(lookup(name) or Program())
        elif "/" in command.argv[0].text:
            found += call.on("code.run", [command.argv[0]])
            if _LURKING.match(command.argv[0].text) or any(_POOL in word.text for word in command.argv):
                found += self._lurking(call)
        else:
            found = self._unknown_program(call)
        for effect in found:
            if effect.what == "code.run":
                return found + self._ran(call, found)
        return found

    def _lurking(self, call: Call) -> list[Effect]:
        """A program that hides among temporary files, or one that works for a mining pool."""
        if any(_POOL in word.text for word in call.command.argv):
            return [call.effect("proc.mine", (Target(call.name, "other"),))]
        target = call.path(call.command.argv[0])
        if target.path in self._written:
            return []
        return [call.effect("code.unknown", (target,), note="a program that hides among temporary files")]

    def _spliced(self, effects: Sequence[Effect], command: Command) -> list[Effect]:
        """Secrets whose name is taken apart: nobody writes `~/.s''sh` but to be overlooked."""
        if not any(
            _SPLICED.search(word.raw) for word in command.argv if word.raw != word.text and word.raw[1:3] != ":\\"
        ):
            return []
        return [
            of("cred.read.hidden", effect, effect.targets, note="its name is taken apart")
            for effect in effects
            if effect.what == "cred.read" and any(map(self._foreign, effect.targets))
        ]

    def _is_own(self, effect: Effect) -> bool:
        """Whether a secret is read that this very text made among temporary files, and is no copy of another."""
        return effect.what == "cred.read" and all(
            target.path in self._keys and target.path not in self._copies for target in effect.targets
        )

    def _foreign(self, target: Target) -> bool:
        return is_foreign(target, self._resolver.root)

    def _unknown_program(self, call: Call) -> list[Effect]:
        """Nobody here knows it; what it is given may tell something all the same."""
        found = [call.effect("unknown.program", (Target(call.name, "other"),))]
        words = call.command.argv[1:]
        secrets = tuple(t for word in words if "/" in word.text and self._foreign(t := call.path(word)))
        if secrets:
            found.append(call.effect("cred.read", secrets, possible=True))
        texts = [word.text for word in words if word.known]
        if devices := tuple(t for word in words if word.text[:5] == "/dev/" and is_device((t := call.path(word)).path)):
            found.append(call.effect("disk.write", devices, possible=True))
        if any(_POOL in text for text in texts):
            found.append(call.effect("proc.mine", (Target(call.name, "other"),)))
        if _CMDLET.match(call.name):
            above = [c for c in call.upstream() if _CMDLET.match(c.name)]
            line = " | ".join(" ".join(w.raw or w.text for w in c.argv) for c in (*reversed(above), call.command))
            found += read_code("powershell", line, call)
        elif destroys(texts) or _UNINSTALLS.search(call.name):
            # Told in so many words to destroy something.
            found.append(
                call.effect("unknown.destroy", (Target(" ".join([call.name, *texts[:3]]), "other"),), possible=True)
            )
        return found

    def _nameless(self, call: Call) -> list[Effect]:
        """A command whose program is not known: it may be anything, and its arguments tell how bad that could be."""
        first, rest = call.command.argv[0], call.command.argv[1:]
        if _FETCHES.search(first.raw):
            return [call.effect("code.remote", note="runs what it downloads")]
        found: list[Effect] = []
        if not rest and first.raw.startswith(("$(", "`")) and _SHOWS.search(first.raw):
            found.append(call.effect("code.unknown", possible=True, note="runs what a file holds"))
        if {word.text for word in rest} & {"-rf", "-fr", "-Rf", "-r", "-R"}:
            targets = [word for word in rest if not word.text.startswith("-")]
            found += call.on("fs.delete.tree", targets, possible=True, note="if the unknown program is `rm`")
        return [*found, call.effect("unknown.program", (Target(first.shown, "other"),), possible=True)]

    def _substituted(self, call: Call, index: int) -> list[Effect]:
        """An interpreter whose program is the output of another command: `eval "$(…)"`, `sh -c "$(…)"`, `bash <(…)`."""
        word = program_word(call.command)
        if word is None or (_is_told(word) and not word.raw.startswith("<(")):
            return []
        names = {c.name for c in call.commands[max(0, index - NEAR) : index] if c.feeds == index}
        if names & _FETCHERS or _FETCHES.search(word.raw):
            source = (Target(word.raw or word.shown, "other"),)
            return [call.effect("code.remote", source, note="runs what it downloads")]
        if names & RAW:
            return [call.effect("net.shell", note="runs whatever the other side sends")]
        if names & _DECODERS:
            return [call.effect("code.hidden", note="runs what a decoder makes of its input")]
        if call.name in ("source", ".") or _INIT.search(word.raw):
            return []
        if call.name in SHELLS and _PROGRAM_UNKNOWN.search(word.text) is None:
            return []  # which programs run is told, and with what they run the effects of each say
        return [call.effect("code.unknown", possible=True, note="runs text that is made at run time")]

    def _ran(self, call: Call, effects: Sequence[Effect]) -> list[Effect]:
        """A file that is run: judged by what this action put into it, or where it came from."""
        found: list[Effect] = []
        for effect in effects:
            if effect.what != "code.run":
                continue
            for target in effect.targets:
                if target.path in self._fetched:
                    found.append(call.effect("code.remote", (target,), note="runs what it downloaded"))
                elif target.path in self._unwrapped and target.path not in self._written:
                    found.append(call.effect("code.hidden", (target,), note="runs what a decoder made"))
                elif target.path:
                    found += self._script_file(call, target.path)
        return found

    def _script_file(self, call: Call, path: str) -> list[Effect]:
        """The effects of a file in another language than shell; shell files are followed by the shell analysis."""
        language = language_of(call.name, path, SHELLS)
        text = self._read(path) if language else None
        if text is None or self._depth >= DEPTH:
            return []
        found = self._read_code(language, text, call)
        # A program that was there before may use the library; one that this action wrote is looked at more closely.
        if language == "python" and path in self._written and _FORGES.search(text):
            found.append(call.effect("guard.forge"))
        return found

    def _compiled(self, call: Call) -> list[Effect]:
        """What a program does that this action wrote and has compiled: nobody does that but to run it."""
        found: list[Effect] = []
        if call.command.stdin and any(word.text == "-" for word in call.command.argv):
            found += self._read_code("c", call.command.stdin, call)
        for word in call.command.argv[1:]:
            language = _SOURCES.get(word.text[word.text.rfind(".") :])
            text = self._written.get(self._resolver.absolute(word.text, call.command.cwd)) if language else None
            if language and text is not None:
                found += self._read_code(language, text, call)
        return found

    def _remember(self, call: Call) -> None:
        """What the command put into files, for when they are run later in the same text."""
        command, absolute = call.command, self._resolver.absolute
        into = [r.target for r in command.redirects if r.op in _INTO]
        if call.name in _DOWNLOADERS:
            into += call.args.all("-o --output -O --output-document --out")
            if call.args.has("-O --remote-name") or call.name.startswith("wget"):
                into += [Word(w.text.split("?")[0].rsplit("/", 1)[-1]) for w in call.args.operands if "/" in w.text]
            self._fetched.update(filter(None, (absolute(word.text, command.cwd) for word in into if word.known)))
            return
        if call.name in _UNWRAPPERS:
            into += call.args.all("-o -out --output -r")
            if call.args.has("-d -D --decode -r --decrypt"):
                self._unwrapped.update(filter(None, (absolute(word.text, command.cwd) for word in into if word.known)))
        into += call.args.operands if call.name == "tee" else []
        if into and (text := output(command)) is not None:
            self._written.update({absolute(word.text, command.cwd): text for word in into if word.known})

    # Redirections.

    def _redirect(self, call: Call, redirect: Redirect) -> Sequence[Effect]:
        op, target = redirect.op, redirect.target
        if op in ("<<", "<<-", "<<<") or (op in (">&", "<&") and (target.text.isdigit() or target.text in ("-", ""))):
            return ()
        if target.text == "/dev/null":
            return ()
        if target.text.startswith("/dev/") and (found := _TCP.match(target.text)):
            return (self._network_file(call, op, found.group(1)),)
        if op in ("<", "<&"):
            return call.on("fs.read", [target])
        if op in (">>", "&>>"):
            return call.on("fs.append", [target])
        if op == "<>":
            return call.on("fs.write", [target])
        if op not in (">&", "&>", ">", ">|") or (op == ">&" and not target.known):
            return ()
        effects = call.on("fs.truncate" if _empties(call.command, redirect) else "fs.overwrite", [target])
        if is_endless(call.command) and not is_sink(target.text):
            effects.append(call.effect("fs.fill", (call.path(target),)))
        return effects

    def _network_file(self, call: Call, op: str, name: str) -> Effect:
        """bash's `/dev/tcp/host/port`."""
        hosts = (Target(host.host(name), "host"),)
        if call.name in SHELLS or call.name == "exec" or not call.command.argv:
            return call.effect("net.shell", hosts, note="a shell over a bare connection")
        if op.startswith("<") and op != "<>":
            return call.effect("net.fetch", hosts)
        return call.effect("net.local" if host.is_local(name) else "net.send", hosts)

    # Other languages.

    def _code(self, code: Code, commands: Sequence[Command]) -> list[Effect]:
        known = code.command is not None and code.command < len(commands)
        owner = commands[code.command or 0] if known else Command(argv=(Word(code.language),))
        call = Call(owner, self._resolver, commands, self._inner)
        if not code.known and not code.text.replace(UNKNOWN, "").strip():
            # What a file holds that this text did not write is no more unknown than any program.
            if program_word(owner) is None and not call.reads_pipe() and code.language != "sh":
                note = f"{code.language} code that the text does not show"
                return [call.effect("code.unknown", possible=True, note=note)]
            return []
        if self._depth >= DEPTH:
            return [_unknown("nested too deeply to follow")]
        found = self._read_code(code.language, code.text, call)
        if code.language == "python" and _FORGES.search(code.text):
            found.append(call.effect("guard.forge"))
        if self._near and opens(code.text):
            found.append(call.effect("guard.tamper", (Target("the warm process", "other"),)))
        return found

    def _read_code(self, language: str, text: str, call: Call) -> list[Effect]:
        self._depth += 1
        try:
            effects = list(read_code(language, text, call))
        finally:
            self._depth -= 1
        return effects + hidden(effects, self._resolver.root)


def _is_told(word: Word) -> bool:
    """Whether a word is as it stands there, but for secrets that were taken out of it."""
    return word.known or word.text.count(UNKNOWN) <= word.raw.count(UNKNOWN)


def _empties(command: Command, redirect: Redirect) -> bool:
    """Whether a redirection leaves its file empty: `> x`, `: > x`, `cat /dev/null > x`, `echo -n > x`."""
    if command.name in _SAYERS and redirect.fd == 1 and len(command.argv) <= 3:
        words = [word.text for word in command.argv[1:]]
        return (words == ["/dev/null"]) if command.name == "cat" else not "".join(words).removeprefix("-n").strip()
    if not command.argv and command.via and command.via[-1] in _AUTHORS:
        return False  # `find -fprint`, awk and sed put something there
    return command.name in ("", ":", "true") and redirect.fd == 1 and command.pipe_from is None


def _unknown(problem: str) -> Effect:
    return Effect(
        cls=EffectClass.EXECUTE, what="unknown.parse", certainty=Certainty.POSSIBLE, recoverable=False, note=problem
    )
