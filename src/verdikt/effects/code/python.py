"""Python by its own syntax tree: calls that touch the world, with arguments as far as they are constants."""

import ast
import re
import warnings
from collections.abc import Iterator

from verdikt.effects import host
from verdikt.effects.call import Call
from verdikt.model.effect import Effect, Target
from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word

_SHELL = frozenset(
    [
        "os.system",
        "os.popen",
        "subprocess.getoutput",
        "subprocess.getstatusoutput",
        "commands.getoutput",
        "popen2.popen2",
        "asyncio.create_subprocess_shell",
    ]
)
_SPAWN = frozenset(
    [
        "subprocess.run",
        "subprocess.call",
        "subprocess.check_call",
        "subprocess.check_output",
        "subprocess.Popen",
        "asyncio.create_subprocess_exec",
        "pty.spawn",
        "os.execv",
        "os.execve",
        "os.execvp",
        "os.execvpe",
        "os.execl",
        "os.execlp",
        "os.execle",
        "os.execlpe",
        "os.spawnl",
        "os.spawnlp",
        "os.spawnv",
        "os.spawnvp",
        "os.posix_spawn",
        "os.posix_spawnp",
        "sh.bash",
    ]
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
_FETCH = frozenset(
    [
        "urllib.request.urlopen",
        "urllib.request.urlretrieve",
        "urllib2.urlopen",
        "requests.get",
        "requests.head",
        "httpx.get",
        "httpx.head",
        "requests.options",
        "aiohttp.ClientSession",
        "urllib.urlopen",
        "urllib3.PoolManager",
    ]
)
_SEND = frozenset(
    [
        "requests.post",
        "requests.put",
        "requests.patch",
        "requests.delete",
        "requests.request",
        "httpx.post",
        "httpx.put",
        "httpx.patch",
        "httpx.delete",
    ]
)
_DECODE = frozenset(
    [
        "base64.b64decode",
        "base64.b32decode",
        "base64.b16decode",
        "base64.urlsafe_b64decode",
        "base64.a85decode",
        "bytes.fromhex",
        "codecs.decode",
        "binascii.unhexlify",
        "zlib.decompress",
    ]
)
_LIMIT = 20_000
_HIDDEN = "?"
"""Stands for the name of an attribute that is made at run time."""
_POWERS = frozenset(("os", "subprocess", "shutil", "builtins", "__builtins__", "sys", "ctypes", "socket", "pty"))
_WHOLE_ENV = regex(r"^(?:[\w.]+\()*os\.environ(?:\.(?:items|copy|values)\(\))?(?:,[^)]*)?\)*$")
_MAGIC = regex(r"^[ \t]*[!](.+)$|^(?=%%(?:bash|sh)\b)", re.MULTILINE)
_DROPS = frozenset("drop_all drop_table drop_database drop_collection flushall flushdb".split())
_CLOUD_DELETES = frozenset(
    "delete_bucket terminate_instances delete_table delete_db_instance delete_object delete_objects delete_stack".split()
)
_CLOUD_ENDS = ("delete_", "terminate_", "purge_", "deregister_", "schedule_key_deletion")


class _Walk:
    """Walks one module. Names are followed through imports and simple assignments of constants."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.names: dict[str, str] = {}
        self.values: dict[str, str] = {}
        self.paths: dict[str, str] = {}
        self.socket = self.dup = self.shell = False
        self.effects: list[Effect] = []
        self.nodes = 0
        self.statements: list[str] = []
        self.light = False
        """Whether the database is one that lives and dies with the program."""

    def read(self, tree: ast.AST) -> None:
        for node in ast.walk(tree):
            self.nodes += 1
            if self.nodes > _LIMIT:
                return
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self.names[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self.names[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
            else:
                self._named(node)
        for node in ast.walk(tree):
            self.nodes += 1
            if self.nodes > 2 * _LIMIT:
                return
            if isinstance(node, ast.Call):
                self._called(node)
        if self.statements and not self.light:
            from verdikt.effects.code.sql import read_sql

            # Read as one text: what is made by a statement may go by another.
            self.effects += read_sql(";\n".join(self.statements), self.call)
        if self.socket and (self.dup or self.shell):
            self.effects.append(self.call.effect("net.shell", note="a shell over a socket"))

    def _named(self, node: ast.AST) -> None:
        """What a name stands for: by assignment, in a loop, in a `with`."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._assign(node.targets[0].id, node.value)
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Tuple):
            self._assign_each(node.targets[0].elts, node.value)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Tuple):
            if not _is_choosy(node):
                self._walked(node.target.elts, node.iter)
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            if self.text(node.iter) != "*" or not _is_choosy(node):
                self._assign(node.target.id, node.iter)
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            self._assign(node.optional_vars.id, node.context_expr)

    def _assign_each(self, names: list[ast.expr], value: ast.expr) -> None:
        """`a, b = 1, 2`, and `handle, path = tempfile.mkstemp()`."""
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else [value] * len(names)
        temporary = isinstance(value, ast.Call) and self.dotted(value.func).startswith("tempfile.")
        if (temporary or len(values) == len(names)) and (temporary or not isinstance(value, ast.Call)):
            for name, one in zip(names, values, strict=True):
                if isinstance(name, ast.Name):
                    self._assign(name.id, one)

    def _walked(self, names: list[ast.expr], walk: ast.expr) -> None:
        """`for place, directories, files in os.walk(top)`: everything below the top, by its place and its name."""
        if isinstance(walk, ast.Call) and self.dotted(walk.func) == "os.walk" and walk.args and len(names) == 3:
            top = self.text(walk.args[0])
            for name, value in zip(names, (f"{top.rstrip('/')}/**", "*", "*"), strict=True):
                if isinstance(name, ast.Name) and UNKNOWN not in value:
                    self.values[name.id] = value

    def _assign(self, name: str, value: ast.expr) -> None:
        text = self.text(value)
        if UNKNOWN not in text:
            self.values[name] = text

    def dotted(self, node: ast.expr) -> str:
        """`os.path.join` for the expression that means it, however it was imported."""
        if isinstance(node, ast.Name):
            return self.names.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            inner = self.dotted(node.value)
            return f"{inner}.{node.attr}" if inner else f".{node.attr}"
        if isinstance(node, ast.Subscript) and self.dotted(node.value) == "sys.modules":
            return _constant(node.slice)
        if isinstance(node, ast.Call):
            function = self.dotted(node.func)
            if function in ("__import__", "importlib.import_module") and node.args:
                return _constant(node.args[0])
            if function in ("sys.modules.get",) and node.args:
                return _constant(node.args[0])
            if function == "getattr" and len(node.args) > 1:
                name = self.text(node.args[1])
                return f"{self.dotted(node.args[0])}.{_HIDDEN if UNKNOWN in name else name}"
        return ""

    def text(self, node: ast.expr | None, depth: int = 0) -> str:
        """The string that an expression comes to, with `UNKNOWN` for what is not constant."""
        if node is None or depth > 20:
            return UNKNOWN
        if isinstance(node, ast.Constant):
            value = node.value
            return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
        if isinstance(node, ast.Name):
            return self.values.get(node.id, UNKNOWN)
        if isinstance(node, ast.JoinedStr):
            return "".join(
                self.text(part.value if isinstance(part, ast.FormattedValue) else part, depth + 1)
                for part in node.values
            )
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return self.text(node.left, depth + 1) + self.text(node.right, depth + 1)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return f"{self.text(node.left, depth + 1).rstrip('/')}/{self.text(node.right, depth + 1)}"
        if isinstance(node, ast.List | ast.Tuple):
            return " ".join(_quoted(self.text(item, depth + 1)) for item in node.elts)
        if isinstance(node, ast.Call):
            return self._result(node, depth)
        if isinstance(node, ast.Subscript) and self.dotted(node.value) == "os.environ":
            return "~" if self.text(node.slice, depth + 1) == "HOME" else UNKNOWN
        return UNKNOWN

    def _result(self, node: ast.Call, depth: int) -> str:
        function = self.dotted(node.func)
        arguments = [self.text(argument, depth + 1) for argument in node.args]
        if function in (
            "os.path.expanduser",
            "os.path.abspath",
            "os.path.realpath",
            "pathlib.Path",
            "Path",
            "str",
            "os.fspath",
            "pathlib.PurePath",
        ):
            return "/".join(arguments)
        if function.endswith(
            (".expanduser", ".resolve", ".absolute", ".strip", ".decode", ".encode", ".lower")
        ) and isinstance(node.func, ast.Attribute):
            return self.text(node.func.value, depth + 1)
        if function in ("os.path.join",):
            return "/".join(
                argument.rstrip("/") if index < len(arguments) - 1 else argument
                for index, argument in enumerate(arguments)
            )
        if function in ("pathlib.Path.iterdir", "os.listdir", "os.scandir") or function.endswith(".iterdir"):
            inside = self.text(node.func.value, depth + 1) if isinstance(node.func, ast.Attribute) else UNKNOWN
            return f"{(arguments[0] if arguments else inside).rstrip('/')}/*"
        if function in ("pathlib.Path.home", "Path.home") or (
            function in ("os.environ.get", "os.getenv") and arguments[:1] == ["HOME"]
        ):
            return "~"
        if function.startswith("tempfile."):
            return "/tmp/made-by-python"
        if function in ("glob.glob", "glob.iglob", "sorted", "list") and arguments:
            return arguments[0]
        if function.endswith((".glob", ".rglob")) and isinstance(node.func, ast.Attribute) and arguments:
            deep = "**/" if function.endswith(".rglob") else ""
            return f"{self.text(node.func.value, depth + 1).rstrip('/')}/{deep}{arguments[0]}"
        if function in _DECODE and arguments and UNKNOWN not in arguments[0]:
            return _decode(function, arguments[0])
        if function in ("os.getcwd", "pathlib.Path.cwd", "Path.cwd"):
            return "."
        if (
            function.endswith(".join")
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Constant)
            and node.args
            and isinstance(node.args[0], ast.List | ast.Tuple)
        ):
            return _constant(node.func.value).join(self.text(item, depth + 1) for item in node.args[0].elts)
        if function == "chr" and arguments and arguments[0].isdigit() and int(arguments[0]) < 0x110000:
            return chr(int(arguments[0]))
        return UNKNOWN

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
        elif function in ("eval", "exec", "compile"):
            add(self._evaluate(first))
        elif not self._told(node, function, first):
            self.dup |= function == "os.dup2"
            self.socket |= function in ("socket.socket", "socket.create_connection", "socket.create_server")
            self._method(node, function)

    def _told(self, node: ast.Call, function: str, first: ast.expr | None) -> bool:
        """Calls that are told by name and argument together; whether this was one."""
        if function in ("os.kill", "os.killpg"):
            everything = first is not None and ast.unparse(first) in ("-1", "1")
            self.effects.append(self.call.effect("proc.kill.all" if everything else "proc.kill"))
        elif function in ("print", "pprint.pprint", "json.dumps", "pprint"):
            if first is not None and len(node.args) == 1 and self._whole_environment(first):
                self.effects.append(self.call.effect("env.read.all"))
        elif function.endswith(f".{_HIDDEN}") and function[: -len(_HIDDEN) - 1] in _POWERS:
            self.effects.append(self.call.effect("code.unknown", note="calls what the text does not name"))
        else:
            return False
        return True

    def _whole_environment(self, node: ast.expr) -> bool:
        """Whether an expression is every variable of the environment, and not one of them."""
        if "os" not in self.names.values() and "os.environ" not in self.names.values():
            return False
        return _WHOLE_ENV.match(ast.unparse(node).replace("__import__('os')", "os")) is not None

    def _method(self, node: ast.Call, function: str) -> None:
        """Methods of paths, files and connections, told by their names alone."""
        name = function.rpartition(".")[2]
        if not isinstance(node.func, ast.Attribute):
            return
        owner = node.func.value
        add = self.effects.extend
        if name in ("unlink", "rmdir") and (text := self.text(owner)):
            add(self._path("fs.delete", text))
        elif name == "rmtree":
            add(self._path("fs.delete.tree", self.text(node.args[0]) if node.args else UNKNOWN))
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
        elif what := self._lost(name, owner):
            self.effects.append(self.call.effect(what, possible=True))
        elif function == "sqlite3.connect" and node.args and self.text(node.args[0]).startswith(("/tmp/", ":memory:")):
            self.light = True
        elif name in ("connect",) and self.socket:
            self.effects.append(self.call.effect("net.connect"))

    def _lost(self, name: str, owner: ast.expr) -> str:
        """What a method of a library for databases or clouds destroys, by its name; empty for any other."""
        if name in _DROPS:
            return "" if self.light else "db.drop"
        cloud = "boto3" in self.names.values()
        if name in _CLOUD_DELETES or (cloud and name.startswith(_CLOUD_ENDS)):
            return "cloud.delete"
        if name == "delete" and ".all()" in (spoken := ast.unparse(owner)[-200:]) and ".objects" in spoken:
            return "cloud.delete" if cloud else "" if self.light else "db.delete.all"
        return ""

    def _shell(self, argument: ast.expr | None) -> Iterator[Effect]:
        text = self.text(argument)
        if text.replace(UNKNOWN, "").strip():
            yield from self.call.shell(text.replace(UNKNOWN, "$x"))
        else:
            yield self.call.effect("code.unknown", possible=True, note="a shell command that the text does not show")

    def _spawn(self, node: ast.Call, argument: ast.expr | None, function: str) -> Iterator[Effect]:
        if function.startswith(("os.exec", "os.spawn")):
            rest = node.args[1:] if function.startswith("os.exec") else node.args[2:]
            vector = rest[0] if rest and isinstance(rest[0], ast.List | ast.Tuple) else None
            if vector is not None:
                yield from self._shell(vector)
            else:
                yield from self.call.shell(
                    " ".join(
                        _quoted(self.text(a)).replace(UNKNOWN, "$x") for a in rest if not isinstance(a, ast.Starred)
                    )
                )
            return
        if isinstance(argument, ast.List | ast.Tuple):
            words = [self.text(item) for item in argument.elts]
            yield from self.call.shell(" ".join('"$x"' if UNKNOWN in word else _quoted(word) for word in words))
            return
        yield from self._shell(argument)

    def _evaluate(self, argument: ast.expr | None) -> Iterator[Effect]:
        text = self.text(argument)
        calls = {self.dotted(n.func) for n in ast.walk(argument) if isinstance(n, ast.Call)} if argument else set()
        if calls & _DECODE:
            yield self.call.effect("code.hidden", note="runs what a decoder makes of its input")
        if UNKNOWN not in text:
            inner = _Walk(self.call)
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
        yield from self._on(what, argument)

    def _net(self, node: ast.Call, argument: ast.expr | None, function: str) -> Iterator[Effect]:
        text = self.text(argument)
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
        elif any(self._whole_environment(k.value) for k in node.keywords) or any(
            map(self._whole_environment, node.args)
        ):
            yield self.call.effect("cred.send", hosts, note="the whole environment")
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
    yield from _read(text, _Walk(call))


def _read(text: str, walk: _Walk) -> Iterator[Effect]:
    if _MAGIC.search(text):
        # A notebook's cell: what stands after `!` is for a shell.
        yield from walk.call.shell("\n".join(found.group(1) or "" for found in _MAGIC.finditer(text)))
        text = _MAGIC.sub("", text)
        if text.lstrip().startswith(("%%bash", "%%sh")):
            yield from walk.call.shell(text.lstrip().partition("\n")[2])
            return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield walk.call.effect("code.run", note="python that does not parse")
        return
    walk.light = ":memory:" in text
    try:
        walk.read(tree)
    except RecursionError:
        yield walk.call.effect("code.unknown", possible=True)
    yield from walk.effects


def _is_choosy(node: ast.For | ast.comprehension) -> bool:
    """Whether a loop passes over some of what it goes through."""
    if isinstance(node, ast.comprehension):
        return bool(node.ifs)
    return any(
        isinstance(inner, ast.If | ast.IfExp) or (isinstance(inner, ast.comprehension) and inner.ifs)
        for inner in ast.walk(node)
    )


def _constant(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _quoted(word: str) -> str:
    if word and all(c.isalnum() or c in "-_./=:,@%+~*" for c in word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def _decode(function: str, text: str) -> str:
    import base64
    import binascii

    try:
        if function.endswith("b64decode"):
            return base64.b64decode(text).decode(errors="replace")
        if function.endswith("b32decode"):
            return base64.b32decode(text).decode(errors="replace")
        if function in ("bytes.fromhex", "binascii.unhexlify", "base64.b16decode"):
            return bytes.fromhex(text).decode(errors="replace")
    except (ValueError, binascii.Error):
        return UNKNOWN
    return UNKNOWN
