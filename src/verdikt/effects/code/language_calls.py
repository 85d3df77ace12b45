"""What only one language calls so: which of its functions run a command, delete, write, read, send.

`script_patterns.py` has the names that many languages share. Here every language has its own rows, and its own way
to write a call is first put into the common one: `os:cmd("x")` of Erlang and `"x" |> f()` of Elixir become `f("x")`.
"""

import re
from collections.abc import Iterator
from enum import StrEnum

from verdikt.effects import host
from verdikt.effects.code.script_patterns import STRING_GROUPS
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word


class CallKind(StrEnum):
    """What a call does with its strings, where that is no effect on a path."""

    SHELL = "shell"
    """Runs the string as a command line."""
    WORDS = "words"
    """Runs a program with the strings as its words."""
    SEND = "send"
    FETCH = "fetch"
    REMOTE = "remote"
    """Runs what it downloads."""


def _call(names: str, before: str = "") -> "re.Pattern[str]":
    """Return the pattern of a call of one of `names`; `before` is what stands before its string."""
    return compile_lazily(rf"(?<![\w$.\"'])(?:{names})(?![\w!?])[!?]?\s*\(?\s*{before}{STRING_GROUPS}", re.DOTALL)


_ANY = r"[^;\n]{0,200}?"
_LISP_ARGUMENT = r"(?:\"(?:[^\"\\]|\\.)*\"|\([^()]*\)|[^\s()\"]+)\s+"
_WORDS = rf"((?:[\s,\[\]({{]*(?:nil\s+|t\s+|args\s*,\s*)*{STRING_GROUPS})*)"
Rows = tuple[tuple[str, "re.Pattern[str]"], ...]
_ERLANG: Rows = (
    (CallKind.SHELL, _call(r"os\.cmd")),
    (CallKind.SHELL, _call(r"open_port|Port\.open", r"\{\s*:?spawn\s*,\s*")),
    (
        CallKind.WORDS,
        compile_lazily(rf"\b(?:open_port|Port\.open)\(\s*\{{\s*:?spawn_executable\s*,\s*{STRING_GROUPS}\s*\}}{_WORDS}"),
    ),
    ("fs.delete.tree", _call(r"file\.del_dir_r")),
    ("fs.delete", _call(r"file\.(?:delete|del_dir)")),
    ("fs.overwrite", _call(r"file\.write_file")),
    ("fs.read", _call(r"file\.(?:read_file|consult|open)")),
    (CallKind.SEND, _call(r"httpc\.request", r"(?::?(?:post|put)\s*,\s*)\{\s*")),
    (CallKind.SEND, _call(r"gen_(?:tcp|udp)\.connect")),
    (CallKind.FETCH, _call(r"httpc\.request")),
)
_LISP: Rows = (
    (
        CallKind.WORDS,
        compile_lazily(rf"\((?:call-process|process-file|process-lines)\s+{STRING_GROUPS}{_WORDS}", re.DOTALL),
    ),
    (
        CallKind.WORDS,
        compile_lazily(rf"\((?:start-process|start-file-process)\s+{_LISP_ARGUMENT * 2}{STRING_GROUPS}{_WORDS}"),
    ),
    (CallKind.WORDS, compile_lazily(rf":command\s+(?:'\(|\(list\s+){STRING_GROUPS}{_WORDS}")),
    (
        CallKind.SHELL,
        _call(r"shell-command-to-string|async-shell-command|call-process-shell-command|process-lines-ignore-status"),
    ),
    ("fs.delete.tree", _call(r"delete-directory-internal|delete-directory-and-files|dired-delete-file")),
    ("fs.overwrite", compile_lazily(rf"\(write-region\s+{_LISP_ARGUMENT * 2}{STRING_GROUPS}")),
    ("fs.overwrite", _call(r"with-temp-file|write-file")),
    ("fs.read", _call(r"insert-file-contents(?:-literally)?|find-file-noselect")),
    (CallKind.REMOTE, compile_lazily(rf"\(url-insert-file-contents\s+{STRING_GROUPS}(?=.*\(eval-buffer)", re.DOTALL)),
    (CallKind.SEND, _call(r"url-retrieve(?:-synchronously)?|url-copy-file", r"\(concat\s+")),
    (CallKind.SEND, compile_lazily(rf"url-request-method\s+\"POST\".*\(url-retrieve\S*\s+{STRING_GROUPS}", re.DOTALL)),
    (CallKind.FETCH, _call(r"url-retrieve(?:-synchronously)?|url-copy-file|url-insert-file-contents")),
)
_JAVA: Rows = (
    # A tree that is walked so that each of its files is deleted.
    (
        "fs.delete.tree",
        compile_lazily(
            r"\bFiles\.(?:walk|walkFileTree|list|find|newDirectoryStream)\(\s*(?:Paths?\.(?:of|get)\(\s*)?"
            rf"{STRING_GROUPS}"
            r"(?=.{0,400}?\bdelete(?:IfExists|OnExit)?\b)",
            re.DOTALL,
        ),
    ),
    (
        "fs.read",
        _call(
            r"(?:\w+\.)*(?:ofFile|FileInputStream|FileReader|newInputStream|newBufferedReader)",
            r"(?:\w+\.)*(?:Paths?\.(?:of|get)\(\s*)?",
        ),
    ),
    ("fs.overwrite", _call(r"FileOutputStream|FileWriter|PrintWriter")),
    (CallKind.SEND, compile_lazily(rf"\bURI\.create\(\s*{STRING_GROUPS}(?=.{{0,400}}?\.(?:POST|PUT)\()", re.DOTALL)),
)
LANGUAGE_CALLS: dict[str, Rows] = {
    "erlang": _ERLANG,
    "elixir": (
        *_ERLANG,
        (CallKind.SHELL, _call(r"System\.shell")),
        (CallKind.SEND, _call(r"(?:Req|HTTPoison|Tesla|HTTPotion)\.(?:post|put|patch)!?")),
        (CallKind.REMOTE, compile_lazily(rf"\bCode\.eval_string\(\s*(?:\w+\.)+get!?\(\s*{STRING_GROUPS}")),
    ),
    # A walk whose function removes what it is given.
    "c": (
        (
            "fs.delete.tree",
            compile_lazily(rf"(?:\b(?:remove|unlink|rmdir)\s*\(.*)\bn?ftw(?:64)?\(\s*{STRING_GROUPS}", re.DOTALL),
        ),
    ),
    "elisp": _LISP,
    "lisp": _LISP,
    "java": _JAVA,
    "kotlin": _JAVA,
    "groovy": _JAVA,
    "scala": _JAVA,
    "r": (
        ("fs.delete.tree", _call(r"(?:fs::)?dir_delete")),
        ("fs.delete", _call(r"(?:fs::)?file_delete")),
        ("fs.overwrite", _call(r"writeLines|write|saveRDS|dput|write\.\w+|write_\w+", rf"{_ANY},\s*(?:\w+\s*=\s*)?")),
        ("fs.overwrite", _call(r"cat|dump|save", rf"{_ANY}\bfile\s*=\s*")),
        ("fs.overwrite", _call(r"sink")),
        ("fs.read", _call(r"(?:\w+::)?(?:upload_file|form_file|readBin|scan|read_\w+)")),
        (CallKind.SEND, _call(r"(?:httr2?::)?(?:POST|PUT|PATCH)")),
        (CallKind.SEND, _call(r"(?:RCurl::)?(?:postForm|ftpUpload)")),
        (CallKind.REMOTE, _call(r"eval", r"(?:parse\(\s*(?:text\s*=\s*)?)[\w.:]*\(\s*(?=[\"']https?:)")),
        (CallKind.SHELL, _call(r"(?:processx|sys)::\w+", r"(?=[\"'][^\"']* )")),
        (
            CallKind.WORDS,
            compile_lazily(rf"\b(?:processx|sys)::\w+\(\s*{STRING_GROUPS}(?:\s*,\s*(?:args\s*=\s*)?c\(|,){_WORDS}"),
        ),
    ),
    # A language that no record knows: the words that most have for it, and the words of a command one by one.
    "unknown": (
        (CallKind.SHELL, _call(r"(?:\w+[:.])*(?:shell|sh|cmd|command|process|system)", r":?\s*")),
        (CallKind.SHELL, compile_lazily(r"\bs\"\s+([^\"]+)\"\s+system\b")),
        (CallKind.WORDS, compile_lazily(rf"\b(?:call|run|exec|spawn|process)\s*\(?\s*\[?\s*{STRING_GROUPS}{_WORDS}")),
        (
            "fs.delete.tree",
            _call(r"(?:\w+\.)*(?:remove\.all|removeAll|deleteRecursively|rmtree|rmrf)", r"(?:\w+[.(]){0,3}"),
        ),
    ),
    "zig": (
        ("fs.delete.tree", _call(r"(?:\w+(?:\(\))?\.)*deleteTree(?:Absolute)?")),
        ("fs.delete", _call(r"(?:\w+(?:\(\))?\.)*delete(?:File|Dir)(?:Absolute)?")),
        ("fs.read", _call(r"(?:\w+(?:\(\))?\.)*(?:openFile|openFileAbsolute|readFileAlloc)", r"(?:\w+\s*,\s*)?")),
        ("fs.overwrite", _call(r"(?:\w+(?:\(\))?\.)*(?:createFile|createFileAbsolute|writeFile)")),
        (
            CallKind.WORDS,
            compile_lazily(
                rf"(?:\bargv\s*=\s*|\bChild\.init\(\s*|\baddSystemCommand\(\s*)&[^{{]*\{{\s*{STRING_GROUPS}{_WORDS}"
            ),
        ),
    ),
    "v": (
        ("fs.delete.tree", _call(r"os\.rmdir_all")),
        ("fs.delete", _call(r"os\.(?:rm|rmdir)")),
        ("fs.overwrite", _call(r"os\.(?:write_file|create)")),
        ("fs.read", _call(r"os\.(?:read_file|read_bytes|read_lines|open)")),
        (CallKind.SHELL, _call(r"os\.(?:execute|execute_or_exit|execute_opt|system|execvp?)")),
        (CallKind.SEND, _call(r"http\.(?:post|post_json|post_form|put)")),
        (CallKind.FETCH, _call(r"http\.get(?:_text)?")),
    ),
    "node": (
        # `process.binding("spawn_sync").spawn({file, args})`
        (CallKind.WORDS, compile_lazily(rf"\bspawn\(\s*\{{\s*file\s*:\s*{STRING_GROUPS}\s*,\s*args\s*:{_WORDS}")),
    ),
}
"""Language → what its own calls do. The first row that finds a call at a place has it."""

# The writing of calls.
_MODULE_CALL = compile_lazily(r"(?<![\w:\"'])'?([a-z]\w*)'?:([a-z]\w*)\(")
_ERLANG_JOIN = compile_lazily(r"\bfilename:(?:join|absname)\(\s*\[?")
_ATOM_MODULE = compile_lazily(r"(?<![\w:\"'])(?::\"?|~a\()([a-z]\w*)\"?\.(?=[a-z])")
_SIGIL = compile_lazily(
    r"~[cCsS](?:\"([^\"]*)\"|\(([^()]*)\)|'([^']*)'|\|([^|]*)\||/([^/]*)/|\[([^\[\]]*)\]|\{([^{}]*)\})"
)
_INNER = r"(?:[^()]|\([^()]*\))*"
_QUALIFIED = r"(?:\w+\.)+\w+[!?]?"
_PIPED_CONSTANT = compile_lazily(
    rf"(?P<value>{STRING_GROUPS}|\b(?:[A-Z]\w*\.)+\w+[!?]?\({_INNER}\))\s*\|>\s*(?P<name>{_QUALIFIED})\("
)
_PIPED_EACH = compile_lazily(
    rf"(?P<value>\b(?:Path\.wildcard|File\.ls!?)\({_INNER}\)|\[[^\[\]]*\])\s*\|>\s*"
    rf"(?:Enum\.(?:each|map)|Task\.async_stream)\(\s*&(?P<name>{_QUALIFIED})(?:/1|\(\s*&1\s*\))\s*\)"
)
_EACH_CALL = compile_lazily(
    rf"\bEnum\.(?:each|map)\(\s*(?P<value>Path\.wildcard\({_INNER}\)|\[[^\[\]]*\])\s*,\s*&(?P<name>{_QUALIFIED})"
    r"(?:/1|\(\s*&1\s*\))\s*\)"
)
_LISP_DIRECTORY = compile_lazily(
    r"\(default-directory\s+\"([^\"]*)\"\)|\((?:setq\s+default-directory|cd)\s+\"([^\"]*)\"\)"
)
_LISP_RELATIVE = compile_lazily(
    r"(\((?:delete-directory|delete-file|write-file|insert-file-contents|load-file)\s+\")(?![/~])"
)
_LIST_ITEM = compile_lazily(STRING_GROUPS)
_MAX_PIPES = 12


def rewrite_calls(language: str, text: str) -> str:
    """Return the same script with the calls of its language written as most languages write them."""
    if language == "erlang":
        text = _ERLANG_JOIN.sub("path.join(", text)
        text = _MODULE_CALL.sub(r"\1.\2(", text)
        return text.replace("++", "+")
    if language == "elixir":
        text = _SIGIL.sub(lambda m: '"' + next(g for g in m.groups() if g is not None) + '"', text)
        text = _ATOM_MODULE.sub(r"\1.", text)
        for _ in range(_MAX_PIPES if "|>" in text else 0):
            text, count = _PIPED_EACH.subn(_call_each, text)
            text, more = _PIPED_CONSTANT.subn(r"\g<name>(\g<value>, ", text)
            if not count and not more:
                break
        return _EACH_CALL.sub(_call_each, text).replace(", )", ")")
    if language == "elisp":
        return _place_relative_paths(text)
    return text


def _call_each(match: "re.Match[str]") -> str:
    """Return one call for each item of a list, or one for all that a listing finds."""
    value = match["value"]
    items = [item[0] for item in _LIST_ITEM.finditer(value)][:_MAX_PIPES] if value[0] == "[" else [value]
    return "; ".join(f"{match['name']}({item})" for item in items)


def _place_relative_paths(text: str) -> str:
    """Put the directory that a program of Emacs works in before the paths that are relative to it."""
    directories = _LISP_DIRECTORY.search(text)
    if directories is None:
        return text
    directory = (directories[1] or directories[2] or "").rstrip("/")
    return _LISP_RELATIVE.sub(lambda m: f"{m[1]}{directory}/", text) if directory else text


def classify_language_calls(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effects of the calls that only this language has."""
    seen: set[int] = set()
    for kind, pattern in LANGUAGE_CALLS.get(language, ()):
        for match in pattern.finditer(text):
            if match.start() not in seen:
                seen.add(match.start())
                yield from _classify_call(kind, match, call)


def _classify_call(kind: str, match: "re.Match[str]", call: Invocation) -> Iterator[Effect]:
    first = next(group for group in match.groups()[:3] if group is not None)
    if kind == CallKind.SHELL:
        yield from call.classify_shell(first)
    elif kind == CallKind.WORDS:
        words = [next((g for g in groups if g), "") for groups in re.findall(STRING_GROUPS, match[4] or "")]
        yield from call.classify_shell(" ".join([first, *(w if w[:1] == "~" else f"'{w}'" for w in words)]))
    elif kind == CallKind.REMOTE:
        yield call.make_effect("code.remote", (Target(host.parse_host(first), "host"),), note="runs what it downloads")
    elif kind in (CallKind.SEND, CallKind.FETCH):
        name = host.parse_host(first)
        what = "net.local" if host.is_local_host(name) else f"net.{kind}"
        yield call.make_effect(what, (Target(name, "host"),))
    else:
        yield from call.make_effects(kind, [Word(first, first, "*" in first)])
