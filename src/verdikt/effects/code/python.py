"""Classify Python by its syntax tree: calls that touch the world, with arguments as far as they are constants."""

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from verdikt.effects import host
from verdikt.effects.code.fallback_parser import FallbackParser
from verdikt.effects.code.python_constants import DECODER_FUNCTIONS, DYNAMIC_ATTRIBUTE
from verdikt.effects.code.python_downloads import DownloadedNames
from verdikt.effects.code.python_environment import find_tainted_names, mentions_name
from verdikt.effects.code.python_functions import (
    CODE_FUNCTIONS,
    CONNECT_FUNCTIONS,
    FETCH_FUNCTIONS,
    FILE_READERS,
    FILE_RUNNERS,
    FIRST_ARGUMENT_NAMES,
    PATH_FUNCTIONS,
    PATH_TESTS,
    SEND_FUNCTIONS,
    SEND_METHODS,
    SENSITIVE_MODULES,
    SHELL_FUNCTIONS,
    SPAWN_FUNCTIONS,
    TASK_METHODS,
    TASK_MODULES,
    UNPICKLE_FUNCTIONS,
    YAML_LOADERS,
)
from verdikt.effects.code.python_inlined_calls import InlinedCalls
from verdikt.effects.code.python_libraries import (
    OPEN_DATABASE,
    classify_library_method,
    deletes_one,
    find_keyword,
    is_throwaway_address,
    names_live_data,
    reads_file,
    runs_or_changes,
    unpack_arguments,
)
from verdikt.effects.code.sql import classify_sql, looks_like_sql
from verdikt.effects.invocation import Invocation
from verdikt.knowledge import find_role
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

_REMOTE_SHELL = min(find_role("remote_shell"))
_SHELLS = frozenset(path for name in find_role("shell") for path in (name, f"/bin/{name}"))
_MAX_NODES = 100_000
"""Maximum number of syntax nodes that are looked at; no file that verdikt reads is long enough to have as many."""
# `!command` in a notebook, or a cell that begins with `%%bash`.
_NOTEBOOK_MAGIC = compile_lazily(
    r"^[ \t]*!(.+)$|^[ \t]*%(?:sx|system)[ \t]+(.+)$|^[ \t]*%((?:rm|rmdir|mv|cp|cat|mkdir)[ \t].+)$"
    r"|^(?=%%(?:bash|sh)\b)",
    re.MULTILINE,
)
"""What a cell of a notebook gives to a shell: after `!`, by a magic word, or as a whole."""
_YAML_CALL = compile_lazily(r"!!python/object/(?:apply|new):([\w.]+\.\w+)\s*(\[[^\[\]\n]*\])")
_CALLBACK_KEYWORDS = ("target", "func", "function", "callback", "initializer")
_MAX_CALLBACK_ITEMS = 20
_POSTING_METHODS = ("post", "put", "patch")
_COPYING_COMMANDS = {"shutil.copytree": (("cp", "-r"), "/."), "os.symlink": (("ln", "-s"), "")}
"""Function → the command that does the same, with what is added to its first operand."""


class _ModuleClassifier(InlinedCalls):
    """Walks one module and collects the effects of its calls."""

    def __init__(self, call: Invocation) -> None:
        super().__init__(call)
        self.opens_socket = self.duplicates_descriptor = self.starts_shell = False
        self.node_count = 0
        self.sql_statements: list[str] = []
        self.secret_names: frozenset[str] = frozenset()
        """Names that hold a variable of the environment that is named like a secret."""
        self.connections: list[Target] = []
        self.throwaway_database = False
        """Whether the database lives only as long as the program."""
        self.names_live_data = False
        """Whether the program names data in a cloud that people depend on, and no stand-in for the cloud."""

    def classify_tree(self, tree: ast.AST) -> None:
        """Collect the effects of a syntax tree in `effects`."""
        nodes = list(islice(ast.walk(tree), max(0, _MAX_NODES + 1 - self.node_count)))
        self.node_count += len(nodes)
        if self.node_count > _MAX_NODES:
            self.effects.append(self.call.make_effect("code.unknown", possible=True, note="too long to be read"))
        # Names first: a call may stand before the import or assignment that it depends on.
        for node in nodes:
            self.record_node(node)
        if self.imports_environment():
            self.tainted_names = find_tainted_names(tree, self.holds_environment)
            self.secret_names = find_tainted_names(tree, lambda value: self.has_environment_secret([value]))
        self.downloaded_names = DownloadedNames(nodes, self.qualified_names.values(), self.resolve_name)
        self.throwaway_database = self.throwaway_database or self._opens_throwaway(nodes)
        self.names_live_data = self.names_live_data or names_live_data(nodes, self.qualified_names.values())
        inlined_nodes = self.find_inlined_nodes(nodes)
        for node in nodes:
            if isinstance(node, ast.Call):
                if id(node) not in inlined_nodes:
                    self._classify_each_turn(node)
            elif isinstance(node, ast.While | ast.For | ast.ListComp | ast.GeneratorExp) and self._is_fork_bomb(node):
                self.effects.append(self.call.make_effect("sys.crash", note="starts itself over and over"))
        if self.sql_statements and not self.throwaway_database:
            # Classified as one text: a table that one statement creates may be dropped by another.
            self.effects += classify_sql(";\n".join(self.sql_statements), self.call)
        if self.downloads and self.written_paths & self.started_programs:
            self.effects.append(self.call.make_effect("code.remote", note="runs what it downloaded"))
        if self.opens_socket and (self.duplicates_descriptor or self.starts_shell):
            self.effects.append(self.call.make_effect("net.shell", note="a shell over a socket"))

    def _classify_each_turn(self, node: ast.Call) -> None:
        """Classify a call, in a loop over a constant list once for each item that its arguments name."""
        names = self._find_loop_names(node) if self.alternatives else []
        if not names:
            self._classify_call(node)
            return
        # Names of one loop go on together: `for verb, place in […]`.
        for turn in range(max(len(self.alternatives[name]) for name in names)):
            for name in names:
                texts = self.alternatives[name]
                self.values[name] = texts[turn] if turn < len(texts) else texts[0]
            self._classify_call(node)

    def _find_loop_names(self, node: ast.Call) -> list[str]:
        places = [*node.args, *(keyword.value for keyword in node.keywords), node.func]
        names = (inner.id for place in places for inner in ast.walk(place) if isinstance(inner, ast.Name))
        return [name for name in dict.fromkeys(names) if name in self.alternatives]

    def _classify_call(self, node: ast.Call) -> None:
        function = self.resolve_name(node.func).removeprefix("builtins.").removeprefix("__builtins__.")
        if not function:
            return
        node = unpack_arguments(node)
        first = node.args[0] if node.args else find_keyword(node, FIRST_ARGUMENT_NAMES)
        add = self.effects.extend
        self._classify_callbacks(node)
        if (callee := self.find_callee(node)) is not None:
            self.classify_body(node, callee, self._classify_call)
        if function in PATH_FUNCTIONS:
            for what, index in PATH_FUNCTIONS[function]:
                argument = first if index == 0 else node.args[index] if len(node.args) > index else None
                add(self._classify_path_argument(what, argument))
            if function in _COPYING_COMMANDS:
                words, suffix = _COPYING_COMMANDS[function]
                add(self._classify_as_command(words, node.args, suffix))
        elif function == "shutil.unpack_archive":
            add(self._classify_as_command(("tar", "-xf"), node.args, "", "-C"))
        elif function in SHELL_FUNCTIONS:
            self.starts_shell = True
            add(self._classify_shell_call(first))
        elif function in SPAWN_FUNCTIONS or function.startswith(("os.exec", "os.spawn")):
            self.starts_shell = True
            add(self._classify_spawn(node, first, function))
        elif function in ("open", "io.open", "codecs.open"):
            add(self._classify_open(node, first))
        elif function in FETCH_FUNCTIONS or function in SEND_FUNCTIONS:
            add(self._classify_network_call(node, first, function))
        elif function in ("eval", "exec", "compile") or function in UNPICKLE_FUNCTIONS:
            add(self._classify_eval(first))
        elif not self._classify_library_call(node, function, first) and not self._classify_special_call(
            node, function, first
        ):
            self.duplicates_descriptor |= function == "os.dup2"
            self.opens_socket |= function in ("socket.socket", "socket.create_connection", "socket.create_server")
            self._classify_method(node, function)

    def _classify_library_call(self, node: ast.Call, function: str, first: ast.expr | None) -> bool:
        """Classify functions that run text or a file, or that connect; return whether this was one."""
        if function in CODE_FUNCTIONS:
            # The set-up of `timeit` stands after the statement that needs it.
            values = [*node.args, *(keyword.value for keyword in node.keywords)]
            texts = [
                value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)
            ]
            self.effects.extend(self._classify_eval(ast.Constant("\n".join(reversed(texts)))))
        elif ".git." in function and function.rpartition(".git.")[2].isidentifier():
            verb = function.rpartition(".git.")[2].replace("_", "-")
            self.effects.extend(self._classify_argv(["git", verb, *map(self.evaluate_text, node.args)]))
        elif function.endswith(TASK_METHODS) and function.count(".") == 1 and self._is_task_file():
            words = [self.evaluate_text(argument) for argument in node.args]
            self.effects.extend(self._classify_shell_call(first) if len(words) == 1 else self._classify_argv(words))
        elif function.endswith(".exec_command") and first is not None:
            # The client of SSH knows which machine it is; here any other one.
            self.effects.extend(self._classify_argv([_REMOTE_SHELL, "other-machine", self.evaluate_text(first)]))
        elif function in CONNECT_FUNCTIONS:
            self.opens_socket |= function == "socket.create_connection"
            self.effects.extend(self._classify_connection(first))
        elif function in FILE_RUNNERS:
            self.effects.extend(self._classify_run_file(node.args[FILE_RUNNERS[function] :][:1]))
        else:
            return False
        return True

    def _is_task_file(self) -> bool:
        """Return whether the module is one of tasks, whose functions hand command lines to a runner."""
        modules = {name.partition(".")[0] for name in self.qualified_names.values()}
        return not modules.isdisjoint(TASK_MODULES)

    def _is_fork_bomb(self, loop: ast.AST) -> bool:
        """Return whether an endless loop forks in every turn."""
        if isinstance(loop, ast.For) or (isinstance(loop, ast.While) and ast.unparse(loop.test) not in ("True", "1")):
            return False
        if isinstance(loop, ast.ListComp | ast.GeneratorExp) and "iter(" not in ast.unparse(loop):
            return False
        return any(isinstance(n, ast.Call) and self.resolve_name(n.func) == "os.fork" for n in ast.walk(loop))

    def _classify_special_call(self, node: ast.Call, function: str, first: ast.expr | None) -> bool:
        """Classify calls that name and argument identify together; return whether this was one."""
        if function in ("os.kill", "os.killpg"):
            # -1 is every process that may be signalled, 1 is init.
            everything = first is not None and ast.unparse(first) in ("-1", "1")
            self.effects.append(self.call.make_effect("sys.crash" if everything else "proc.kill"))
        elif function in ("print", "pprint.pprint", "json.dumps", "pprint"):
            self._classify_print(node, first)
        elif self._reaches_shell(function) and first is not None and self._is_told(first):
            self.effects.extend(self._classify_shell_call(first))
        elif function in YAML_LOADERS:
            self.effects.extend(self._classify_tagged_calls(node, first))
        elif function in ("keyring.get_password", "dotenv.dotenv_values"):
            self.effects.append(self.call.make_effect("cred.read", (Target(function, "other"),)))
        elif function.startswith("sh.") and function.count(".") == 1 and node.args:
            self.effects.extend(self._classify_argv([function[3:], *map(self.evaluate_text, node.args)]))
        else:
            return self._classify_indirect_call(node, function)
        return True

    def _is_told(self, value: ast.expr) -> bool:
        """Return whether it is known what an expression holds, or that it was downloaded."""
        return UNKNOWN not in self.evaluate_text(value) or self.downloaded_names.hold(value)

    def _classify_indirect_call(self, node: ast.Call, function: str) -> bool:
        """Classify calls that decide what other code runs; return whether this was one."""
        module, _, attribute = function.rpartition(".")
        if function in ("sys.path.insert", "sys.path.append") and node.args:
            place = self.evaluate_text(node.args[-1])
            if place.startswith(("/tmp/.", "/var/tmp/.", "/dev/shm/")):
                self.effects.append(self.call.make_effect("code.unknown", note=f"takes modules from {place}"))
        elif attribute == DYNAMIC_ATTRIBUTE and module in SENSITIVE_MODULES:
            self.effects.append(self.call.make_effect("code.unknown", note="calls what the text does not name"))
        else:
            return False
        return True

    def _classify_callbacks(self, node: ast.Call) -> None:
        """Classify a function that another is handed with its arguments: `Thread(target=os.system, args=(…,))`."""
        named = [keyword.value for keyword in node.keywords if keyword.arg in _CALLBACK_KEYWORDS]
        for position, value in enumerate([*named, *node.args]):
            if not isinstance(value, ast.Name | ast.Attribute) or not runs_or_changes(self.resolve_name(value)):
                continue
            rest = node.args[max(0, position + 1 - len(named)) :]
            arguments = find_keyword(node, ("args",))
            if isinstance(arguments, ast.List | ast.Tuple):
                rest = arguments.elts
            # `map(f, [a, b])` calls it once for each item, `Timer(1, f, [a, b])` once with both.
            items = next((item.elts for item in rest if isinstance(item, ast.List | ast.Tuple)), [])
            for chosen in [rest, items, *([item] for item in items[1:_MAX_CALLBACK_ITEMS])]:
                if chosen and UNKNOWN not in self.evaluate_text(chosen[0]):
                    self._classify_call(ast.Call(func=value, args=list(chosen), keywords=[]))

    def _classify_connection(self, argument: ast.expr | None) -> Iterator[Effect]:
        """Yield the effect of connecting to a host, or to one with a port."""
        if isinstance(argument, ast.Tuple) and argument.elts:
            argument = argument.elts[0]
        text = self.evaluate_text(argument)
        target = Target(host.parse_host(text), "host")
        if host.is_local_host(target.text):
            yield self.call.make_effect("net.local", (target,))
        else:
            self.connections.append(target)
            yield self.call.make_effect("net.connect", (target,), possible=UNKNOWN in text)

    def _classify_print(self, node: ast.Call, first: ast.expr | None) -> None:
        if first is not None and len(node.args) == 1 and self.is_whole_environment(first):
            self.effects.append(self.call.make_effect("env.read.all"))
        elif first is not None and self.selects_environment_secrets(first):
            self.effects.append(self.call.make_effect("env.read.secret"))

    def _reaches_shell(self, function: str) -> bool:
        """Return whether a shell runs the argument: `.system` of any library, or the input of a started shell."""
        return function.endswith(".system") or (
            function.endswith(".communicate") and bool(self.started_programs & _SHELLS)
        )

    def _classify_method(self, node: ast.Call, function: str) -> None:
        """Classify methods of paths, files, databases and connections, which only their name identifies."""
        if not isinstance(node.func, ast.Attribute):
            if function not in PATH_TESTS:
                self._classify_handed_secret(node)
            return
        name, owner = function.rpartition(".")[2], node.func.value
        if self._classify_path_method(node, name, owner):
            return
        if name in ("execute", "executescript", "executemany", "raw") and node.args:
            text = self.evaluate_text(node.args[0])
            if UNKNOWN not in text and looks_like_sql(text):
                self.sql_statements.append(text)
        elif name in FILE_READERS and self._classify_secret_read(node):
            return
        elif what := classify_library_method(
            name, ast.unparse(owner), self.qualified_names.values(), throwaway=self.throwaway_database
        ):
            is_sure = what == "cloud.delete" and self.names_live_data and not deletes_one(name, ast.unparse(owner))
            self.effects.append(self.call.make_effect(what, possible=not is_sure))
        elif name == "connect" and self.opens_socket:
            self.effects.extend(self._classify_connection(node.args[0] if node.args else None))
        elif name in SEND_METHODS and self._sends_variable(node):
            note = "a secret from the environment"
            self.effects.append(self.call.make_effect("cred.send", (self.connections[0],), possible=True, note=note))
        elif name in SEND_METHODS and self.connections and reads_file(node.args):
            self.effects.append(self.call.make_effect("net.send.file", (self.connections[0],)))
        elif name in _POSTING_METHODS and (address := self._find_posted_environment(node)):
            self.effects.append(self.call.make_effect("cred.send", (Target(address, "host"),)))
        elif name not in PATH_TESTS:
            self._classify_handed_secret(node)

    def _find_posted_environment(self, node: ast.Call) -> str:
        """Return the host to which a call posts all variables, where the program has one address; else empty."""
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if not any(self.holds_environment(value) or mentions_name(value, self.tainted_names) for value in arguments):
            return ""
        hosts = {host.parse_host(text) for text in self.values.values() if text.startswith(("http://", "https://"))}
        return hosts.pop() if len(hosts) == 1 and not any(map(host.is_local_host, hosts)) else ""

    def _opens_throwaway(self, nodes: Sequence[ast.AST]) -> bool:
        """Return whether every database that the program opens is one in memory, a temporary file or one for tests."""
        addresses = []
        for node in nodes:
            if isinstance(node, ast.Call) and node.args:
                name = self.resolve_name(node.func)
                if name.endswith(OPEN_DATABASE):
                    addresses.append((name, self.evaluate_text(node.args[0])))
        return bool(addresses) and all(is_throwaway_address(name, text) for name, text in addresses)

    def _sends_variable(self, node: ast.Call) -> bool:
        """Return whether a variable that is named like a secret is among what a connection is given to send."""
        return bool(self.connections) and (
            self.has_environment_secret(node.args)
            or any(mentions_name(value, self.secret_names) for value in node.args)
        )

    def _classify_path_method(self, node: ast.Call, name: str, owner: ast.expr) -> bool:
        """Classify methods of paths and open files; return whether this was one."""
        first = self.evaluate_text(node.args[0]) if node.args else None
        if name in ("unlink", "rmdir") and (text := self.evaluate_text(owner)):
            effects = self._classify_path("fs.delete", text)
        elif name == "extractall" and isinstance(owner, ast.Call):
            # `ZipFile("a.zip").extractall()`; an archive that a name stands for is not followed.
            place = node.args[0] if node.args else ast.Constant(".")
            self.effects.extend(self._classify_as_command(("tar", "-xf"), [*owner.args[:1], place], "", "-C"))
            return True
        elif name == "rmtree" and self.evaluate_text(owner):
            effects = self._classify_path("fs.delete.tree", UNKNOWN if first is None else first)
        elif name in ("write_text", "write_bytes"):
            effects = self._classify_path("fs.truncate" if first == "" else "fs.overwrite", self.evaluate_text(owner))
        elif name in ("read_text", "read_bytes"):
            effects = self._classify_path("fs.read", self.evaluate_text(owner))
        elif name == "open" and UNKNOWN not in self.evaluate_text(owner):
            effects = self._classify_open(node, owner, mode_index=0)
        elif name == "close" and isinstance(owner, ast.Call) and self.resolve_name(owner.func) == "open":
            # `open(path, "w").close()` empties the file.
            empties = len(owner.args) > 1 and self.evaluate_text(owner.args[1]).startswith("w")
            effects = self._classify_path("fs.truncate", self.evaluate_text(owner.args[0])) if empties else iter(())
        else:
            return False
        self.effects.extend(effects)
        return True

    def _classify_secret_read(self, node: ast.Call) -> bool:
        """Classify a call that reads the files it is given; return whether a secret was among them."""
        secrets = self._find_secret_arguments(node)
        self.effects.extend(self.call.make_effects("fs.read", secrets) if secrets else ())
        return bool(secrets)

    def _classify_handed_secret(self, node: ast.Call) -> None:
        """Classify a secret file whose name an unknown function is given, which may read it."""
        if secrets := self._find_secret_arguments(node):
            targets = tuple(map(self.call.resolve_path, secrets))
            self.effects.append(self.call.make_effect("cred.read", targets, possible=True))

    def _find_secret_arguments(self, node: ast.Call) -> list[Word]:
        return [
            Word(text)
            for argument in node.args
            if (text := self.evaluate_text(argument))[:1] in ("/", "~")
            and UNKNOWN not in text
            and self.call.resolve_path(Word(text)).zone is Zone.SECRET
        ]

    def _classify_tagged_calls(self, node: ast.Call, argument: ast.expr | None) -> Iterator[Effect]:
        """Yield what the tags of a YAML file call while it is loaded without care."""
        loader = find_keyword(node, ("Loader",)) or (node.args[1] if len(node.args) > 1 else None)
        is_safe = loader is not None and "Safe" in ast.unparse(loader)
        path = self.evaluate_text(argument.args[0]) if isinstance(argument, ast.Call) and argument.args else UNKNOWN
        target = self.call.resolve_path(Word(path)) if UNKNOWN not in path and not is_safe else None
        text = self.call.facts.text(target.path) if target is not None and target.path else None
        for match in _YAML_CALL.finditer(text or ""):
            inner = _ModuleClassifier(self.call)
            module = match[1].rpartition(".")[0]
            yield from _classify_source(f"import {module}\n{match[1]}(*{match[2]})", inner)

    def _classify_eval(self, argument: ast.expr | None) -> Iterator[Effect]:
        text = self.evaluate_text(argument)
        calls = (
            {self.resolve_name(n.func) for n in ast.walk(argument) if isinstance(n, ast.Call)} if argument else set()
        )
        # Evaluating decoded text hides it from a reader even if the text is known here.
        if calls & DECODER_FUNCTIONS:
            yield self.call.make_effect("code.hidden", note="runs what a decoder makes of its input")
        if UNKNOWN not in text:
            inner = _ModuleClassifier(self.call)
            inner.qualified_names.update(self.qualified_names)
            yield from _classify_source(text, inner)
            return
        if self.downloaded_names.hold(argument):
            yield self.call.make_effect("code.remote", note="runs what it downloads")
        for node in ast.walk(argument) if argument is not None else ():
            if isinstance(node, ast.Call) and self.resolve_name(node.func) == "open":
                yield from self._classify_run_file(node.args[:1])


def classify_python(text: str, call: Invocation, path: str = "") -> Iterator[Effect]:
    """Yield the effects of a Python program; `path` is that of its file."""
    module = _ModuleClassifier(call)
    if path:
        module.values["__file__"] = path
    yield from _classify_source(text, module)


def _classify_source(text: str, module: _ModuleClassifier) -> Iterator[Effect]:
    if _NOTEBOOK_MAGIC.search(text):
        # A cell of a notebook: what stands after `!` is run by a shell.
        yield from module.call.classify_shell(
            "\n".join(match[1] or match[2] or match[3] or "" for match in _NOTEBOOK_MAGIC.finditer(text))
        )
        text = _NOTEBOOK_MAGIC.sub("", text)
        if text.lstrip().startswith(("%%bash", "%%sh")):
            yield from module.call.classify_shell(text.lstrip().partition("\n")[2])
            return
    try:
        program = FallbackParser(text)
    except (ValueError, RecursionError, MemoryError):
        # Python at a smaller stack depth than this one may well parse it.
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
