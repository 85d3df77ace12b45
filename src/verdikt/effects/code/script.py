"""Node, Perl, Ruby, PHP, Lua and their like, by the names of the calls that touch the world and the strings beside them.

No grammar: a call counts when its name stands before a parenthesis or a string, outside of strings and comments.
"""

import re
from collections.abc import Iterator

from verdikt.effects import host
from verdikt.effects.call import Call
from verdikt.effects.code.binding import bind
from verdikt.effects.code.environment import shown
from verdikt.model.effect import Effect, Target
from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word

_STRING = r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`)"""

_SHELL = regex(
    rf"(?<!['\"])\b(?:system|exec|execSync|popen|shell_exec|passthru|proc_open|pcntl_exec|execute|spawn|spawnSync|execFile|execFileSync|fork|run|qx|Open3\.\w+|IO\.popen|PTY\.spawn|Runtime\.getRuntime\(\)\.exec|ProcessBuilder|System\.cmd|exec\.Command|Command::new|os\.execute|io\.popen|Deno\.Command|Bun\.spawn|Sys\.command|callCommand|readProcess|uiop:run-program|run-program|run-shell-command|shell-command|clojure\.java\.shell/sh|shell/sh|Process\.run|do\s+shell\s+script)\b\s*[(\[*.]*\s*(?:new\s+String\s*\[\]\s*\{{\s*|(?:java\.util\.)?(?:List\.of|Arrays\.asList|listOf)\s*\(\s*)?{_STRING}((?:[\s,\[\]]*(?:\{{\s*args\s*:[\s\[]*)?{_STRING})*)",
    re.DOTALL,
)
_BACKTICK = regex(r"(?<![\w)])`([^`]{2,})`|(?:%x|\bqx)\s*[{(\[/|!]([^})\]/|!]+)[})\]/|!]")
_QUOTES_RUN = ("perl", "ruby", "php")
"""Languages in which text between backquotes is for a shell."""
_CALLS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
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
_NAMED = regex(
    rf"(?<![\w$.'\"])(?:(?P<of>[\w$:]+(?:\([^()]*\))?)\s*(?:\.|::|->)\s*(?:promises\s*\.\s*)?)?(?:delete|remove)(?!\w)\s*\(?\s*\*?\s*(?:(?:Dir\.)?glob\s*\(?|Dir\s*\[|list\.files\()?\s*{_STRING}",
    re.DOTALL,
)
"""`delete` and `remove`, which maps and lists have too."""
_OF_FILES = regex(
    r"^(?:File|FileUtils|IO|FS|fs\w*|Deno|Bun|os|Files|Dir|Pathname|file|filesystem|path|unlink|require\(.*|import\(.*)$"
)
_OPEN = regex(
    rf"\b(?:open|fopen|File\.open|File\.new|io\.open|sysopen)\b\s*\(?\s*(?:my\s+)?(?:[$\w]+\s*,\s*)?{_STRING}\s*(?:,\s*{_STRING})?"
)
_NET = regex(
    rf"(?:\b(?:fetch|axios(?:\.\w+)?|https?\.(?:get|request)|Net::HTTP\.\w+|curl_init|LWP::Simple::\w+|URI\.open|got|request|get|getstore)|->(?:post|get|put|post_form)|require\(['\"]https?['\"]\)\.(?:get|request))\b\s*\(?\s*(?:URI(?:\.parse)?\(\s*)?{_STRING}"
)
_SENDS = regex(
    r"(?i)Net::HTTP\.post|->post(?:_form)?\b|\.(?:post|put|patch)\s*\(|method['\"]?\s*(?::|=>)\s*['\"](?:POST|PUT|PATCH)"
)
_EVAL = regex(
    r"\b(?:eval|new\s+Function|runInThisContext|runInNewContext|loadstring|instance_eval|class_eval|create_function)\b"
)
_EVAL_TEXT = regex(
    rf"\b(?:eval|Function|runInThisContext|runInNewContext|loadstring|load|instance_eval|Code\.eval_string|assert)\s*\(?\s*{_STRING}"
)
_FETCHES = regex(
    r"""\bfetch\s*\(|\baxios\b|require\(['"]https?['"]\)|https?\.get\(|URI\.open|open-uri|\bLWP::|Net::HTTP|curl_exec|(?:file_get_contents|fopen|\bget)\s*\(?\s*['"]https?:|[`'"(]\s*(?:curl|wget)\s"""
)
_DECODES = regex(
    r"""\batob\b|['"]base64['"]|base64_decode|decode64|decode_base64|gzinflate|str_rot13|hex2bin|unpack\s*\(?\s*['"](?:m|H)|pack\s*\(?\s*['"]H|fromCharCode"""
)
_RUN_DECODED = regex(
    r"\b(?:system|exec|popen|shell_exec|passthru|proc_open|execSync|spawn|spawnSync)\s*\(?\s*(?:\w+(?:::|->|\.))*(?:decode_base64|base64_decode|decode64|atob|hex2bin|str_rot13|gzinflate|pack|Buffer\.from)\b"
)
_RUN_FETCHED = regex(
    r"\b(?:system|exec|popen|shell_exec|passthru|execSync|spawn|spawnSync|eval)\s*\(?\s*(?:URI\.open|Net::HTTP\.get|LWP::Simple::get|file_get_contents\(\s*['\"]https?:|get\(\s*['\"]https?:|await\s+\(?await\s+fetch)"
)
_EMPTIED = regex(
    rf"""\b(?:writeFileSync|writeFile|file_put_contents|File\.write|IO\.write|outputFileSync)\b\s*\(?\s*{_STRING}\s*,\s*(?:''|""|``)\s*[),;]?"""
)
_DATA: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("db.drop", regex(r"\bdropDatabase\s*\(|\bdropAllTables\s*\(|\bdropCollection\s*\(|\bflush(?:all|All|db|Db)\b|\bdropSchema\s*\(|sync\(\s*\{\s*force\s*:\s*true")),
    ("cloud.delete", regex(r"\.delete(?:Bucket|Table|DBInstance|DBCluster|Stack|Function|Cluster|Volume|Objects|Repository|HostedZone)\(|\.terminateInstances\(|\b(?:Delete(?:Bucket|Table|DBInstance|DBCluster|Stack|Volume|Objects)|TerminateInstances)Command\b|\.delete_(?:bucket|table|db_instance|stack)\b|\.terminate_instances\b")),
    ("db.delete.all", regex(r"\bdelete(?:Many|_many)\s*\(\s*(?:\{\s*\})?\s*\)|\b(?:destroy_all|delete_all)\b|\btruncate\(\)|\.objects\.all\(\)\.delete\(\)")),
)  # fmt: skip
_ASKED = regex(
    rf"\b(?:query|exec|execute|executeSql|raw|unsafe|\$executeRawUnsafe|\$queryRawUnsafe|exec_query|do|prepare|exec_params)\b\s*\(?\s*{_STRING}",
    re.DOTALL,
)
_FILE_OBJECT = regex(
    rf"(?:\bnew\s+)?\b(?:java\.io\.)?File\(\s*{_STRING}(?:\s*,\s*{_STRING})?\s*\)\.(deleteDir|delete|deleteRecursively)\b"
)
_SEQUENCE = regex(
    rf"\b(?:Seq|List|Process|ProcessBuilder)\((?:Seq\()?((?:\s*{_STRING}\s*,?)+)\)+\s*\.(?:!{{1,2}}|start|inheritIO|lazyLines)"
)
_DOTTED = ("php", "perl", "raku")
_GOES_ON = (regex(r"\s*(?:\+|\.\.|<>)\s*[$\w(]"), regex(r"\s*\.\s*[$\w(]"))
"""A string that something unknown is joined to: by a dot in PHP and Perl, by other marks elsewhere."""
_PHP_JOIN = regex(r"""([)"'])\s*\.\s*(?=\w+\()""")
_BUN = regex(r"\$`([^`]+)`")
_TCL = regex(r"\bfile\s+delete\s+(?:-force\s+)?(?:--\s+)?([^\s;\]]+)")
_SOCKET = regex(
    r"\b(?:socket|TCPSocket|TCPServer|fsockopen|net\.(?:connect|Socket|createConnection|createServer)|createServer|java\.net\.Socket|socket\.tcp|socket\.bind|IO::Socket(?:::\w+)?|ServerSocket|Sockets?|stream_socket_client|pfsockopen|connect\s*\(|net\.Dial|syscall\.Socket|Java\.type\('java\.net)\b|/inet/(?:tcp|udp)/"
)
_RUNS = regex(
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
_MAX = 100_000


def read_script(language: str, text: str, call: Call) -> Iterator[Effect]:
    """What a program in one of these languages would do."""
    text = _plain(language, text[:_MAX])
    yield from _evaluated(text, call)
    if language != "awk":  # whose constants the shell analysis puts in
        text = bind(language, text)
    yield from _inner(language, text, call)
    if language == "php":
        text = _PHP_JOIN.sub(r"\1 , ", text)  # a dot joins strings there
    yield from shown(language, text, call)
    yield from _stored(language, text, call)
    if _SOCKET.search(text) and (_RUNS.search(text) or (language in _QUOTES_RUN and _BACKTICK.search(text))):
        yield call.effect("net.shell", note="a shell over a socket")
    for found in _SHELL.finditer(text):
        yield from _command(found, call, language)
    yield from _brought(text, call)
    if language in _QUOTES_RUN:
        for found in _BACKTICK.finditer(text):
            yield from call.shell(found.group(1) or found.group(2) or "")
    if language != "awk":
        yield from _touched(language, text, call)
    yield from _over_and_over(language, text, call)
    for found in _OPEN.finditer(text):
        yield from _opened(found, call)
    yield from _addressed(text, call)
    if language == "osascript":
        from verdikt.effects.code.applescript import driven

        yield from driven(text, call)


def _brought(text: str, call: Call) -> Iterator[Effect]:
    """A file that is fetched, and then run by its path."""
    fetched = {next(g for g in found.groups() if g is not None) for found in _STORED.finditer(text)}
    for found in _SHELL.finditer(text) if fetched else ():
        first = next(g for g in found.groups()[:3] if g is not None).split()
        if first and (first[0] in fetched or first[-1] in fetched):
            yield call.effect("code.remote", note="runs what it downloaded")


_STORED = regex(
    rf"""(?:\b(?:getstore|mirror|copy|download_file|urlretrieve|download\.file|download)\s*\(?\s*["']https?:[^"']*["']\s*,\s*(?:destfile\s*=\s*)?{_STRING}|\bfile_put_contents\(\s*{_STRING}\s*,\s*file_get_contents\(\s*["']https?:|\b(?:File|IO)\.(?:write|binwrite)\(?\s*{_STRING}\s*,\s*(?:URI\.open|Net::HTTP\.get|open\(\s*["']https?:))"""
)


def _inner(language: str, text: str, call: Call) -> Iterator[Effect]:
    """Program text in a string that is run as it stands."""
    for found in _EVAL_TEXT.finditer(text):
        inner = next(g for g in found.groups() if g is not None)
        if len(inner) < len(text):
            yield from read_script(language, re.sub(r"\\([\"'`\\])", r"\1", inner), call)


def _touched(language: str, text: str, call: Call) -> Iterator[Effect]:
    """Files, by the calls that touch them."""
    goes_on = _GOES_ON[language in _DOTTED]
    for what, pattern in _CALLS:
        for found in pattern.finditer(text):
            name = next(g for g in found.groups() if g is not None)
            if not name.startswith(("http:", "https:")):
                yield from call.on(what, [_word(name + (UNKNOWN if goes_on.match(text, found.end()) else ""))])
    for found in _NAMED.finditer(text):
        owner = found["of"]
        if (
            owner is None
            or _OF_FILES.match(owner)
            or re.search(rf"\b{re.escape(owner)}\s*=\s*(?:await\s+)?(?:require|import)\b", text)
        ):
            name = next(g for g in found.groups()[1:] if g is not None)
            if not name.startswith(("http:", "https:")):
                yield from call.on("fs.delete", [_word(name + (UNKNOWN if goes_on.match(text, found.end()) else ""))])


_FORKS = regex(
    r"\bfork\s+while\s+fork|\b(?:while|until)\b[^{;]{0,20}[{(;]?\s*(?:do\s+)?fork\b|\bloop\s*(?:\{|do)\s*fork\b"
)
_KILLS = regex(
    r"""\b(?:Process|process)\.kill\s*\(?\s*(?:["':]?\w+["']?\s*,\s*)?-1\b|\bkill\s+["']?(?:KILL|9|TERM)["']?\s*,\s*-1\b"""
)
_EACH = regex(
    rf"""\bDir\s*(?:\.glob\s*\(?|\.children\s*\(?|\[)\s*{_STRING}\s*[)\]]?\.each\b[^|]{{0,10}}\|\s*(\w+)\s*\|[^}}]{{0,80}}?(?:delete|unlink|rm\w*)\b[ (]*\4\b"""
)
_ARGUMENTS = regex(rf"@ARGV\b[^=;]{{0,10}}=\s*\(?\s*{_STRING}")
_UNLINKS = regex(r"\b(?:unlink|rmtree|rmdir|remove_tree)\b")
_ANGLED = regex(r"\bunlink\s*\(?\s*<([^<>\n]+)>")
_FOUND = regex(
    rf"\b(?:File::Find::)?find(?:depth)?\s*\(?\s*(?:\\&\w+|(?:\{{[^{{}}]*)?sub\s*\{{[^}}]*\b(?:unlink|rmtree|rmdir)\b[^}}]*\}}[^\"'()]*)\s*,\s*{_STRING}"
)


def _over_and_over(language: str, text: str, call: Call) -> Iterator[Effect]:
    """What a loop does to whatever it goes through, and programs that start themselves without an end."""
    if _FORKS.search(text):
        yield call.effect("sys.crash", note="starts itself over and over")
    if _KILLS.search(text):
        yield call.effect("sys.crash", note="ends every process")
    if language == "ruby":
        for found in _EACH.finditer(text):
            yield from call.on("fs.delete", [_word(next(g for g in found.groups()[:3] if g is not None))])
    elif language == "perl":
        for found in _ARGUMENTS.finditer(text):
            yield from call.on("fs.read", [_word(next(g for g in found.groups() if g is not None))])
        for found in _ANGLED.finditer(text):
            yield from call.on("fs.delete", [_word(found.group(1))])
        for found in _FOUND.finditer(text) if _UNLINKS.search(text) else ():
            yield from call.on("fs.delete.tree", [_word(next(g for g in found.groups() if g is not None))])


def _plain(language: str, text: str) -> str:
    """The text without comments."""
    text = _uncomment(language, text)
    if language == "perl":
        text = re.sub(r"\buse\s+[\w:]+[^;]*;", ";", text)  # the names of what is imported are no calls
    return text


def _evaluated(text: str, call: Call) -> Iterator[Effect]:
    """Text that is run as a program: where does it come from?"""
    if _RUN_FETCHED.search(text):
        yield call.effect("code.remote", note="runs what it downloads")
    if _RUN_DECODED.search(text):
        yield call.effect("code.hidden", note="runs what a decoder makes of its input")
    if not _EVAL.search(text):
        return
    if _FETCHES.search(text):
        yield call.effect("code.remote", note="runs what it downloads")
    elif _DECODES.search(text):
        yield call.effect("code.hidden", note="runs what a decoder makes of its input")


def _addressed(text: str, call: Call) -> Iterator[Effect]:
    sends = _SENDS.search(text) is not None
    found = [next(g for g in match.groups() if g is not None) for match in _NET.finditer(text)]
    if "http" in text:
        found += [address for address in _CONTENTS.findall(text) if address not in found]
    for address in found:
        if not address.startswith(("http:", "https:", "//")) and "." not in address:
            continue
        name = host.host(address)
        what = "net.local" if host.is_local(name) else "net.send" if sends else "net.fetch"
        yield call.effect(what, (Target(name, "host"),))


_CONTENTS = regex(r"""file_get_contents\s*\(\s*['"](https?:[^'"]+)""")


def _stored(language: str, text: str, call: Call) -> Iterator[Effect]:
    """Databases through their libraries, and files that are emptied or deleted as objects."""
    for what, pattern in _DATA:
        if pattern.search(text):
            yield call.effect(what, possible=True)
    from verdikt.effects.code.sql import looks_like_sql, read_sql

    for found in _ASKED.finditer(text):
        statement = next(g for g in found.groups() if g is not None)
        if looks_like_sql(statement):
            yield from read_sql(statement, call)
    for found in _EMPTIED.finditer(text):
        yield from call.on("fs.truncate", [_word(next(g for g in found.groups() if g is not None))])
    for found in _FILE_OBJECT.finditer(text):
        name = "/".join(g for g in found.groups()[:6] if g is not None)
        yield from call.on("fs.delete" if found.group(7) == "delete" else "fs.delete.tree", [_word(name)])
    for found in _SEQUENCE.finditer(text):
        parts = [next((g for g in groups if g), "") for groups in re.findall(_STRING, found.group(1))]
        yield from call.shell(" ".join(part if part[:1] == "~" else f"'{part}'" for part in parts))
    if language == "node":
        for found in _BUN.finditer(text):
            yield from call.shell(re.sub(r"\$\{[^}]*\}", "$x", found.group(1)))
    elif language == "tcl":
        for found in _TCL.finditer(text):
            yield from call.on("fs.delete.tree", [_word(found.group(1).strip('"{}'))])


def _uncomment(language: str, text: str) -> str:
    mark = _LINE_COMMENT.get(language)
    if mark is None or mark not in text:
        return text
    return "\n".join(line for line in text.split("\n") if not line.lstrip().startswith(mark))


def _word(text: str) -> Word:
    if re.search(r"\$\{|#\{|\$[A-Za-z_]", text):
        text = re.sub(r"\$\{[^}]*\}|#\{[^}]*\}|\$[A-Za-z_]\w*", UNKNOWN, text)
    text = re.sub(r"\\(.)", r"\1", text)
    return Word(text, text, "*" in text)


def _command(found: "re.Match[str]", call: Call, language: str) -> Iterator[Effect]:
    first = next(g for g in found.groups()[:3] if g is not None)
    if not found.group(4) and _GOES_ON[language in _DOTTED].match(found.string, found.end()):
        first += UNKNOWN
    rest = [next((g for g in groups if g), "") for groups in re.findall(_STRING, found.group(4) or "")]
    if any(text in ("utf8", "utf-8", "r", "w") for text in rest):
        rest = []
    from verdikt.effects.code.sql import looks_like_sql

    if looks_like_sql(first):
        return
    line = " ".join(
        [_word(first).text, *(text if text[:1] == "~" or "*" in text else f"'{text}'" for text in rest)]
    ).replace(UNKNOWN, "$x")
    if language in ("node", "php") and found.group(0).startswith("run"):
        return
    yield from call.shell(line)


_SAID = regex(rf"\b(?:print|say|printf)\s*\{{?\s*\$?\w+\}}?\s+{_STRING}")


def _opened(found: "re.Match[str]", call: Call) -> Iterator[Effect]:
    groups = found.groups()
    first = next(g for g in groups[:3] if g is not None)
    second = next((g for g in groups[3:] if g is not None), None)
    mode, path = "r", first
    if first in ("<", ">", ">>", "+<", "+>", "-|", "|-") or first.startswith(("<:", ">:", ">>:")):
        mode, path = first, second or ""
    elif first.startswith((">>", ">", "<")):
        mode, path = first[: 2 if first.startswith(">>") else 1], first.lstrip("<> ")
    elif first.endswith("|") or first.startswith("|"):
        yield from call.shell(first.strip("| "))
        return
    elif second:
        mode = second
    if mode in ("-|", "|-"):
        yield from call.shell(path)
        if mode == "|-" and path.split()[:1] and path.split()[0].rsplit("/", 1)[-1] in ("sh", "bash", "zsh", "dash"):
            for said in _SAID.finditer(found.string):
                yield from call.shell(next(g for g in said.groups() if g is not None).replace("\\n", "\n"))
    elif path and not path.startswith(("http:", "https:", "php:")):
        what = (
            "fs.append"
            if mode.startswith(("a", ">>"))
            else "fs.overwrite"
            if mode.startswith(("w", ">"))
            else "fs.read"
        )
        yield from call.on(what, [_word(path)])
    elif path.startswith("http"):
        yield call.effect("net.fetch", (Target(host.host(path), "host"),))
