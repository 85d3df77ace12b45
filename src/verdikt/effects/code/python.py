"""Python by its own syntax tree: calls that touch the world, with arguments as far as they are constants."""

import ast
import re
from collections.abc import Iterator
from itertools import islice

from verdikt.effects import host
from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.code.carried import carriers, mentions
from verdikt.effects.code.constant import DECODE, HIDDEN, Constants, quoted
from verdikt.effects.code.legible import Legible
from verdikt.effects.code.library import TAKES, lost
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word

_SHELL = words(
    "os.system os.popen subprocess.getoutput subprocess.getstatusoutput commands.getoutput popen2.popen2 asyncio.create_subprocess_shell"
)
_SPAWN = words(
    "subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen asyncio.create_subprocess_exec "
    "pty.spawn os.execv os.execve os.execvp os.execvpe os.execl os.execlp os.execle os.execlpe os.spawnl os.spawnlp os.spawnv os.spawnvp "
    "os.posix_spawn os.posix_spawnp sh.bash"
)
_PATHS: dict[str, tuple[tuple[str, int], ...]] = {
    "os.remove": (("fs.delete", 0),),
    "os.unlink": (("fs.delete", 0),),
    "os.rmdir": (("fs.delete", 0),),
    "os.removedirs": (("fs.delete", 0),),
    "shutil.rmtree": (("fs.delete.tree", 0),),
    "distutils.dir_util.remove_tree": (("fs.delete.tree", 0),),
    "os.rename": (("fs.move", 0), ("fs.overwrite", 1)),
    "os.replace": (("fs.move", 0), ("fs.overwrite", 1)),
    "shutil.move": (("fs.move", 0), ("fs.overwrite", 1)),
    "shutil.copy": (("fs.read", 0), ("fs.overwrite", 1)),
    "shutil.copy2": (("fs.read", 0), ("fs.overwrite", 1)),
    "shutil.copyfile": (("fs.read", 0), ("fs.overwrite", 1)),
    "shutil.copytree": (("fs.read", 0), ("fs.overwrite", 1)),
    "os.chmod": (("fs.chmod", 0),),
    "os.mkdir": (("fs.write", 0),),
    "os.makedirs": (("fs.write", 0),),
    "os.chown": (("fs.chown", 0),),
    "os.symlink": (("fs.link", 1),),
    "os.link": (("fs.link", 1),),
    "os.truncate": (("fs.truncate", 0),),
}
"""Function → what it does to which of its arguments."""
_FETCH = words(
    "urllib.request.urlopen urllib.request.urlretrieve urllib2.urlopen requests.get requests.head httpx.get httpx.head requests.options "
    "aiohttp.ClientSession urllib.urlopen urllib3.PoolManager urllib.request.Request"
)
_SEND = words(
    "requests.post requests.put requests.patch requests.delete requests.request httpx.post httpx.put httpx.patch httpx.delete"
)
_SHELLS = words("sh bash zsh dash /bin/sh /bin/bash")
_UNPACKS = words("pickle.loads marshal.loads dill.loads cloudpickle.loads")
"""Functions that run what they unpack."""
_RUNS_INPUT = regex(r"\s*'?(?:/bin/|/usr/bin/)?(?:ba|z|da|k)?sh'?(?:\s+'?-[se]*'?)*\s*$")
_LIMIT = 100_000
"""Parts of a program that are looked at; no file that is read has as many."""
_POWERS = frozenset(("os", "subprocess", "shutil", "builtins", "__builtins__", "sys", "ctypes", "socket", "pty"))
_WHOLE_ENV = regex(r"^(?:[\w.]+\()*os\.environ(?:\.(?:items|copy|values)\(\))?(?:,[^)]*)?\)*$")
_MAGIC = regex(r"^[ \t]*[!](.+)$|^(?=%%(?:bash|sh)\b)", re.MULTILINE)


class _Module(Constants):
    """One module, walked for what its calls do."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call
        self.socket = self.dup = self.shell = False
        self.effects: list[Effect] = []
        self.nodes = 0
        self.statements: list[str] = []
        self.carriers: frozenset[str] = frozenset()
        """Names that hold every variable of the environment."""
        self.put: set[str] = set()
        self.started: set[str] = set()
        self.fetches = False
        self.light = False
        """Whether the database is one that lives and dies with the program."""

    def read(self, tree: ast.AST) -> None:
        nodes = list(islice(ast.walk(tree), max(0, _LIMIT + 1 - self.nodes)))
        self.nodes += len(nodes)
        if self.nodes > _LIMIT:
            self.effects.append(self.call.effect("code.unknown", possible=True, note="more than anybody reads"))
        for node in nodes:
            self.learn(node)
        if "os" in self.names.values() or "os.environ" in self.names.values():
            self.carriers = carriers(tree, self._whole_environment)
        for node in nodes:
            if isinstance(node, ast.Call):
                self._called(node)
            elif isinstance(node, ast.While | ast.For | ast.ListComp | ast.GeneratorExp) and self._forks(node):
                self.effects.append(self.call.effect("sys.crash", note="starts itself over and over"))
        if self.statements and not self.light:
            from verdikt.effects.code.sql import read_sql

            # Read as one text: what is made by a statement may go by another.
            self.effects += read_sql(";\n".join(self.statements), self.call)
        if self.fetches and self.put & self.started:
            self.effects.append(self.call.effect("code.remote", note="runs what it downloaded"))
        if self.socket and (self.dup or self.shell):
            self.effects.append(self.call.effect("net.shell", note="a shell over a socket"))

    def _called(self, node: ast.Call) -> None:
        function = self.dotted(node.func)
        if not function:
            return
        first = (
            node.args[0]
            if node.args
            else next(
                (k.value for k in node.keywords if k.arg in ("args", "cmd", "command", "url", "path", "file")), None
            )
        )
        add = self.effects.extend
        if function in _PATHS:
            for what, index in _PATHS[function]:
                add(self._on(what, first if index == 0 else node.args[index] if len(node.args) > index else None))
        elif function in _SHELL:
            self.shell = True
            add(self._shell(first))
        elif function in _SPAWN or function.startswith(("os.exec", "os.spawn")):
            self.shell = True
            add(self._spawn(node, first, function))
        elif function in ("open", "io.open", "codecs.open"):
            add(self._open(node, first))
        elif function in _FETCH or function in _SEND:
            add(self._net(node, first, function))
        elif function in ("eval", "exec", "compile") or function in _UNPACKS:
            add(self._evaluate(first))
        elif not self._told(node, function, first):
            self.dup |= function == "os.dup2"
            self.socket |= function in ("socket.socket", "socket.create_connection", "socket.create_server")
            self._method(node, function)

    def _forks(self, loop: ast.AST) -> bool:
        """Whether a loop without an end makes a copy of the program in every turn."""
        if isinstance(loop, ast.For) or (isinstance(loop, ast.While) and ast.unparse(loop.test) not in ("True", "1")):
            return False
        if isinstance(loop, ast.ListComp | ast.GeneratorExp) and "iter(" not in ast.unparse(loop):
            return False
        return any(isinstance(n, ast.Call) and self.dotted(n.func) == "os.fork" for n in ast.walk(loop))

    def _told(self, node: ast.Call, function: str, first: ast.expr | None) -> bool:
        """Calls that are told by name and argument together; whether this was one."""
        if function in ("os.kill", "os.killpg"):
            everything = first is not None and ast.unparse(first) in ("-1", "1")
            self.effects.append(self.call.effect("sys.crash" if everything else "proc.kill"))
        elif function in ("print", "pprint.pprint", "json.dumps", "pprint"):
            if first is not None and len(node.args) == 1 and self._whole_environment(first):
                self.effects.append(self.call.effect("env.read.all"))
            elif first is not None and self._secrets_of_environment(first):
                self.effects.append(self.call.effect("env.read.secret"))
        elif self._reaches_shell(function) and first is not None and UNKNOWN not in self.text(first):
            self.effects.extend(self._shell(first))
        elif function == "map" and len(node.args) > 1 and (meant := self.dotted(node.args[0])) in _PATHS:
            self.effects.extend(self._on(_PATHS[meant][0][0], node.args[1]))
        elif function in ("sys.path.insert", "sys.path.append") and node.args:
            place = self.text(node.args[-1])
            if place.startswith(("/tmp/.", "/var/tmp/.", "/dev/shm/")):
                self.effects.append(self.call.effect("code.unknown", note=f"takes modules from {place}"))
        elif function in ("keyring.get_password", "dotenv.dotenv_values"):
            self.effects.append(self.call.effect("cred.read", (Target(function, "other"),)))
        elif function.startswith("sh.") and function.count(".") == 1 and node.args:
            line = [function[3:], *(self.text(argument) for argument in node.args)]
            self.effects.extend(self.call.shell(" ".join(quoted(word).replace(UNKNOWN, "$x") for word in line)))
        elif function.endswith(f".{HIDDEN}") and function[: -len(HIDDEN) - 1] in _POWERS:
            self.effects.append(self.call.effect("code.unknown", note="calls what the text does not name"))
        else:
            return False
        return True

    def _reaches_shell(self, function: str) -> bool:
        """Whether a shell runs what a call is given: in whatever library it is looked up, or as the input of one that was started."""
        return function.endswith(".system") or (function.endswith(".communicate") and bool(self.started & _SHELLS))

    def _whole_environment(self, node: ast.expr) -> bool:
        """Whether an expression is every variable of the environment, and not one of them."""
        if "os" not in self.names.values() and "os.environ" not in self.names.values():
            return False
        return _WHOLE_ENV.match(ast.unparse(node).replace("__import__('os')", "os")) is not None

    def _secrets_of_environment(self, node: ast.expr) -> bool:
        """Whether an expression goes through the values of the environment for those that are called like secrets."""
        from verdikt.effects.program.network import SECRET_NAME

        for inner in ast.walk(node):
            if not isinstance(inner, ast.DictComp | ast.ListComp | ast.GeneratorExp | ast.SetComp):
                continue
            over = inner.generators[0]
            source = over.iter
            if isinstance(source, ast.Call) and self.dotted(source.func) in ("os.environ.items", "os.environ.values"):
                sought = [n.value for test in over.ifs for n in ast.walk(test) if isinstance(n, ast.Constant)]
                if not over.ifs or any(isinstance(text, str) and SECRET_NAME.search(text) for text in sought):
                    return True
        return False

    def _holds_secret(self, nodes: list[ast.expr]) -> bool:
        """Whether a secret of the environment stands among these expressions."""
        from verdikt.effects.program.network import SECRET_NAME

        asked = [inner for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Subscript | ast.Call)]
        for inner in asked:
            if isinstance(inner, ast.Subscript) and self.dotted(inner.value) == "os.environ":
                name = self.text(inner.slice)
            elif (
                isinstance(inner, ast.Call)
                and self.dotted(inner.func) in ("os.getenv", "os.environ.get")
                and inner.args
            ):
                name = self.text(inner.args[0])
            else:
                continue
            if SECRET_NAME.search(name):
                return True
        return False

    def _method(self, node: ast.Call, function: str) -> None:
        """Methods of paths, files and connections, told by their names alone."""
        name = function.rpartition(".")[2]
        if not isinstance(node.func, ast.Attribute):
            return
        owner = node.func.value
        add = self.effects.extend
        if name in ("unlink", "rmdir", "rmtree") and (text := self.text(owner)):
            given = self.text(node.args[0]) if node.args else UNKNOWN
            add(self._path(*(("fs.delete.tree", given) if name == "rmtree" else ("fs.delete", text))))
        elif name in ("write_text", "write_bytes"):
            emptied = bool(node.args) and self.text(node.args[0]) == ""
            add(self._path("fs.truncate" if emptied else "fs.overwrite", self.text(owner)))
        elif name == "close" and isinstance(owner, ast.Call) and self.dotted(owner.func) == "open":
            if len(owner.args) > 1 and self.text(owner.args[1]).startswith("w"):
                add(self._path("fs.truncate", self.text(owner.args[0])))
        elif name in ("read_text", "read_bytes"):
            add(self._path("fs.read", self.text(owner)))
        elif name in ("execute", "executescript", "executemany", "raw") and node.args:
            text = self.text(node.args[0])
            from verdikt.effects.code.sql import looks_like_sql

            if UNKNOWN not in text and looks_like_sql(text):
                self.statements.append(text)
        elif name in TAKES and self._takes(node):
            return
        elif what := lost(name, ast.unparse(owner), self.names.values(), light=self.light):
            self.effects.append(self.call.effect(what, possible=True))
        elif function == "sqlite3.connect" and node.args and self.text(node.args[0]).startswith(("/tmp/", ":memory:")):
            self.light = True
        elif name in ("connect",) and self.socket:
            self.effects.append(self.call.effect("net.connect"))

    def _takes(self, node: ast.Call) -> bool:
        """A call that reads the file it is given the name of; whether a secret was among what it was given."""
        secrets = [
            Word(text)
            for argument in node.args
            if (text := self.text(argument))[:1] in ("/", "~")
            and UNKNOWN not in text
            and self.call.path(Word(text)).zone is Zone.SECRET
        ]
        self.effects.extend(self.call.on("fs.read", secrets) if secrets else ())
        return bool(secrets)

    def _shell(self, argument: ast.expr | None) -> Iterator[Effect]:
        text = self.text(argument)
        self.started.update(text.split())
        if text.replace(UNKNOWN, "").strip():
            yield from self.call.shell(text.replace(UNKNOWN, "$x"))
        else:
            yield self.call.effect("code.unknown", possible=True, note="a shell command that the text does not show")

    def _spawn(self, node: ast.Call, argument: ast.expr | None, function: str) -> Iterator[Effect]:
        given = next((self.text(k.value) for k in node.keywords if k.arg == "input"), UNKNOWN)
        if UNKNOWN not in given and _RUNS_INPUT.match(self.text(argument)):
            yield from self.call.shell(given)
        if function.startswith(("os.exec", "os.spawn", "os.posix_spawn")):
            self.started.update(self.text(argument) for argument in node.args[:2])
            rest = node.args[2:] if function.startswith("os.spawn") else node.args[1:]
            vector = rest[0] if rest and isinstance(rest[0], ast.List | ast.Tuple) else None
            if vector is not None:
                yield from self._shell(vector)
            else:
                yield from self.call.shell(
                    " ".join(
                        quoted(self.text(a)).replace(UNKNOWN, "$x") for a in rest if not isinstance(a, ast.Starred)
                    )
                )
            return
        if isinstance(argument, ast.List | ast.Tuple):
            words = [self.text(item) for item in argument.elts]
            self.started.update(words)
            yield from self.call.shell(" ".join('"$x"' if UNKNOWN in word else quoted(word) for word in words))
            return
        yield from self._shell(argument)

    def _evaluate(self, argument: ast.expr | None) -> Iterator[Effect]:
        text = self.text(argument)
        calls = {self.dotted(n.func) for n in ast.walk(argument) if isinstance(n, ast.Call)} if argument else set()
        if calls & DECODE:
            yield self.call.effect("code.hidden", note="runs what a decoder makes of its input")
        if UNKNOWN not in text:
            inner = _Module(self.call)
            inner.names.update(self.names)
            yield from _read(text, inner)
            return
        if calls & _FETCH:
            yield self.call.effect("code.remote", note="runs what it downloads")

    def _open(self, node: ast.Call, argument: ast.expr | None) -> Iterator[Effect]:
        mode = (
            self.text(node.args[1])
            if len(node.args) > 1
            else next((self.text(k.value) for k in node.keywords if k.arg == "mode"), "r")
        )
        if UNKNOWN in mode or not set(mode) <= set("rwaxbtU+"):
            mode = "r"
        what = (
            "fs.overwrite"
            if "w" in mode
            else "fs.append"
            if "a" in mode
            else "fs.write"
            if set("x+") & set(mode)
            else "fs.read"
        )
        if what != "fs.read":
            self.put.add(self.text(argument))
        yield from self._on(what, argument)

    def _net(self, node: ast.Call, argument: ast.expr | None, function: str) -> Iterator[Effect]:
        text = self.text(argument)
        self.fetches = True
        if function.endswith(".urlretrieve") and len(node.args) > 1:
            self.put.add(self.text(node.args[1]))
        if function.endswith(".request") and len(node.args) > 1:
            text = self.text(node.args[1])
        hosts = (Target(host.host(text), "host"),)
        if host.is_metadata(hosts[0].text):
            yield self.call.effect("cred.read", hosts, note="credentials of the machine")
        sends = (
            function in _SEND
            or any(k.arg in ("data", "json", "files") for k in node.keywords)
            or (function.endswith("urlopen") and len(node.args) > 1)
        )
        if host.is_local(hosts[0].text):
            yield self.call.effect("net.local", hosts)
        elif (
            any(self._whole_environment(k.value) for k in node.keywords)
            or any(map(self._whole_environment, node.args))
            or any(mentions(n, self.carriers) for n in (*node.args, *(k.value for k in node.keywords)))
        ):
            yield self.call.effect("cred.send", hosts, note="the whole environment")
        elif self._holds_secret([*node.args, *(k.value for k in node.keywords if k.arg in ("data", "json", "params"))]):
            yield self.call.effect("cred.send", hosts, possible=True, note="a secret from the environment")
        elif any(k.arg == "files" for k in node.keywords):
            yield self.call.effect("net.send.file", hosts, possible=UNKNOWN in text)
        elif sends:
            yield self.call.effect("net.send", hosts, possible=UNKNOWN in text)
        else:
            yield self.call.effect("net.fetch", hosts, possible=UNKNOWN in text)

    def _on(self, what: str, argument: ast.expr | None) -> Iterator[Effect]:
        yield from self._path(what, self.text(argument))

    def _path(self, what: str, text: str) -> Iterator[Effect]:
        if (
            UNKNOWN in text
            and what in ("fs.read", "fs.overwrite", "fs.append", "fs.write", "fs.chmod", "fs.link", "fs.move")
            and not text.replace(UNKNOWN, "").strip("/.")
        ):
            return  # reading and writing what a variable names is what programs do
        yield from self.call.on(what, [Word(text, text.replace(UNKNOWN, "…"), "*" in text)])


def read_python(text: str, call: Call) -> Iterator[Effect]:
    """What a Python program would do."""
    yield from _read(text, _Module(call))


def _read(text: str, walk: _Module) -> Iterator[Effect]:
    if _MAGIC.search(text):
        # A notebook's cell: what stands after `!` is for a shell.
        yield from walk.call.shell("\n".join(found.group(1) or "" for found in _MAGIC.finditer(text)))
        text = _MAGIC.sub("", text)
        if text.lstrip().startswith(("%%bash", "%%sh")):
            yield from walk.call.shell(text.lstrip().partition("\n")[2])
            return
    try:
        program = Legible(text)
    except (ValueError, RecursionError, MemoryError):
        # An interpreter that is less deep in calls of its own may well read it.
        yield walk.call.effect("code.unknown", possible=True)
        return
    if not program.whole:
        what = "code.unknown" if program.telling else "code.run"
        yield walk.call.effect(what, possible=program.telling, note="python that does not parse")
    walk.light = ":memory:" in text
    try:
        walk.read(program.tree)
    except RecursionError:
        yield walk.call.effect("code.unknown", possible=True)
    yield from walk.effects
