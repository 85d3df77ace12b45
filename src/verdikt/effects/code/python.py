"""Python by its own syntax tree: calls that touch the world, with arguments as far as they are constants."""

import ast
import re
from collections.abc import Iterator
from itertools import islice

from verdikt.effects import host
from verdikt.effects.argv import word_set
from verdikt.effects.code.environment_taint import find_tainted_names, mentions_name
from verdikt.effects.code.fallback_parser import FallbackParser
from verdikt.effects.code.python_constants import (
    DECODER_FUNCTIONS,
    DYNAMIC_ATTRIBUTE,
    PythonConstants,
    quote_shell_word,
)
from verdikt.effects.code.python_libraries import FILE_READERS, classify_method
from verdikt.effects.code.sql import classify_sql, looks_like_sql
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.network import SECRET_NAME
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

_SHELL_FUNCTIONS = word_set(
    "os.system os.popen subprocess.getoutput subprocess.getstatusoutput commands.getoutput popen2.popen2 asyncio.create_subprocess_shell"
)
_SPAWN_FUNCTIONS = word_set(
    "subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen asyncio.create_subprocess_exec "
    "pty.spawn os.execv os.execve os.execvp os.execvpe os.execl os.execlp os.execle os.execlpe os.spawnl os.spawnlp os.spawnv os.spawnvp "
    "os.posix_spawn os.posix_spawnp sh.bash"
)
_PATH_FUNCTIONS: dict[str, tuple[tuple[str, int], ...]] = {
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
_FETCH_FUNCTIONS = word_set(
    "urllib.request.urlopen urllib.request.urlretrieve urllib2.urlopen requests.get requests.head httpx.get httpx.head requests.options "
    "aiohttp.ClientSession urllib.urlopen urllib3.PoolManager urllib.request.Request"
)
_SEND_FUNCTIONS = word_set(
    "requests.post requests.put requests.patch requests.delete requests.request httpx.post httpx.put httpx.patch httpx.delete"
)
_SHELLS = word_set("sh bash zsh dash /bin/sh /bin/bash")
_UNPICKLE_FUNCTIONS = word_set("pickle.loads marshal.loads dill.loads cloudpickle.loads")
"""Functions that run what they unpack."""
_SHELL_READING_INPUT = compile_lazily(r"\s*'?(?:/bin/|/usr/bin/)?(?:ba|z|da|k)?sh'?(?:\s+'?-[se]*'?)*\s*$")
_MAX_NODES = 100_000
"""Parts of a program that are looked at; no file that is read has as many."""
_SENSITIVE_MODULES = frozenset(
    ("os", "subprocess", "shutil", "builtins", "__builtins__", "sys", "ctypes", "socket", "pty")
)
_WHOLE_ENVIRONMENT = compile_lazily(r"^(?:[\w.]+\()*os\.environ(?:\.(?:items|copy|values)\(\))?(?:,[^)]*)?\)*$")
_NOTEBOOK_MAGIC = compile_lazily(r"^[ \t]*[!](.+)$|^(?=%%(?:bash|sh)\b)", re.MULTILINE)


class _ModuleClassifier(PythonConstants):
    """One module, walked for what its calls do."""

    def __init__(self, call: Invocation) -> None:
        super().__init__()
        self.call = call
        self.opens_socket = self.duplicates_descriptor = self.starts_shell = False
        self.effects: list[Effect] = []
        self.node_count = 0
        self.sql_statements: list[str] = []
        self.tainted_names: frozenset[str] = frozenset()
        """Names that hold every variable of the environment."""
        self.written_paths: set[str] = set()
        self.started_programs: set[str] = set()
        self.downloads = False
        self.throwaway_database = False
        """Whether the database is one that lives and dies with the program."""

    def classify_tree(self, tree: ast.AST) -> None:
        nodes = list(islice(ast.walk(tree), max(0, _MAX_NODES + 1 - self.node_count)))
        self.node_count += len(nodes)
        if self.node_count > _MAX_NODES:
            self.effects.append(self.call.make_effect("code.unknown", possible=True, note="more than anybody reads"))
        for node in nodes:
            self.record_node(node)
        if "os" in self.qualified_names.values() or "os.environ" in self.qualified_names.values():
            self.tainted_names = find_tainted_names(tree, self._is_whole_environment)
        for node in nodes:
            if isinstance(node, ast.Call):
                self._classify_call(node)
            elif isinstance(node, ast.While | ast.For | ast.ListComp | ast.GeneratorExp) and self._is_fork_bomb(node):
                self.effects.append(self.call.make_effect("sys.crash", note="starts itself over and over"))
        if self.sql_statements and not self.throwaway_database:
            # Read as one text: what is made by a statement may go by another.
            self.effects += classify_sql(";\n".join(self.sql_statements), self.call)
        if self.downloads and self.written_paths & self.started_programs:
            self.effects.append(self.call.make_effect("code.remote", note="runs what it downloaded"))
        if self.opens_socket and (self.duplicates_descriptor or self.starts_shell):
            self.effects.append(self.call.make_effect("net.shell", note="a shell over a socket"))

    def _classify_call(self, node: ast.Call) -> None:
        function = self.resolve_name(node.func)
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
        if function in _PATH_FUNCTIONS:
            for what, index in _PATH_FUNCTIONS[function]:
                add(
                    self._classify_path_argument(
                        what, first if index == 0 else node.args[index] if len(node.args) > index else None
                    )
                )
        elif function in _SHELL_FUNCTIONS:
            self.starts_shell = True
            add(self._classify_shell_call(first))
        elif function in _SPAWN_FUNCTIONS or function.startswith(("os.exec", "os.spawn")):
            self.starts_shell = True
            add(self._classify_spawn(node, first, function))
        elif function in ("open", "io.open", "codecs.open"):
            add(self._classify_open(node, first))
        elif function in _FETCH_FUNCTIONS or function in _SEND_FUNCTIONS:
            add(self._classify_network_call(node, first, function))
        elif function in ("eval", "exec", "compile") or function in _UNPICKLE_FUNCTIONS:
            add(self._classify_eval(first))
        elif not self._classify_special_call(node, function, first):
            self.duplicates_descriptor |= function == "os.dup2"
            self.opens_socket |= function in ("socket.socket", "socket.create_connection", "socket.create_server")
            self._classify_method(node, function)

    def _is_fork_bomb(self, loop: ast.AST) -> bool:
        """Whether a loop without an end makes a copy of the program in every turn."""
        if isinstance(loop, ast.For) or (isinstance(loop, ast.While) and ast.unparse(loop.test) not in ("True", "1")):
            return False
        if isinstance(loop, ast.ListComp | ast.GeneratorExp) and "iter(" not in ast.unparse(loop):
            return False
        return any(isinstance(n, ast.Call) and self.resolve_name(n.func) == "os.fork" for n in ast.walk(loop))

    def _classify_special_call(self, node: ast.Call, function: str, first: ast.expr | None) -> bool:
        """Calls that are told by name and argument together; whether this was one."""
        if function in ("os.kill", "os.killpg"):
            everything = first is not None and ast.unparse(first) in ("-1", "1")
            self.effects.append(self.call.make_effect("sys.crash" if everything else "proc.kill"))
        elif function in ("print", "pprint.pprint", "json.dumps", "pprint"):
            if first is not None and len(node.args) == 1 and self._is_whole_environment(first):
                self.effects.append(self.call.make_effect("env.read.all"))
            elif first is not None and self._selects_environment_secrets(first):
                self.effects.append(self.call.make_effect("env.read.secret"))
        elif self._reaches_shell(function) and first is not None and UNKNOWN not in self.evaluate_text(first):
            self.effects.extend(self._classify_shell_call(first))
        elif function == "map" and len(node.args) > 1 and (meant := self.resolve_name(node.args[0])) in _PATH_FUNCTIONS:
            self.effects.extend(self._classify_path_argument(_PATH_FUNCTIONS[meant][0][0], node.args[1]))
        elif function in ("sys.path.insert", "sys.path.append") and node.args:
            place = self.evaluate_text(node.args[-1])
            if place.startswith(("/tmp/.", "/var/tmp/.", "/dev/shm/")):
                self.effects.append(self.call.make_effect("code.unknown", note=f"takes modules from {place}"))
        elif function in ("keyring.get_password", "dotenv.dotenv_values"):
            self.effects.append(self.call.make_effect("cred.read", (Target(function, "other"),)))
        elif function.startswith("sh.") and function.count(".") == 1 and node.args:
            line = [function[3:], *(self.evaluate_text(argument) for argument in node.args)]
            self.effects.extend(
                self.call.classify_shell(" ".join(quote_shell_word(word).replace(UNKNOWN, "$x") for word in line))
            )
        elif (
            function.endswith(f".{DYNAMIC_ATTRIBUTE}") and function[: -len(DYNAMIC_ATTRIBUTE) - 1] in _SENSITIVE_MODULES
        ):
            self.effects.append(self.call.make_effect("code.unknown", note="calls what the text does not name"))
        else:
            return False
        return True

    def _reaches_shell(self, function: str) -> bool:
        """Whether a shell runs what a call is given: in whatever library it is looked up, or as the input of one that was started."""
        return function.endswith(".system") or (
            function.endswith(".communicate") and bool(self.started_programs & _SHELLS)
        )

    def _is_whole_environment(self, node: ast.expr) -> bool:
        """Whether an expression is every variable of the environment, and not one of them."""
        if "os" not in self.qualified_names.values() and "os.environ" not in self.qualified_names.values():
            return False
        return _WHOLE_ENVIRONMENT.match(ast.unparse(node).replace("__import__('os')", "os")) is not None

    def _selects_environment_secrets(self, node: ast.expr) -> bool:
        """Whether an expression goes through the values of the environment for those that are called like secrets."""
        for inner in ast.walk(node):
            if not isinstance(inner, ast.DictComp | ast.ListComp | ast.GeneratorExp | ast.SetComp):
                continue
            over = inner.generators[0]
            source = over.iter
            if isinstance(source, ast.Call) and self.resolve_name(source.func) in (
                "os.environ.items",
                "os.environ.values",
            ):
                sought = [n.value for test in over.ifs for n in ast.walk(test) if isinstance(n, ast.Constant)]
                if not over.ifs or any(isinstance(text, str) and SECRET_NAME.search(text) for text in sought):
                    return True
        return False

    def _has_environment_secret(self, nodes: list[ast.expr]) -> bool:
        """Whether a secret of the environment stands among these expressions."""
        asked = [inner for node in nodes for inner in ast.walk(node) if isinstance(inner, ast.Subscript | ast.Call)]
        for inner in asked:
            if isinstance(inner, ast.Subscript) and self.resolve_name(inner.value) == "os.environ":
                name = self.evaluate_text(inner.slice)
            elif (
                isinstance(inner, ast.Call)
                and self.resolve_name(inner.func) in ("os.getenv", "os.environ.get")
                and inner.args
            ):
                name = self.evaluate_text(inner.args[0])
            else:
                continue
            if SECRET_NAME.search(name):
                return True
        return False

    def _classify_method(self, node: ast.Call, function: str) -> None:
        """Methods of paths, files and connections, told by their names alone."""
        name = function.rpartition(".")[2]
        if not isinstance(node.func, ast.Attribute):
            return
        owner = node.func.value
        add = self.effects.extend
        if name in ("unlink", "rmdir", "rmtree") and (text := self.evaluate_text(owner)):
            given = self.evaluate_text(node.args[0]) if node.args else UNKNOWN
            add(self._classify_path(*(("fs.delete.tree", given) if name == "rmtree" else ("fs.delete", text))))
        elif name in ("write_text", "write_bytes"):
            emptied = bool(node.args) and self.evaluate_text(node.args[0]) == ""
            add(self._classify_path("fs.truncate" if emptied else "fs.overwrite", self.evaluate_text(owner)))
        elif name == "close" and isinstance(owner, ast.Call) and self.resolve_name(owner.func) == "open":
            if len(owner.args) > 1 and self.evaluate_text(owner.args[1]).startswith("w"):
                add(self._classify_path("fs.truncate", self.evaluate_text(owner.args[0])))
        elif name in ("read_text", "read_bytes"):
            add(self._classify_path("fs.read", self.evaluate_text(owner)))
        elif name in ("execute", "executescript", "executemany", "raw") and node.args:
            text = self.evaluate_text(node.args[0])

            if UNKNOWN not in text and looks_like_sql(text):
                self.sql_statements.append(text)
        elif name in FILE_READERS and self._classify_secret_read(node):
            return
        elif what := classify_method(
            name, ast.unparse(owner), self.qualified_names.values(), throwaway=self.throwaway_database
        ):
            self.effects.append(self.call.make_effect(what, possible=True))
        elif (
            function == "sqlite3.connect"
            and node.args
            and self.evaluate_text(node.args[0]).startswith(("/tmp/", ":memory:"))
        ):
            self.throwaway_database = True
        elif name in ("connect",) and self.opens_socket:
            self.effects.append(self.call.make_effect("net.connect"))

    def _classify_secret_read(self, node: ast.Call) -> bool:
        """A call that reads the file it is given the name of; whether a secret was among what it was given."""
        secrets = [
            Word(text)
            for argument in node.args
            if (text := self.evaluate_text(argument))[:1] in ("/", "~")
            and UNKNOWN not in text
            and self.call.resolve_path(Word(text)).zone is Zone.SECRET
        ]
        self.effects.extend(self.call.make_effects("fs.read", secrets) if secrets else ())
        return bool(secrets)

    def _classify_shell_call(self, argument: ast.expr | None) -> Iterator[Effect]:
        text = self.evaluate_text(argument)
        self.started_programs.update(text.split())
        if text.replace(UNKNOWN, "").strip():
            yield from self.call.classify_shell(text.replace(UNKNOWN, "$x"))
        else:
            yield self.call.make_effect(
                "code.unknown", possible=True, note="a shell command that the text does not show"
            )

    def _classify_spawn(self, node: ast.Call, argument: ast.expr | None, function: str) -> Iterator[Effect]:
        given = next((self.evaluate_text(k.value) for k in node.keywords if k.arg == "input"), UNKNOWN)
        if UNKNOWN not in given and _SHELL_READING_INPUT.match(self.evaluate_text(argument)):
            yield from self.call.classify_shell(given)
        if function.startswith(("os.exec", "os.spawn", "os.posix_spawn")):
            self.started_programs.update(self.evaluate_text(argument) for argument in node.args[:2])
            rest = node.args[2:] if function.startswith("os.spawn") else node.args[1:]
            vector = rest[0] if rest and isinstance(rest[0], ast.List | ast.Tuple) else None
            if vector is not None:
                yield from self._classify_shell_call(vector)
            else:
                yield from self.call.classify_shell(
                    " ".join(
                        quote_shell_word(self.evaluate_text(a)).replace(UNKNOWN, "$x")
                        for a in rest
                        if not isinstance(a, ast.Starred)
                    )
                )
            return
        if isinstance(argument, ast.List | ast.Tuple):
            words = [self.evaluate_text(item) for item in argument.elts]
            self.started_programs.update(words)
            yield from self.call.classify_shell(
                " ".join('"$x"' if UNKNOWN in word else quote_shell_word(word) for word in words)
            )
            return
        yield from self._classify_shell_call(argument)

    def _classify_eval(self, argument: ast.expr | None) -> Iterator[Effect]:
        text = self.evaluate_text(argument)
        calls = (
            {self.resolve_name(n.func) for n in ast.walk(argument) if isinstance(n, ast.Call)} if argument else set()
        )
        if calls & DECODER_FUNCTIONS:
            yield self.call.make_effect("code.hidden", note="runs what a decoder makes of its input")
        if UNKNOWN not in text:
            inner = _ModuleClassifier(self.call)
            inner.qualified_names.update(self.qualified_names)
            yield from _classify_source(text, inner)
            return
        if calls & _FETCH_FUNCTIONS:
            yield self.call.make_effect("code.remote", note="runs what it downloads")

    def _classify_open(self, node: ast.Call, argument: ast.expr | None) -> Iterator[Effect]:
        mode = (
            self.evaluate_text(node.args[1])
            if len(node.args) > 1
            else next((self.evaluate_text(k.value) for k in node.keywords if k.arg == "mode"), "r")
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
            self.written_paths.add(self.evaluate_text(argument))
        yield from self._classify_path_argument(what, argument)

    def _classify_network_call(self, node: ast.Call, argument: ast.expr | None, function: str) -> Iterator[Effect]:
        text = self.evaluate_text(argument)
        self.downloads = True
        if function.endswith(".urlretrieve") and len(node.args) > 1:
            self.written_paths.add(self.evaluate_text(node.args[1]))
        if function.endswith(".request") and len(node.args) > 1:
            text = self.evaluate_text(node.args[1])
        hosts = (Target(host.parse_host(text), "host"),)
        if host.is_metadata_host(hosts[0].text):
            yield self.call.make_effect("cred.read", hosts, note="credentials of the machine")
        sends = (
            function in _SEND_FUNCTIONS
            or any(k.arg in ("data", "json", "files") for k in node.keywords)
            or (function.endswith("urlopen") and len(node.args) > 1)
        )
        if host.is_local_host(hosts[0].text):
            yield self.call.make_effect("net.local", hosts)
        elif (
            any(self._is_whole_environment(k.value) for k in node.keywords)
            or any(map(self._is_whole_environment, node.args))
            or any(mentions_name(n, self.tainted_names) for n in (*node.args, *(k.value for k in node.keywords)))
        ):
            yield self.call.make_effect("cred.send", hosts, note="the whole environment")
        elif self._has_environment_secret(
            [*node.args, *(k.value for k in node.keywords if k.arg in ("data", "json", "params"))]
        ):
            yield self.call.make_effect("cred.send", hosts, possible=True, note="a secret from the environment")
        elif any(k.arg == "files" for k in node.keywords):
            yield self.call.make_effect("net.send.file", hosts, possible=UNKNOWN in text)
        elif sends:
            yield self.call.make_effect("net.send", hosts, possible=UNKNOWN in text)
        else:
            yield self.call.make_effect("net.fetch", hosts, possible=UNKNOWN in text)

    def _classify_path_argument(self, what: str, argument: ast.expr | None) -> Iterator[Effect]:
        yield from self._classify_path(what, self.evaluate_text(argument))

    def _classify_path(self, what: str, text: str) -> Iterator[Effect]:
        if (
            UNKNOWN in text
            and what in ("fs.read", "fs.overwrite", "fs.append", "fs.write", "fs.chmod", "fs.link", "fs.move")
            and not text.replace(UNKNOWN, "").strip("/.")
        ):
            return  # reading and writing what a variable names is what programs do
        yield from self.call.make_effects(what, [Word(text, text.replace(UNKNOWN, "…"), "*" in text)])


def classify_python(text: str, call: Invocation) -> Iterator[Effect]:
    """What a Python program would do."""
    yield from _classify_source(text, _ModuleClassifier(call))


def _classify_source(text: str, module: _ModuleClassifier) -> Iterator[Effect]:
    if _NOTEBOOK_MAGIC.search(text):
        # A notebook's cell: what stands after `!` is for a shell.
        yield from module.call.classify_shell(
            "\n".join(found.group(1) or "" for found in _NOTEBOOK_MAGIC.finditer(text))
        )
        text = _NOTEBOOK_MAGIC.sub("", text)
        if text.lstrip().startswith(("%%bash", "%%sh")):
            yield from module.call.classify_shell(text.lstrip().partition("\n")[2])
            return
    try:
        program = FallbackParser(text)
    except (ValueError, RecursionError, MemoryError):
        # An interpreter that is less deep in calls of its own may well read it.
        yield module.call.make_effect("code.unknown", possible=True)
        return
    if not program.is_complete:
        what = "code.unknown" if program.has_risky_line else "code.run"
        yield module.call.make_effect(what, possible=program.has_risky_line, note="python that does not parse")
    module.throwaway_database = ":memory:" in text
    try:
        module.classify_tree(program.tree)
    except RecursionError:
        yield module.call.make_effect("code.unknown", possible=True)
    yield from module.effects
