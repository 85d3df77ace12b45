"""Patterns of the calls of scripting languages that `script.py` looks for.

Data only.
"""

import re

from verdikt.knowledge import find_role_words
from verdikt.model.lazy_regex import compile_lazily

# A string in any of three quotes, each with a group of its own; patterns below rely on three groups per string.
STRING_GROUPS = r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`)"""
SHELL_CALL = compile_lazily(
    r"(?<!['\"])\b(?:system|exec|execSync|popen|shell_exec|sh|passthru|proc_open|pcntl_exec|execute|spawn|spawnSync"
    r"|execFile"
    r"|execFileSync|fork|run|qx|Open3\.\w+|IO\.popen|PTY\.spawn|Runtime\.getRuntime\(\)\.exec|ProcessBuilder"
    r"|System\.cmd"
    r"|exec\.Command|Command::new|os\.execute|io\.popen|Deno\.Command|Bun\.spawn|Sys\.command|callCommand|readProcess"
    r"|Process\.Start|ProcessStartInfo|exec[a-zA-Z]\w*|spawn\w+|system2|uiop:run-program|run-program|run-shell-command|shell-command|clojure\.java\.shell/sh|shell/sh|Process\.run"
    r"|do\s+shell\s+script)\b\s*\)?\s*(?:\{\s*[^{}]{1,40}\}\s*)?[(\[*.]*\s*"
    r"(?:(?:ignorestatus|pipeline|addenv|setenv|detach)\s*\(\s*)?"
    r"(?:new\s+String\s*\[\]\s*\{\s*|(?:java\.util\.)?(?:List\.of|Arrays\.asList|listOf)\s*\(\s*)?"
    rf"{STRING_GROUPS}((?:[\s,\[\]]*(?:\{{\s*args\s*:[\s\[]*|c\(\s*)?{STRING_GROUPS})*)",
    re.DOTALL,
)
GO_IMPORT = compile_lazily(r"(?m)^[ \t]*import[ \t]+(?:\([^)]*\)|[\w.]*[ \t]*\"[^\"\n]*\")")
PERL_PLACE = compile_lazily(r"\$\{?FindBin::(?:Real)?Bin\b\}?")
RUST_ARGUMENTS = compile_lazily(r"(?<=\")\s*\]?\s*\)\s*\.args?\(\s*&?\s*\[?\s*(?=\")")
RUST_REFERENCE = compile_lazily(r"&(?=\")")
BACKTICK_COMMAND = compile_lazily(
    r"(?<![\w)])`([^`]{2,})`|(?:%x|\bqx)\s*(?:\(([^)]+)\)|\{([^}]+)\}|\[([^\]]+)\]|([/|!])(.+?)\5)"
)
BACKTICK_LANGUAGES = ("perl", "ruby", "php")
"""Languages in which a shell runs the text between backquotes."""
# Calls that take the path as their first argument, alone or inside a listing: `unlink glob("*.log")`.
FILE_CALLS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (
        what,
        re.compile(
            rf"(?<![\w$.'\"])(?:[\w$]+(?:\([^()]*\))?\s*(?:\.|::|->))*(?:{names}"
            rf")(?!\w)\s*[\"']?\s*[(,]?\s*(?:\*?\s*(?:(?:Dir\.)?glob\s*\(?|Dir\s*\[|array_filter\s*\(|(?:map"
            rf"|grep)\s*\{{|list\.files\(|dir\(|Sys\.glob\(|FileList\s*\[)\s*)?{STRING_GROUPS}",
            re.DOTALL,
        ),
    )
    for what, names in (
        (
            "fs.delete.tree",
            "CLEAN\\.include|vim\\.fn\\.delete|vim\\.fs\\.rm|CLOBBER\\.include|rmSync|rm_rf!?|rm_r|remove_entry_secure|rmtree|remove_tree|removeSync|rimraf|rimrafSync|rmdirSync"
            "|deleteDirectory|remove_entry|emptyDirSync|RemoveAll|remove_dir_all|remove_all|removeItem\\(\\s*atPath:"
            "|delete-directory/files|delete-directory|delete-tree|removeDirectoryRecursive|removePathForcibly"
            "|delete-tree!|Directory\\.Delete|rmdir_all|FileUtils/deleteDirectory|require\\(\\s*['\"]rimraf['\"]\\s*\\)(?:\\.sync)?|rmdir|rm"
            # Compound names say it in every library.
            "|(?:remove|delete|rm|purge|wipe|empty)_?(?:[dD]ir(?:ectory|s)?|[tT]ree|[fF]older|[rR]ecursive)"
            "(?:_?[sS]ync|_?[sS]ecure|_?[rR]ecursive(?:ly)?)?[!?]?",
        ),
        (
            "fs.delete",
            "array_map\\(\\s*['\"]unlink['\"]|unlink|unlinkSync|unlinkIfExists|deleteIfExists|remove_file|removeFile"
            "|delete-file|Sys\\.remove|Remove|File\\.Delete|(?:remove|delete|unlink)_?(?:[fF]ile|[pP]ath)s?(?:_?[sS]ync)?",
        ),
        (
            "fs.overwrite",
            "writeFileSync|writeFile|file_put_contents|createWriteStream|writeAllText|outputFileSync|outputFile"
            "|copyFileSync|ftruncate|writeTextFile|File\\.write|IO\\.write|Bun\\.write|binwrite|write_file|spit"
            "|File\\.WriteAll\\w+|os\\.WriteFile|ioutil\\.WriteFile|fs::write|Files\\.write(?:String)?|File::create|os\\.Create",
        ),
        ("fs.truncate", "truncateSync|truncate"),
        ("fs.append", "appendFileSync|appendFile"),
        (
            "fs.read",
            "readFileSync|readFile|file_get_contents|createReadStream|readlines|readfile|show_source|highlight_file"
            "|readTextFile|readTextFileSync|slurp|parse_ini_file|File\\.read!?|IO\\.read|"
            "File\\.readlines|File\\.foreach|IO\\.foreach|File\\.stream!|File\\.open!|Bun\\.file|io\\.lines"
            "|File\\.ReadAll\\w+|File\\.OpenRead|readLines|read|read_to_string|readAllText|readAllLines|ReadFile|fromFile|cpSync|copyFileSync|cp|cp_r|"
            "copyFile|FileUtils\\.cp|copy|load_file|safe_load_file|source|readRDS|read\\.csv|openSync"
            "|createReadStream|os\\.Open|Open|binread|read_file|readSync|fs::read|open_file|load_yaml|read_binary",
        ),
        ("fs.chmod", "chmodSync|chmod"),
        ("fs.move", "renameSync|rename|os\\.Rename|moveSync|FileUtils\\.mv|mv|File::Copy::move|move|Files\\.move"),
    )
)
DELETE_CALL = compile_lazily(
    rf"(?<![\w$.'\"])(?:(?P<of>[\w$:]+(?:\([^()]*\))?)\s*(?:\.|::|->)\s*(?:promises\s*\.\s*)?)?(?:delete"
    rf"|remove)(?!\w)\s*\(?\s*\*?\s*(?:(?:Dir\.)?glob\s*\(?|Dir\s*\[|list\.files\()?\s*{STRING_GROUPS}",
    re.DOTALL,
)
"""`delete` and `remove`; maps and lists have methods of that name too, so the owner decides."""
# Owners of `delete` and `remove` that are files and not collections.
FILE_MODULE = compile_lazily(
    r"^(?:File|FileUtils|IO|FS|fs\w*|Deno|Bun|os|Files|Dir|Pathname|file|filesystem|path|unlink|require\(.*"
    r"|import\(.*)$"
)
FILE_LIBRARY = r"""["'](?:node:)?(?:fs|fs/promises|fs-extra|graceful-fs|rimraf|del|trash)["']"""
"""A module of Node whose `delete` and `remove` are of files; that of a web server is of a route."""
PATH_IMPORT = compile_lazily(
    r"""\{([^{}]*)\}\s*(?:=\s*(?:await\s+)?(?:require|import)\s*\(\s*|from\s+)["'](?:node:)?(?:path|path/posix)["']"""
)
"""Names that Node takes out of its module for paths: `const { join } = require("path")`."""
NEXT_STRING = compile_lazily(rf"\s*,\s*\[?\s*{STRING_GROUPS}")
OPEN_CALL = compile_lazily(
    rf"\b(?:open|fopen|File\.open|File\.new|io\.open|sysopen)\b\s*\(?\s*(?:my\s+)?(?:[$\w]+\s*,\s*)?{STRING_GROUPS}"
    rf"\s*(?:,\s*{STRING_GROUPS})?"
)
NETWORK_CALL = compile_lazily(
    rf"(?:\b(?:fetch|axios(?:\.\w+)?|https?\.(?:get|request|Post|PostForm|Get|Head)|Net::HTTP\.\w+|curl_init|LWP::Simple::\w+|URI\.open|got"
    rf"|request|get|getstore|PostAsync|PutAsync|GetAsync|GetStringAsync|UploadString|UploadFile)|->(?:post|get|put|post_form)|require\(['\"]https?['\"]\)\.(?:get"
    rf"|request))\b\s*\(?\s*(?:URI(?:\.parse)?\(\s*)?{STRING_GROUPS}"
)
REQUEST_HOST = compile_lazily(r"\brequest\(\s*\{[^{}]*\bhost(?:name)?['\"]?\s*:\s*['\"]([\w.-]+\.\w+)['\"]")
"""The host of a request that is described by an object: `https.request({host: "…"})`."""
TCL_OPEN = compile_lazily(r"\[open\s+[\"{]?([^\s\]\"}]+)[\"}]?\s+[\"{]?([wa])")
SEND_CALL = compile_lazily(
    r"(?i)Net::HTTP\.post|->post(?:_form)?\b|\b(?:Post|Put)Async\(|\bUpload(?:String|File|Data)\(|\.(?:post|put|patch)\s*\(|method['\"]?\s*(?::|=>)\s*['\"](?:POST|PUT"
    r"|PATCH)"
)
# `eval` together with a download or a decoder anywhere in the text counts as running what they return.
EVAL_CALL = compile_lazily(
    r"\b(?:eval|new\s+Function|runInThisContext|runInNewContext|loadstring|instance_eval|class_eval|create_function)\b"
)
EVAL_TEXT = compile_lazily(
    rf"\b(?:eval|Function(?=\()|Worker\)?(?=\()|runInThisContext|runInNewContext|loadstring|load|instance_eval|Code\.eval_string"
    rf"|assert)\s*\(?\s*(?:(?:'\w*'|\"\w*\")\s*,\s*)*{STRING_GROUPS}"
)
FETCH_CALL = compile_lazily(
    r"""\bfetch\s*\(|\baxios\b|require\(['"]https?['"]\)|https?\.get\(|URI\.open|open-uri|\bLWP::|Net::HTTP"""
    r"""|curl_exec|(?:file_get_contents|fopen|\bget)\s*\(?\s*['"]https?:"""
    rf"""|[`'"(]\s*(?:{"|".join(sorted(find_role_words("download_file")))})\s"""
)
DECODE_CALL = compile_lazily(
    r"""\batob\b|['"]base64['"]|base64_decode|decode64|decode_base64|gzinflate|str_rot13|hex2bin"""
    r"""|unpack\s*\(?\s*['"](?:m|H)|pack\s*\(?\s*['"]H|fromCharCode"""
)
RUN_DECODED = compile_lazily(
    r"\b(?:system|exec|popen|shell_exec|passthru|proc_open|execSync|spawn|spawnSync)\s*\(?\s*(?:\w+(?:::|->"
    r"|\.))*(?:decode_base64|base64_decode|decode64|atob|hex2bin|str_rot13|gzinflate|pack|Buffer\.from)\b"
)
RUN_FETCHED = compile_lazily(
    r"\b(?:system|exec|popen|shell_exec|passthru|execSync|spawn|spawnSync|eval)\s*\(?\s*(?:URI\.open|Net::HTTP\.get"
    r"|LWP::Simple::get|file_get_contents\(\s*['\"]https?:|get\(\s*['\"]https?:|await\s+\(?await\s+fetch)"
)
FETCHED_NAME = compile_lazily(
    r"\b(?:const|let|var)\s+(\w+)\s*=\s*[^;\n]*\bawait\b[^;\n]*\.text\(\)|\.then\(\s*(?:async\s*)?\(?(\w+)\)?\s*=>"
)
"""A name of JavaScript that stands for what a request brings."""
RUN_NAME = compile_lazily(
    r"(?:(?<![.\w])|child_process['\"]\)\s*\.\s*|\bcp\.)(?:execSync|exec|spawnSync|spawn)\(\s*(\w+)\s*[,)]"
)
"""A shell command that a name stands for; `pattern.exec(text)` searches."""
RUN_ADDRESS = compile_lazily(
    r"""\b(?:include|include_once|require|require_once|(?:devtools::)?source_url|load|dofile|importScripts"""
    r"""|source(?=\())\s*\(?\s*(?:[\w.:]+\(\s*){0,2}["']https?://"""
)
"""Calls that run a file, given an address instead, or what another call makes of one: `source(url("https://…"))`."""
HANDED_PATH = compile_lazily(rf"([A-Za-z_][\w!?]*)\s*\(\s*{STRING_GROUPS}")
PATH_METHOD = compile_lazily(
    rf"""{STRING_GROUPS}\s*\)?\s*\.\s*(rmtree|rm_rf|rmdir|unlink|delete|deleteRecursively|deleteDir|deleteIfExists)\b"""
)
"""A method of a path, such as that of Ruby's `Pathname` after folding."""
EMPTY_WRITE = compile_lazily(
    rf"""\b(?:writeFileSync|writeFile|file_put_contents|File\.write|IO\.write"""
    rf"""|outputFileSync)\b\s*\(?\s*{STRING_GROUPS}\s*,\s*(?:''|""|``)\s*[),;]?"""
)
# Methods whose name alone says that data is lost; their libraries are not looked at.
DATABASE_CALLS: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "db.drop",
        compile_lazily(
            r"\bdropDatabase\s*\(|\bdropAllTables\s*\(|\bdropCollection\s*\(|\bflush(?:all|All|db|Db)\b"
            r"|\bdropSchema\s*\("
            r"|sync\(\s*\{\s*force\s*:\s*true"
        ),
    ),
    (
        "cloud.delete",
        compile_lazily(
            r"\.delete(?:Bucket|Table|DBInstance|DBCluster|Stack|Function|Cluster|Volume|Objects|Repository"
            r"|HostedZone)\("
            r"|\.terminateInstances\("
            r"|\b(?:Delete(?:Bucket|Table|DBInstance|DBCluster|Stack|Volume|Objects)|TerminateInstances)Command\b"
            r"|\.delete_(?:bucket|table|db_instance|stack)\b|\.terminate_instances\b"
        ),
    ),
    (
        "db.delete.all",
        compile_lazily(
            r"\bdelete(?:Many|_many)\s*\(\s*(?:\{\s*\})?\s*\)|(?:\.|->|::)(?:destroy_all|delete_all)\b|\btruncate\(\)"
            r"|\.objects\.all\(\)\.delete\(\)"
        ),
    ),
)
SQL_CALL = compile_lazily(
    rf"\b(?:query|exec|execute|executeSql|raw|unsafe|\$executeRawUnsafe|\$queryRawUnsafe|exec_query|do|prepare"
    rf"|exec_params)\b\s*\(?\s*{STRING_GROUPS}",
    re.DOTALL,
)
FILE_OBJECT = compile_lazily(
    rf"(?:\bnew\s+)?\b(?:java\.io\.)?(?:File|file|Directory|Link)\(\s*{STRING_GROUPS}(?:\s*,\s*{STRING_GROUPS})?\s*\)\."
    rf"(deleteDir|deleteSync|deleteRecursively|delete)\b"
)
PROCESS_SEQUENCE = compile_lazily(
    rf"\b(?:Seq|List|Process|ProcessBuilder)\((?:Seq\()?((?:\s*{STRING_GROUPS}\s*,?)+)\)+\s*\.(?:!{{1,2}}|start"
    rf"|inheritIO|lazyLines)"
)
JOINED_EXPRESSION = (compile_lazily(r"\s*(?:\+|\.\.|<>)\s*[$\w(]"), compile_lazily(r"\s*\.\s*[$\w(]"))
"""What follows a string that an unknown value is joined to: a dot in PHP and Perl, other operators elsewhere."""
PHP_JOIN = compile_lazily(r"""([)"'])\s*\.\s*(?=\w+\()""")
EXECUTED = compile_lazily(rf"(?:\[((?:\s*{STRING_GROUPS}\s*,?)+)\]|{STRING_GROUPS})\s*\.\s*execute\s*\(")
"""Groovy: `["rm", "-rf", "x"].execute()`, `"rm -rf x".execute()`."""
JULIA_BUILD = compile_lazily(r"\bPkg\.(?:build|test|instantiate|precompile|add|develop)\(")
FURTHER_NAME = compile_lazily(r"\s*,\s*[&*]?[A-Za-z_$]\w*\s*[\]),.+]")
UNSEEN_RUN = compile_lazily(
    r"(?<!\.prototype)\b(?:system|exec|execSync|popen|shell_exec|passthru|spawn|spawnSync|run|qx|execute|execFile\w*|sh)"
    r"\s*(?:\(\s*|\s)[$@&A-Za-z_]|`[^`]*#\{"
)
UNSEEN_DELETE = compile_lazily(
    r"(?:\b(?:rmSync|rm|rmdirSync|unlinkSync|rm_rf|rm_r|rmtree|remove_tree|unlink|RemoveAll|remove_dir_all|deleteRecursively"
    r"|rm_rf!)\s*(?:\(\s*|\s|/1)[&$@A-Za-z_)%\[]|&\w+\.rm_rf!?/1)"
)
"""Calls that run or delete what a name stands for."""
BUN_SHELL = compile_lazily(r"\$`([^`]+)`")
TCL_JOIN = compile_lazily(r"\[file\s+join\s+([^\[\]]+)\]")
TCL_DELETE = compile_lazily(r"\bfile\s+delete\s+(?:-force\s+)?(?:--\s+)?([^\s;\]]+)")
# A socket and the start of a process in one script are taken for a reverse shell.
SOCKET_CALL = compile_lazily(
    r"\b(?:socket|TCPSocket|TCPServer|fsockopen|net\.(?:connect|Socket|createConnection|createServer)|createServer"
    r"|java\.net\.Socket|socket\.tcp|socket\.bind|IO::Socket(?:::\w+)?|ServerSocket|Sockets?|stream_socket_client"
    r"|pfsockopen|connect\s*\(|net\.Dial|syscall\.Socket|Java\.type\('java\.net)\b|/inet/(?:tcp|udp)/"
)
PROCESS_START = compile_lazily(
    r"(?:/bin/(?:ba|z|da|k)?sh|\bcmd\.exe|\bsh\b\s*-i|\bpopen\b|\b(?:shell_)?exec\b|\bpassthru\b|\bproc_open\b"
    r"|\bspawn\b|\bsystem\b|\bProcessBuilder\b|\|&\s*getline|\brun\s*\(\s*pipeline|\bexecuteSync\b"
    r"|\bexec(?:File)?Sync\(\s*(?![\"'`\s])|syscall\.Exec|exec\.Command)"
)
AWK_CONNECTION = compile_lazily(r'\b[A-Za-z_]\w*(?=\s*=\s*"/inet)|"/inet[^"]*"')
"""What a program of gawk calls its connections."""
RAW_CONNECTION = compile_lazily(
    r"\bdgram\b|\bnet\.(?:connect|createConnection|Dial)\b|\btls\.connect\b|\b(?:TCP|UDP)Socket\b|\bf?sockopen\b"
    r"|\bIO::Socket\b|\bstream_socket_client\b|\bWebSocket\b|\brequire\(['\"]ws['\"]\)|\bDeno\.connect\b|\bSocket\("
)
FOREIGN_HOST = compile_lazily(
    r"""["'`](?:wss?://|tcp://|udp://|ssl://|tls://)?((?:[a-z0-9-]+\.)+[a-z]{2,}|\d{1,3}(?:\.\d{1,3}){3})(?::\d+)?[/"'`]"""
)
"""A string that is a host: of those in a script with a raw connection, one is where it leads."""
LINE_COMMENT = {
    "node": "//",
    "php": "//",
    "java": "//",
    "groovy": "//",
    "go": "//",
    "csharp": "//",
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
DOWNLOADED_FILE = compile_lazily(
    rf"""(?:\b(?:getstore|mirror|copy|download_file|urlretrieve|download\.file"""
    rf"""|download)\s*\(?\s*["']https?:[^"']*["']\s*,\s*(?:destfile\s*=\s*)?{STRING_GROUPS}"""
    rf"""|\bfile_put_contents\(\s*{STRING_GROUPS}\s*,\s*file_get_contents\(\s*["']https?:|\b(?:File|IO)\.(?:write"""
    rf"""|binwrite)\(?\s*{STRING_GROUPS}\s*,\s*(?:URI\.open|Net::HTTP\.get|open\(\s*["']https?:))"""
)
LOADED_PATH = compile_lazily(rf"\b(?:include|require|load|dofile)(?:_once)?\s*\(?\s*{STRING_GROUPS}")
FORK_BOMB = compile_lazily(
    r"\bfork\s+(?:while\s+(?:fork|true|!?\d)|until\s+(?:false|0))\b|\b(?:while|until)\b[^{;]{0,20}[{(;]?\s*(?:do\s+)?fork\b|\bloop\s*(?:\{|do)\s*fork\b"
)
KILL_ALL = compile_lazily(
    r"""\b(?:Process|process)\.kill\s*\(?\s*(?:["':]?\w+["']?\s*,\s*)?-1\b|\bkill\s+["']?(?:KILL|9"""
    r"""|TERM)["']?\s*,\s*-1\b"""
)
RUBY_DELETE_LOOP = compile_lazily(
    rf"""\bDir\s*(?:\.glob\s*\(?|\.children\s*\(?|\[)\s*{STRING_GROUPS}\s*[)\]]?\.each\b[^"""
    rf"""|]{{0,10}}\|\s*(\w+)\s*\|[^}}]{{0,80}}?(?:delete|unlink|rm\w*)\b[ (]*\4\b"""
)
PERL_ARGUMENTS = compile_lazily(rf"@ARGV\b[^=;]{{0,10}}=\s*\(?\s*{STRING_GROUPS}")
PERL_UNLINK = compile_lazily(r"\b(?:unlink|rmtree|rmdir|remove_tree)\b")
PERL_UNLINK_GLOB = compile_lazily(r"\bunlink\s*\(?\s*<([^<>\n]+)>")
PERL_FIND_DELETE = compile_lazily(
    rf"\b(?:File::Find::)?find(?:depth)?\s*\(?\s*(?:\\&\w+"
    rf"|(?:\{{[^{{}}]*)?sub\s*\{{[^}}]*\b(?:unlink|rmtree|rmdir)\b[^}}]*\}}[^\"'()]*)\s*,\s*{STRING_GROUPS}"
)
PHP_FETCH = compile_lazily(r"""file_get_contents\s*\(\s*['"](https?:[^'"]+)""")
PRINT_TO_HANDLE = compile_lazily(rf"\b(?:print|say|printf)\s*\{{?\s*\$?\w+\}}?\s+{STRING_GROUPS}")
ENVIRONMENT_DUMP = {
    "node": compile_lazily(
        r"\b(?:console\.\w+|print|write|stringify|entries|values)\([^)]*(?<!keys\()\bprocess\.env(?!\s*[.\[\w])"
        r"|\b(?:Deno\.env\.toObject\(\)|(?:entries|values|stringify|log)\(\s*Bun\.env\s*\))"
    ),
    "ruby": compile_lazily(
        r"\b(?:p|pp|puts|print)\s*\(?\s*ENV(?:\.to_h|\.to_a|\.inspect|\.to_hash)?\s*(?:[;)\n}]|$)|\bENV\.(?:each"
        r"|each_pair|map|values|select|filter|sort)\b"
    ),
    "perl": compile_lazily(r"\b(?:print|say|Dumper)\b[^;]*[%@\\]\s*%?ENV\b"),
    "php": compile_lazily(
        r"\b(?:print_r|var_dump|var_export|echo|json_encode)\s*\(?\s*(?:getenv\(\s*\)|\$_ENV\s*\)|\$_SERVER\s*\))"
        r"|\bforeach\s*\(\s*(?:getenv\(\s*\)|\$_ENV\b|\$_SERVER\b)"
    ),
    "awk": compile_lazily(r"\bfor\s*\(\s*(\w+)\s+in\s+ENVIRON\s*\)[^}]*\bprintf?\b[^}]*\bENVIRON\[\1\]"),
    "elixir": compile_lazily(r"\bSystem\.get_env\(\s*\)"),
    "julia": compile_lazily(r"\b(?:println|print|show|display|for\s+\w+\s+in)\s*\(?\s*ENV\s*[);\n]"),
    "r": compile_lazily(r"\bSys\.getenv\(\s*\)"),
    "lua": compile_lazily(r"\bpopen\(\s*['\"](?:env|printenv)['\"]"),
}
FILTER_CALL = compile_lazily(r"\.\s*(?:filter|select|grep|reject)\s*[({](.{0,120})")
ENVIRONMENT_VARIABLE = compile_lazily(
    r"""\b(?:process\.env|Bun\.env|ENV|\$_ENV|\$_SERVER)(?:\.(\w+)|\[\s*["'](\w+)["']\s*\])"""
    r"""|\b(?:getenv|Getenv|get_env|env::var|getEnv|Deno\.env\.get|fetch_env!)\(\s*["'](\w+)["']"""
)
"""One variable of the environment, in the ways of the languages that are read by patterns."""
LOGIN_WORD = compile_lazily(r"(?i)auth|bearer|header|api-?key|credential|password:|token:|connect|client\(|sign")
"""Before a variable these say that it logs in, as a key is meant to."""
WEB_ADDRESS = compile_lazily(r"https?://[^\s\"'`<>\\]+")
