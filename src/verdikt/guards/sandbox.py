"""A guard that decides which Python code an agent may execute."""

import ast
from collections.abc import Iterator, Sequence
from typing import Annotated

from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard import BaseGuard
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action, ActionKind
from verdikt.model.verdict import Verdict

_IMPORT_NAMES = (
    "os sys subprocess socket shutil ctypes importlib builtins io pathlib glob tempfile pty signal multiprocessing "
    "threading asyncio concurrent http urllib requests httpx aiohttp ftplib smtplib telnetlib ssl socketserver xmlrpc "
    "webbrowser pickle marshal shelve dbm sqlite3 code codeop inspect gc resource fcntl mmap runpy pkgutil zipimport "
    "posix nt pwd platform sysconfig site faulthandler tracemalloc _thread cffi"
)
FORBIDDEN_IMPORTS = tuple(_IMPORT_NAMES.split())
"""Modules that give access to the machine, the network or the interpreter."""

_CALL_NAMES = (
    "eval exec compile __import__ open globals locals vars input breakpoint exit quit help memoryview "
    "getattr setattr delattr __builtins__ __loader__ __spec__"
)
FORBIDDEN_CALLS = tuple(_CALL_NAMES.split())
"""Built-in names that run code or read state which the program's text does not show."""

_ATTRIBUTE_NAMES = (
    "__subclasses__ __bases__ __base__ __mro__ __globals__ __code__ __closure__ __builtins__ __import__ "
    "__getattribute__ __reduce__ __reduce_ex__ __loader__ __spec__ __dict__ "
    "f_globals f_locals f_builtins f_back gi_frame gi_code cr_frame tb_frame func_globals func_code "
    "attrgetter methodcaller"
)
FORBIDDEN_ATTRIBUTES = tuple(_ATTRIBUTE_NAMES.split())
"""Attributes that lead from any object to the interpreter's internals."""

_FIX = "use the language alone: no {what}; ask for a tool that does what is needed"


class SandboxGuard(BaseGuard):
    """Blocks Python code whose syntax tree uses forbidden names, and code that cannot be parsed."""

    name = "sandbox"
    governance_layer = GovernanceLayer.BOUNDARY
    uses_effects = False

    def __init__(
        self,
        *,
        forbidden_imports: Annotated[
            Sequence[str], "modules that may not be imported, with all below them"
        ] = FORBIDDEN_IMPORTS,
        forbidden_calls: Annotated[Sequence[str], "built-in names that may not be used"] = FORBIDDEN_CALLS,
        forbidden_attributes: Annotated[
            Sequence[str], "attributes that may not be used, by name or as text"
        ] = FORBIDDEN_ATTRIBUTES,
        allowed_imports: Annotated[
            Sequence[str], "modules that may be imported; none given: all that are not forbidden"
        ] = (),
        languages: Annotated[Sequence[str], "names under which a host means Python"] = (
            "python",
            "python3",
            "py",
            "ipython",
        ),
    ) -> None:
        self._imports = frozenset(forbidden_imports)
        self._calls = frozenset(forbidden_calls)
        self._attributes = dict.fromkeys(forbidden_attributes)  # in order, so that the reason is always the same
        self._allowed = frozenset(allowed_imports)
        self._languages = frozenset(languages)

    def check(self, action: Action, ctx: GovernanceContext | None = None) -> Verdict:
        """Return a block for the first forbidden name, or a pass."""
        if action.kind != ActionKind.EXECUTE_CODE:
            return Verdict.pass_(guard=self.name)
        language = action.text("language", "lang", "kernel")
        if language and language.lower() not in self._languages:
            reason = f"expected Python code, found `{language[:40]}`, which cannot be checked"
            return Verdict.ask(guard=self.name, reason=reason, fix="write it in Python")
        code = action.text("code", "source", "script", "content", "cell", "input")
        if not code:
            fix = "give the code in the field `code`"
            return Verdict.block(guard=self.name, reason="expected code to execute, found none", fix=fix)
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, RecursionError, MemoryError, UnicodeError) as error:
            reason = f"the code cannot be parsed: {str(error)[:200] or type(error).__name__}"
            return Verdict.block(guard=self.name, reason=reason, fix="correct the syntax")
        for what, name, line in self._find_forbidden(tree):
            reason = f"line {line}: {what} `{name[:80]}` is forbidden"
            return Verdict.block(guard=self.name, reason=reason, fix=_FIX.format(what=f"{what} `{name[:80]}`"))
        return Verdict.pass_(guard=self.name)

    def _find_forbidden(self, tree: ast.Module) -> Iterator[tuple[str, str, int]]:
        """Yield kind, name and line of each forbidden name in the code."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                modules = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = ["." * node.level + (node.module or "")]
            else:
                yield from self._find_forbidden_names(node)
                continue
            yield from (("import of", module, node.lineno) for module in modules if not self._may_import(module))
            imported = (alias.name.rsplit(".", 1)[-1] for alias in node.names)
            yield from (("attribute", name, node.lineno) for name in imported if name in self._attributes)

    def _find_forbidden_names(self, node: ast.AST) -> Iterator[tuple[str, str, int]]:
        if isinstance(node, ast.Name) and node.id in self._calls:
            yield "use of", node.id, node.lineno
        elif isinstance(node, ast.Attribute) and node.attr in self._attributes:
            yield "attribute", node.attr, node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # Attributes can be named in a text: `getattr(x, "__globals__")`, `"{0.__globals__}".format(x)`.
            text = node.value
            if text in self._attributes:
                yield "attribute", text, node.lineno
            elif "{" in text and (inside := next((name for name in self._attributes if f".{name}" in text), "")):
                yield "attribute", inside, node.lineno

    def _may_import(self, module: str) -> bool:
        if module.startswith("."):
            # There is no package around the code, so a relative import could only reach the host's own modules.
            return False
        parts = module.split(".")
        names = {".".join(parts[: length + 1]) for length in range(len(parts))}
        if self._allowed and not names & self._allowed:
            return False
        return not names & self._imports
