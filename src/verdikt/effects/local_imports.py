"""The files of a project that a program loads by name: `import helper`, `require("./lib")`, `include rules.mk`."""

from __future__ import annotations

import re
import sys
from posixpath import dirname, normpath

from verdikt.model.lazy_regex import compile_lazily

MAX_IMPORTS = 12
"""How many imports of one file are followed, one level deep."""

_PYTHON_IMPORT = compile_lazily(
    r"(?m)^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+([\w, \t]+)|import[ \t]+([\w., \t]+))"
)
_NODE_IMPORT = compile_lazily(
    r"""(?:\brequire\(\s*|\bimport\(\s*|\bfrom\s+|^\s*import\s+)["'](\.{1,2}/[^"']+)["']""", re.MULTILINE
)
_RUBY_IMPORT = compile_lazily(r"""\b(?:require_relative|load)\s*\(?\s*["']([^"']+)["']""")
_PHP_IMPORT = compile_lazily(r"""\b(?:require|include)(?:_once)?\s*\(?\s*(?:__DIR__\s*\.\s*)?["']/?([^"']+)["']""")
_PERL_IMPORT = compile_lazily(r"""\b(?:require|do)\s+["']([^"']+)["']""")
_LUA_IMPORT = compile_lazily(r"""\b(?:require|dofile)\s*\(?\s*["']([^"']+)["']""")
_NODE_ENDINGS = ("", ".js", ".ts", ".mjs", ".cjs", "/index.js", "/index.ts", ".json")


def list_local_imports(language: str, path: str, text: str, root: str = "") -> list[tuple[str, ...]]:
    """Return for each import of a file the paths at which it may lie, the likeliest first.

    `root` is the top of the project, from which `python -m` imports.
    """
    directory = dirname(path)
    if language == "python":
        candidates = _list_python_imports(directory, text, root)
    elif language == "node":
        names = _NODE_IMPORT.findall(text)
        candidates = [tuple(normpath(f"{directory}/{name}") + ending for ending in _NODE_ENDINGS) for name in names]
    elif language in ("ruby", "php", "perl", "lua"):
        pattern = {"ruby": _RUBY_IMPORT, "php": _PHP_IMPORT, "perl": _PERL_IMPORT, "lua": _LUA_IMPORT}[language]
        ending = {"ruby": ".rb", "lua": ".lua"}.get(language, "")
        places = [normpath(f"{directory}/{name}") for name in pattern.findall(text)]
        candidates = [(place, place + ending) if ending else (place,) for place in places]
    else:
        return []
    return list(dict.fromkeys(candidates))[:MAX_IMPORTS]


def _list_python_imports(directory: str, text: str, root: str) -> list[tuple[str, ...]]:
    modules: list[str] = []
    for origin, names, plain in _PYTHON_IMPORT.findall(text):
        if plain:
            modules += [name.split()[0] for name in plain.split(",") if name.strip()]
        else:
            modules.append(origin)
            # `from app import helper`: the name may be a module, too.
            separator = "" if origin.endswith(".") else "."
            modules += [f"{origin}{separator}{name.split()[0]}" for name in names.split(",") if name.strip()]
    return [
        tuple(
            f"{place}{ending}"
            for start in dict.fromkeys((directory, root, f"{root}/src") if module[0] != "." else (directory,))
            for ending in (".py", "/__init__.py")
            if (place := _to_place(start, module))
        )
        for module in modules
        if module.strip(".") and module.partition(".")[0] not in sys.stdlib_module_names
    ]


def _to_place(directory: str, module: str) -> str:
    """Return where a module lies, without its ending; empty for a package as a whole."""
    name = module.lstrip(".")
    for _ in range(len(module) - len(name) - 1):
        directory = dirname(directory)
    return f"{directory}/{name.replace('.', '/')}" if name else ""


def list_module_files(directory: str, module: str) -> tuple[str, ...]:
    """Return the files that `python -m MODULE` may run in a directory."""
    place = f"{directory}/{module.replace('.', '/')}"
    return (f"{place}.py", f"{place}/__main__.py")
