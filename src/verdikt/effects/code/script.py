"""Node, Perl, Ruby, PHP, Lua and their like, by the names of the calls that touch the world and the strings beside them.

No grammar: a call counts when its name stands before a parenthesis or a string, outside of strings and comments.
"""

import re
from collections.abc import Iterator

from verdikt.effects import host
from verdikt.effects.code.applescript import classify_applescript
from verdikt.effects.code.constant_folding import fold_constants
from verdikt.effects.code.environment_dump import classify_environment_dump
from verdikt.effects.code.sql import classify_sql, looks_like_sql
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

_STRING = r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`)"""

_SHELL_CALL = compile_lazily(
    rf"(?<!['\"])\b(?:system|exec|execSync|popen|shell_exec|passthru|proc_open|pcntl_exec|execute|spawn|spawnSync|execFile|execFileSync|fork|run|qx|Open3\.\w+|IO\.popen|PTY\.spawn|Runtime\.getRuntime\(\)\.exec|ProcessBuilder|System\.cmd|exec\.Command|Command::new|os\.execute|io\.popen|Deno\.Command|Bun\.spawn|Sys\.command|callCommand|readProcess|uiop:run-program|run-program|run-shell-command|shell-command|clojure\.java\.shell/sh|shell/sh|Process\.run|do\s+shell\s+script)\b\s*[(\[*.]*\s*(?:new\s+String\s*\[\]\s*\{{\s*|(?:java\.util\.)?(?:List\.of|Arrays\.asList|listOf)\s*\(\s*)?{_STRING}((?:[\s,\[\]]*(?:\{{\s*args\s*:[\s\[]*)?{_STRING})*)",
    re.DOTALL,
)
_BACKTICK_COMMAND = compile_lazily(r"(?<![\w)])`([^`]{2,})`|(?:%x|\bqx)\s*[{(\[/|!]([^})\]/|!]+)[})\]/|!]")
_BACKTICK_LANGUAGES = ("perl", "ruby", "php")
"""Languages in which text between backquotes is for a shell."""
_FILE_CALLS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (
        what,
        re.compile(
            rf"(?<![\w$.'\"])(?:[\w$]+(?:\([^()]*\))?\s*(?:\.|::|->))*(?:{names})(?!\w)\s*[\"']?\s*[(,]?\s*(?:\*?\s*(?:(?:Dir\.)?glob\s*\(?|Dir\s*\[|array_filter\s*\(|(?:map|grep)\s*\{{|list\.files\(|dir\(|Sys\.glob\()\s*)?{_STRING}",
            re.DOTALL,
        ),
    )
    for what, names in (
        (
            "fs.delete.tree",
            "rmSync|rm_rf!?|rm_r|remove_entry_secure|rmtree|remove_tree|removeSync|rimraf|rimrafSync|rmdirSync|deleteDirectory|remove_entry|emptyDirSync|RemoveAll|remove_dir_all|removeItem\\(\\s*atPath:|delete-directory/files|delete-directory|delete-tree|removeDirectoryRecursive|removePathForcibly|delete-tree!|FileUtils/deleteDirectory|require\\(\\s*['\"]rimraf['\"]\\s*\\)(?:\\.sync)?|rmdir|rm",
        ),
        (
            "fs.delete",
            "array_map\\(\\s*['\"]unlink['\"]|unlink|unlinkSync|unlinkIfExists|deleteIfExists|remove_file|removeFile|delete-file|Sys\\.remove|Remove",
        ),
        (
            "fs.overwrite",
            "writeFileSync|writeFile|file_put_contents|createWriteStream|writeAllText|outputFileSync|outputFile|copyFileSync|ftruncate|writeTextFile|File\\.write|IO\\.write",
        ),
        ("fs.truncate", "truncateSync|truncate"),
        ("fs.append", "appendFileSync|appendFile"),
        (
            "fs.read",
            "readFileSync|readFile|file_get_contents|createReadStream|readlines|readfile|show_source|highlight_file|readTextFile|readTextFileSync|slurp|parse_ini_file|File\\.read!?|IO\\.read|"
            "File\\.readlines|File\\.foreach|IO\\.foreach|File\\.stream!|File\\.open!|Bun\\.file|io\\.lines|readLines|read|read_to_string|readAllText|readAllLines|ReadFile|fromFile|cpSync|copyFileSync|cp|cp_r|"
            "copyFile|FileUtils\\.cp|copy|load_file|safe_load_file|source|readRDS|read\\.csv|openSync|createReadStream|os\\.Open|Open",
        ),
        ("fs.chmod", "chmodSync|chmod"),
        ("fs.move", "renameSync|rename"),
    )
)
_DELETE_CALL = compile_lazily(
    rf"(?<![\w$.'\"])(?:(?P<of>[\w$:]+(?:\([^()]*\))?)\s*(?:\.|::|->)\s*(?:promises\s*\.\s*)?)?(?:delete|remove)(?!\w)\s*\(?\s*\*?\s*(?:(?:Dir\.)?glob\s*\(?|Dir\s*\[|list\.files\()?\s*{_STRING}",
    re.DOTALL,
)
"""`delete` and `remove`, which maps and lists have too."""
_FILE_MODULE = compile_lazily(
    r"^(?:File|FileUtils|IO|FS|fs\w*|Deno|Bun|os|Files|Dir|Pathname|file|filesystem|path|unlink|require\(.*|import\(.*)$"
)
_OPEN_CALL = compile_lazily(
    rf"\b(?:open|fopen|File\.open|File\.new|io\.open|sysopen)\b\s*\(?\s*(?:my\s+)?(?:[$\w]+\s*,\s*)?{_STRING}\s*(?:,\s*{_STRING})?"
)
_NETWORK_CALL = compile_lazily(
    rf"(?:\b(?:fetch|axios(?:\.\w+)?|https?\.(?:get|request)|Net::HTTP\.\w+|curl_init|LWP::Simple::\w+|URI\.open|got|request|get|getstore)|->(?:post|get|put|post_form)|require\(['\"]https?['\"]\)\.(?:get|request))\b\s*\(?\s*(?:URI(?:\.parse)?\(\s*)?{_STRING}"
)
_SEND_CALL = compile_lazily(
    r"(?i)Net::HTTP\.post|->post(?:_form)?\b|\.(?:post|put|patch)\s*\(|method['\"]?\s*(?::|=>)\s*['\"](?:POST|PUT|PATCH)"
)
_EVAL_CALL = compile_lazily(
    r"\b(?:eval|new\s+Function|runInThisContext|runInNewContext|loadstring|instance_eval|class_eval|create_function)\b"
)
_EVAL_TEXT = compile_lazily(
    rf"\b(?:eval|Function|runInThisContext|runInNewContext|loadstring|load|instance_eval|Code\.eval_string|assert)\s*\(?\s*{_STRING}"
)
_FETCH_CALL = compile_lazily(
    r"""\bfetch\s*\(|\baxios\b|require\(['"]https?['"]\)|https?\.get\(|URI\.open|open-uri|\bLWP::|Net::HTTP|curl_exec|(?:file_get_contents|fopen|\bget)\s*\(?\s*['"]https?:|[`'"(]\s*(?:curl|wget)\s"""
)
_DECODE_CALL = compile_lazily(
    r"""\batob\b|['"]base64['"]|base64_decode|decode64|decode_base64|gzinflate|str_rot13|hex2bin|unpack\s*\(?\s*['"](?:m|H)|pack\s*\(?\s*['"]H|fromCharCode"""
)
_RUN_DECODED = compile_lazily(
    r"\b(?:system|exec|popen|shell_exec|passthru|proc_open|execSync|spawn|spawnSync)\s*\(?\s*(?:\w+(?:::|->|\.))*(?:decode_base64|base64_decode|decode64|atob|hex2bin|str_rot13|gzinflate|pack|Buffer\.from)\b"
)
_RUN_FETCHED = compile_lazily(
    r"\b(?:system|exec|popen|shell_exec|passthru|execSync|spawn|spawnSync|eval)\s*\(?\s*(?:URI\.open|Net::HTTP\.get|LWP::Simple::get|file_get_contents\(\s*['\"]https?:|get\(\s*['\"]https?:|await\s+\(?await\s+fetch)"
)
_EMPTY_WRITE = compile_lazily(
    rf"""\b(?:writeFileSync|writeFile|file_put_contents|File\.write|IO\.write|outputFileSync)\b\s*\(?\s*{_STRING}\s*,\s*(?:''|""|``)\s*[),;]?"""
)
_DATABASE_CALLS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("db.drop", compile_lazily(r"\bdropDatabase\s*\(|\bdropAllTables\s*\(|\bdropCollection\s*\(|\bflush(?:all|All|db|Db)\b|\bdropSchema\s*\(|sync\(\s*\{\s*force\s*:\s*true")),
    ("cloud.delete", compile_lazily(r"\.delete(?:Bucket|Table|DBInstance|DBCluster|Stack|Function|Cluster|Volume|Objects|Repository|HostedZone)\(|\.terminateInstances\(|\b(?:Delete(?:Bucket|Table|DBInstance|DBCluster|Stack|Volume|Objects)|TerminateInstances)Command\b|\.delete_(?:bucket|table|db_instance|stack)\b|\.terminate_instances\b")),
    ("db.delete.all", compile_lazily(r"\bdelete(?:Many|_many)\s*\(\s*(?:\{\s*\})?\s*\)|\b(?:destroy_all|delete_all)\b|\btruncate\(\)|\.objects\.all\(\)\.delete\(\)")),
)  # fmt: skip
_SQL_CALL = compile_lazily(
    rf"\b(?:query|exec|execute|executeSql|raw|unsafe|\$executeRawUnsafe|\$queryRawUnsafe|exec_query|do|prepare|exec_params)\b\s*\(?\s*{_STRING}",
    re.DOTALL,
)
_FILE_OBJECT = compile_lazily(
    rf"(?:\bnew\s+)?\b(?:java\.io\.)?File\(\s*{_STRING}(?:\s*,\s*{_STRING})?\s*\)\.(deleteDir|delete|deleteRecursively)\b"
)
_PROCESS_SEQUENCE = compile_lazily(
    rf"\b(?:Seq|List|Process|ProcessBuilder)\((?:Seq\()?((?:\s*{_STRING}\s*,?)+)\)+\s*\.(?:!{{1,2}}|start|inheritIO|lazyLines)"
)
_DOT_JOIN_LANGUAGES = ("php", "perl", "raku")
_JOINED_EXPRESSION = (compile_lazily(r"\s*(?:\+|\.\.|<>)\s*[$\w(]"), compile_lazily(r"\s*\.\s*[$\w(]"))
"""A string that something unknown is joined to: by a dot in PHP and Perl, by other marks elsewhere."""
_PHP_JOIN = compile_lazily(r"""([)"'])\s*\.\s*(?=\w+\()""")
_BUN_SHELL = compile_lazily(r"\$`([^`]+)`")
_TCL_DELETE = compile_lazily(r"\bfile\s+delete\s+(?:-force\s+)?(?:--\s+)?([^\s;\]]+)")
_SOCKET_CALL = compile_lazily(
    r"\b(?:socket|TCPSocket|TCPServer|fsockopen|net\.(?:connect|Socket|createConnection|createServer)|createServer|java\.net\.Socket|socket\.tcp|socket\.bind|IO::Socket(?:::\w+)?|ServerSocket|Sockets?|stream_socket_client|pfsockopen|connect\s*\(|net\.Dial|syscall\.Socket|Java\.type\('java\.net)\b|/inet/(?:tcp|udp)/"
)
_PROCESS_START = compile_lazily(
    r"(?:/bin/(?:ba|z|da|k)?sh|\bcmd\.exe|\bsh\b\s*-i|\bpopen\b|\b(?:shell_)?exec\b|\bpassthru\b|\bproc_open\b|\bspawn\b|\bsystem\b|\bProcessBuilder\b|\|&\s*getline|\brun\s*\(\s*pipeline|\bexecuteSync\b|\bexec(?:File)?Sync\(\s*(?![\"'`\s])|syscall\.Exec|exec\.Command)"
)
_LINE_COMMENT = {
    "node": "//",
    "php": "//",
    "java": "//",
    "groovy": "//",
    "go": "//",
    "perl": "#",
    "ruby": "#",
    "lua": "--",
    "julia": "#",
    "tcl": "#",
    "r": "#",
    "elixir": "#",
    "haskell": "--",
    "lisp": ";",
    "scheme": ";",
}
_MAX_SCRIPT = 100_000


def classify_script(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """What a program in one of these languages would do."""
    text = _strip_comments_and_imports(language, text[:_MAX_SCRIPT])
    yield from _classify_eval_source(text, call)
    if language != "awk":  # whose constants the shell analysis puts in
        text = fold_constants(language, text)
    yield from _classify_eval_text(language, text, call)
    if language == "php":
        text = _PHP_JOIN.sub(r"\1 , ", text)  # a dot joins strings there
    yield from classify_environment_dump(language, text, call)
    yield from _classify_library_calls(language, text, call)
    if _SOCKET_CALL.search(text) and (
        _PROCESS_START.search(text) or (language in _BACKTICK_LANGUAGES and _BACKTICK_COMMAND.search(text))
    ):
        yield call.make_effect("net.shell", note="a shell over a socket")
    for found in _SHELL_CALL.finditer(text):
        yield from _classify_shell_call(found, call, language)
    yield from _classify_downloaded_run(text, call)
    if language in _BACKTICK_LANGUAGES:
        for found in _BACKTICK_COMMAND.finditer(text):
            yield from call.classify_shell(found.group(1) or found.group(2) or "")
    if language != "awk":
        yield from _classify_file_calls(language, text, call)
    yield from _classify_loops(language, text, call)
    for found in _OPEN_CALL.finditer(text):
        yield from _classify_open(found, call)
    yield from _classify_addresses(text, call)
    if language == "osascript":
        yield from classify_applescript(text, call)


def _classify_downloaded_run(text: str, call: Invocation) -> Iterator[Effect]:
    """A file that is fetched, and then run by its path."""
    fetched = {next(g for g in found.groups() if g is not None) for found in _DOWNLOADED_FILE.finditer(text)}
    for found in _SHELL_CALL.finditer(text) if fetched else ():
        first = next(g for g in found.groups()[:3] if g is not None).split()
        if first and (first[0] in fetched or first[-1] in fetched):
            yield call.make_effect("code.remote", note="runs what it downloaded")


_DOWNLOADED_FILE = compile_lazily(
    rf"""(?:\b(?:getstore|mirror|copy|download_file|urlretrieve|download\.file|download)\s*\(?\s*["']https?:[^"']*["']\s*,\s*(?:destfile\s*=\s*)?{_STRING}|\bfile_put_contents\(\s*{_STRING}\s*,\s*file_get_contents\(\s*["']https?:|\b(?:File|IO)\.(?:write|binwrite)\(?\s*{_STRING}\s*,\s*(?:URI\.open|Net::HTTP\.get|open\(\s*["']https?:))"""
)


def _classify_eval_text(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Program text in a string that is run as it stands."""
    for found in _EVAL_TEXT.finditer(text):
        inner = next(g for g in found.groups() if g is not None)
        if len(inner) < len(text):
            yield from classify_script(language, re.sub(r"\\([\"'`\\])", r"\1", inner), call)


def _classify_file_calls(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Files, by the calls that touch them."""
    goes_on = _JOINED_EXPRESSION[language in _DOT_JOIN_LANGUAGES]
    for what, pattern in _FILE_CALLS:
        for found in pattern.finditer(text):
            name = next(g for g in found.groups() if g is not None)
            if not name.startswith(("http:", "https:")):
                yield from call.make_effects(
                    what, [_to_word(name + (UNKNOWN if goes_on.match(text, found.end()) else ""))]
                )
    for found in _DELETE_CALL.finditer(text):
        owner = found["of"]
        if (
            owner is None
            or _FILE_MODULE.match(owner)
            or re.search(rf"\b{re.escape(owner)}\s*=\s*(?:await\s+)?(?:require|import)\b", text)
        ):
            name = next(g for g in found.groups()[1:] if g is not None)
            if not name.startswith(("http:", "https:")):
                yield from call.make_effects(
                    "fs.delete", [_to_word(name + (UNKNOWN if goes_on.match(text, found.end()) else ""))]
                )


_FORK_BOMB = compile_lazily(
    r"\bfork\s+while\s+fork|\b(?:while|until)\b[^{;]{0,20}[{(;]?\s*(?:do\s+)?fork\b|\bloop\s*(?:\{|do)\s*fork\b"
)
_KILL_ALL = compile_lazily(
    r"""\b(?:Process|process)\.kill\s*\(?\s*(?:["':]?\w+["']?\s*,\s*)?-1\b|\bkill\s+["']?(?:KILL|9|TERM)["']?\s*,\s*-1\b"""
)
_RUBY_DELETE_LOOP = compile_lazily(
    rf"""\bDir\s*(?:\.glob\s*\(?|\.children\s*\(?|\[)\s*{_STRING}\s*[)\]]?\.each\b[^|]{{0,10}}\|\s*(\w+)\s*\|[^}}]{{0,80}}?(?:delete|unlink|rm\w*)\b[ (]*\4\b"""
)
_PERL_ARGUMENTS = compile_lazily(rf"@ARGV\b[^=;]{{0,10}}=\s*\(?\s*{_STRING}")
_PERL_UNLINK = compile_lazily(r"\b(?:unlink|rmtree|rmdir|remove_tree)\b")
_PERL_UNLINK_GLOB = compile_lazily(r"\bunlink\s*\(?\s*<([^<>\n]+)>")
_PERL_FIND_DELETE = compile_lazily(
    rf"\b(?:File::Find::)?find(?:depth)?\s*\(?\s*(?:\\&\w+|(?:\{{[^{{}}]*)?sub\s*\{{[^}}]*\b(?:unlink|rmtree|rmdir)\b[^}}]*\}}[^\"'()]*)\s*,\s*{_STRING}"
)


def _classify_loops(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """What a loop does to whatever it goes through, and programs that start themselves without an end."""
    if _FORK_BOMB.search(text):
        yield call.make_effect("sys.crash", note="starts itself over and over")
    if _KILL_ALL.search(text):
        yield call.make_effect("sys.crash", note="ends every process")
    if language == "ruby":
        for found in _RUBY_DELETE_LOOP.finditer(text):
            yield from call.make_effects("fs.delete", [_to_word(next(g for g in found.groups()[:3] if g is not None))])
    elif language == "perl":
        for found in _PERL_ARGUMENTS.finditer(text):
            yield from call.make_effects("fs.read", [_to_word(next(g for g in found.groups() if g is not None))])
        for found in _PERL_UNLINK_GLOB.finditer(text):
            yield from call.make_effects("fs.delete", [_to_word(found.group(1))])
        for found in _PERL_FIND_DELETE.finditer(text) if _PERL_UNLINK.search(text) else ():
            yield from call.make_effects("fs.delete.tree", [_to_word(next(g for g in found.groups() if g is not None))])


def _strip_comments_and_imports(language: str, text: str) -> str:
    """The text without comments."""
    text = _strip_line_comments(language, text)
    if language == "perl":
        text = re.sub(r"\buse\s+[\w:]+[^;]*;", ";", text)  # the names of what is imported are no calls
    return text


def _classify_eval_source(text: str, call: Invocation) -> Iterator[Effect]:
    """Text that is run as a program: where does it come from?"""
    if _RUN_FETCHED.search(text):
        yield call.make_effect("code.remote", note="runs what it downloads")
    if _RUN_DECODED.search(text):
        yield call.make_effect("code.hidden", note="runs what a decoder makes of its input")
    if not _EVAL_CALL.search(text):
        return
    if _FETCH_CALL.search(text):
        yield call.make_effect("code.remote", note="runs what it downloads")
    elif _DECODE_CALL.search(text):
        yield call.make_effect("code.hidden", note="runs what a decoder makes of its input")


def _classify_addresses(text: str, call: Invocation) -> Iterator[Effect]:
    sends = _SEND_CALL.search(text) is not None
    found = [next(g for g in match.groups() if g is not None) for match in _NETWORK_CALL.finditer(text)]
    if "http" in text:
        found += [address for address in _PHP_FETCH.findall(text) if address not in found]
    for address in found:
        if not address.startswith(("http:", "https:", "//")) and "." not in address:
            continue
        name = host.parse_host(address)
        what = "net.local" if host.is_local_host(name) else "net.send" if sends else "net.fetch"
        yield call.make_effect(what, (Target(name, "host"),))


_PHP_FETCH = compile_lazily(r"""file_get_contents\s*\(\s*['"](https?:[^'"]+)""")


def _classify_library_calls(language: str, text: str, call: Invocation) -> Iterator[Effect]:
    """Databases through their libraries, and files that are emptied or deleted as objects."""
    for what, pattern in _DATABASE_CALLS:
        if pattern.search(text):
            yield call.make_effect(what, possible=True)

    for found in _SQL_CALL.finditer(text):
        statement = next(g for g in found.groups() if g is not None)
        if looks_like_sql(statement):
            yield from classify_sql(statement, call)
    for found in _EMPTY_WRITE.finditer(text):
        yield from call.make_effects("fs.truncate", [_to_word(next(g for g in found.groups() if g is not None))])
    for found in _FILE_OBJECT.finditer(text):
        name = "/".join(g for g in found.groups()[:6] if g is not None)
        yield from call.make_effects("fs.delete" if found.group(7) == "delete" else "fs.delete.tree", [_to_word(name)])
    for found in _PROCESS_SEQUENCE.finditer(text):
        parts = [next((g for g in groups if g), "") for groups in re.findall(_STRING, found.group(1))]
        yield from call.classify_shell(" ".join(part if part[:1] == "~" else f"'{part}'" for part in parts))
    if language == "node":
        for found in _BUN_SHELL.finditer(text):
            yield from call.classify_shell(re.sub(r"\$\{[^}]*\}", "$x", found.group(1)))
    elif language == "tcl":
        for found in _TCL_DELETE.finditer(text):
            yield from call.make_effects("fs.delete.tree", [_to_word(found.group(1).strip('"{}'))])


def _strip_line_comments(language: str, text: str) -> str:
    mark = _LINE_COMMENT.get(language)
    if mark is None or mark not in text:
        return text
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(mark))


def _to_word(text: str) -> Word:
    if re.search(r"\$\{|#\{|\$[A-Za-z_]", text):
        text = re.sub(r"\$\{[^}]*\}|#\{[^}]*\}|\$[A-Za-z_]\w*", UNKNOWN, text)
    text = re.sub(r"\\(.)", r"\1", text)
    return Word(text, text, "*" in text)


def _classify_shell_call(match: "re.Match[str]", call: Invocation, language: str) -> Iterator[Effect]:
    first = next(g for g in match.groups()[:3] if g is not None)
    if not match.group(4) and _JOINED_EXPRESSION[language in _DOT_JOIN_LANGUAGES].match(match.string, match.end()):
        first += UNKNOWN
    rest = [next((g for g in groups if g), "") for groups in re.findall(_STRING, match.group(4) or "")]
    if any(text in ("utf8", "utf-8", "r", "w") for text in rest):
        rest = []

    if looks_like_sql(first):
        return
    line = " ".join(
        [_to_word(first).text, *(text if text[:1] == "~" or "*" in text else f"'{text}'" for text in rest)]
    ).replace(UNKNOWN, "$x")
    if language in ("node", "php") and match.group(0).startswith("run"):
        return
    yield from call.classify_shell(line)


_PRINT_TO_HANDLE = compile_lazily(rf"\b(?:print|say|printf)\s*\{{?\s*\$?\w+\}}?\s+{_STRING}")


def _classify_open(match: "re.Match[str]", call: Invocation) -> Iterator[Effect]:
    groups = match.groups()
    first = next(g for g in groups[:3] if g is not None)
    second = next((g for g in groups[3:] if g is not None), None)
    mode, path = "r", first
    if first in ("<", ">", ">>", "+<", "+>", "-|", "|-") or first.startswith(("<:", ">:", ">>:")):
        mode, path = first, second or ""
    elif first.startswith((">>", ">", "<")):
        mode, path = first[: 2 if first.startswith(">>") else 1], first.lstrip("<> ")
    elif first.endswith("|") or first.startswith("|"):
        yield from call.classify_shell(first.strip("| "))
        return
    elif second:
        mode = second
    if mode in ("-|", "|-"):
        yield from call.classify_shell(path)
        if mode == "|-" and path.split()[:1] and path.split()[0].rsplit("/", 1)[-1] in ("sh", "bash", "zsh", "dash"):
            for said in _PRINT_TO_HANDLE.finditer(match.string):
                yield from call.classify_shell(next(g for g in said.groups() if g is not None).replace("\\n", "\n"))
    elif path and not path.startswith(("http:", "https:", "php:")):
        what = (
            "fs.append"
            if mode.startswith(("a", ">>"))
            else "fs.overwrite"
            if mode.startswith(("w", ">"))
            else "fs.read"
        )
        yield from call.make_effects(what, [_to_word(path)])
    elif path.startswith("http"):
        yield call.make_effect("net.fetch", (Target(host.parse_host(path), "host"),))
