"""Syntax of scripting languages that `constant_folding.py` folds: names, assignments, loops, directories, lists.

Data only.
"""

import re

from verdikt.model.lazy_regex import compile_lazily

DOT_JOIN_LANGUAGES = frozenset(("perl", "php", "raku"))
"""Languages in which a dot joins strings."""
INTERPOLATING_QUOTES = {
    "node": "`",
    "java": "",
    "c": "",
    "go": "",
    "rust": "",
    "lua": "",
    "r": "",
    "osascript": "",
    "awk": "",
}
"""Language → the quotes that interpolate names; double quotes in languages that are not listed."""
STRING = compile_lazily(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`""", re.DOTALL)
OTHER_TEXT = compile_lazily(r"[^\w$@%\"'`\[({<&]+|[\[({<%&]")
NAME = compile_lazily(r"[$@%]?[A-Za-z_]\w*|\$_")
MEMBER = compile_lazily(r"(?:\s*(?:\.|::|->|\?\.)\s*[A-Za-z_]\w*[!?]?|:(?=[A-Za-z_]\w*\()[A-Za-z_]\w*)+")
SIGIL_MEMBER = compile_lazily(r"(?:\s*(?:::|->)\s*[A-Za-z_]\w*)+")
JOIN_OPERATOR = {True: compile_lazily(r"\s*\.(?!\.)\s*"), False: compile_lazily(r"\s*(?:\+(?![+=])|\.\.(?!\.)|<>)\s*")}
ASSIGNMENT = compile_lazily(
    r"(?:\s*:\s*&?(?:'static\s+)?[A-Z]?[\w.]+)?(?:\s*,\s*\w+(?=\s*:=))?\s*(?::=|<-|(?:\|\|)?=(?![=~>]))\s*"
)
APPEND_ASSIGNMENT = compile_lazily(r"\s*(?:\+=|\.=|<<(?!<))\s*")
WORD_LIST = compile_lazily(r"(?:\bqw\s*|%w)(?:\{([^{}]*)\}|\(([^()]*)\)|\[([^\[\]]*)\]|/([^/\n]*)/)")
# Expressions for the home directory, in every language.
HOME_DIRECTORY = compile_lazily(
    r"""(?:require\(\s*['"](?:node:)?os['"]\s*\)\.|\bos\.)homedir\(\)|\bhomedir\(\)|\bDir\.home(?:\(\))?"""
    r"""|\bENV(?:\[|\.fetch\(\s*)['"]HOME['"][\])]"""
    r"""|\bprocess\.env(?:\.HOME\b|\[['"]HOME['"]\])|(?:Deno|Bun)\.env(?:\.get\(\s*['"]HOME['"]\s*\)|\.HOME\b)"""
    r"""|\$ENV\{['"]?HOME['"]?\}|\$_(?:SERVER|ENV)\[['"]?HOME['"]?\]"""
    r"""|\$(?:::)?env\(HOME\)|%\*ENV(?:<HOME>|\{['"]?HOME['"]?\})|\$\*HOME\b|\bENV\[\s*"HOME"\s*\]"""
    r"""|\b(?:[Oo]s\.|System\.)?[Gg]et_?env!?\(\s*['"]HOME['"]\s*\)"""
    r"""|\bSystem\.getProperty\(\s*["']user\.home["']\s*\)|\bSys\.getenv\(\s*["']HOME["']\s*\)"""
    r"""|\bSystem\.user_home!?(?:\(\))?|\bNSHomeDirectory\(\)|\bstd::env::home_dir\(\)(?:\.unwrap\(\))?"""
    r"""|\bEnvironment\.GetFolderPath\(\s*Environment\.SpecialFolder\.UserProfile\s*\)"""
    r"""|\bEnvironment\.GetEnvironmentVariable\(\s*"HOME"\s*\)|\bos\.UserHomeDir\(\)|\b(?:std::)?env::var\(\s*"HOME"\s*\)(?:\.unwrap\(\))?|\bDeno\.homeDir\(\)"""
)
TEMPORARY_DIRECTORY = compile_lazily(
    r"""(?:require\(\s*['"](?:node:)?os['"]\s*\)\.|\bos\.)tmpdir\(\)|\bsys_get_temp_dir\(\)|\bDir\.(?:tmpdir"""
    r"""|mktmpdir)(?:\(\))?|\b(?:File::Temp::)?tempdir\(|\b(?:\w+\.)?mkdtemp(?:Sync|Disposable)?\(|\btempnam\("""
    r"""|\bDeno\.makeTemp(?:Dir|File)(?:Sync)?\(|"""
    r"""\bos\.tmpname\(\)|\bSystem\.tmp_dir!?(?:\(\))?|\bmktempdir\(\)|\btempfile\(\)|\btempname\(\)|\btempdir\(\)"""
    r"""|\bFile\.createTempFile\(|\bFiles\.createTempDirectory\(|\bos\.MkdirTemp\(|\bPath\.GetTempPath\(\)"""
)
"""Calls that return a temporary path, up to the opening parenthesis where they take arguments."""
CURRENT_DIRECTORY = compile_lazily(
    r"\bprocess\.cwd\(\)|\bsite\.source\b|\bRails\.root\b(?!\s*\.\s*join)|\bvim\.(?:fn\.getc|uv\.c|loop\.c)wd\(\)|\bDir\.pwd\b|\bgetcwd\(\)|\bDeno\.cwd\(\)|\bFile\.cwd!?\(\)|\bpwd\(\)|\bgetwd\(\)"
)
PATH_JOIN = compile_lazily(
    r"""(?:(?:require\(\s*['"](?:node:)?path['"]\s*\)|\bpath(?:\.posix)?|\bfilepath|\bPath|\bFile"""
    r"""|\bPathname)\s*\.\s*(?:join|resolve|normalize|Join|Abs|expand|absolute_path|expand_path|realpath|new)"""
    r"""|\bFile::Spec(?:::Functions)?\s*->\s*cat(?:file|dir)|\bcat(?:file|dir)|\bjoinpath|\bexpanduser|\babspath"""
    r"""|\bRails\.root\.join|\bvim\.fs\.joinpath|\bfile\.path|\bPath\.Combine|\bpath\.expand|\bnormalizePath|\brealpath|\bfs\.realpathSync"""
    r"""|\bPaths\.get|\bPath\.of|\bPath::new|\bPathBuf::from|\bPathname(?:\.new)?|\bString|\bURL\(fileURLWithPath:"""
    r"""|\bfile\s+join)\s*\(\s*"""
)
BASE_LAST = compile_lazily(r"expand_path|Path\s*\.\s*expand")
"""Joins that take the directory second."""
PATH_PARENT = compile_lazily(
    r"""(?:require\(\s*['"](?:node:)?path['"]\s*\)\.|path(?:\.posix)?\.|File\.|Path\.)?dirname\s*\(\s*|filepath\.Dir\(\s*"""
)
GLOB_CALL = compile_lazily(
    r"""(?:\*\s*)?(?:\bDir\s*\.\s*glob|\bglob\s*\.\s*(?:sync|globSync)|\bglobSync|\bfs\.globSync|\bglob|\bbsd_glob"""
    r"""|\bDir|\bFileList|\bPath\.wildcard|\bSys\.glob)\s*[\[(]\s*"""
)
DIRECTORY_LISTING = compile_lazily(
    r"""(?:\bnew\s+)?(?:\bRecursiveIteratorIterator\(\s*new\s+)?\b(?:RecursiveDirectoryIterator|DirectoryIterator"""
    r"""|FilesystemIterator|Find\.find|Dir\.each_child|Dir\.foreach|walkdir|readdir|Pathname\.new|list\.files"""
    r"""|fs\.readdirSync|readdirSync|Dir\.children|Dir\.entries|scandir|File\.ls!?|Deno\.readDirSync"""
    r"""|Deno\.readDir)\s*\(\s*"""
)
LOOPS = (
    compile_lazily(r"\bfor\s*(?:await\s*)?\(?\s*(?:const\s+|let\s+|var\s+)?(?P<name>\w+)\s+(?:of|in)\s+(?:await\s+)?"),
    compile_lazily(r"\bfor(?:each)?\s+(?:my\s+|our\s+)?(?P<name>\$\w+)\s*(?=\(|qw|<|glob)"),
    compile_lazily(r"\bfor(?:each)?\s+(?:\w+|_)\s*,\s*(?P<name>\w+)\s+in\s+i?pairs\s*\(\s*"),
)
EACH_CALL = compile_lazily(
    r"\s*\)?\s*\.\s*(?:each|forEach|map|each_entry"
    r"|foreach)\s*(?:\(\s*(?:async\s+)?(?:function\s*)?\(?\s*(?P<arrow>\w+)|(?:\{|do)\s*\|\s*(?P<block>\w+))"
)
# `names.map { |d| … }`, `names.map(d => …)`; Perl has the list behind: `map { … } qw(a b)`.
MAP_CALL = compile_lazily(
    r"\s*\.\s*(?:map|collect|flat_map|flatMap)\s*(?:\(\s*\(?\s*(?P<arrow>\w+)\s*\)?\s*=>\s*|\{\s*\|\s*(?P<block>\w+)\s*\|\s*)"
)
PREFIX_MAP = compile_lazily(r"\bmap\s*\{\s*(?=[\"$])")
# Ruby: `paths.each(&:delete)`.
SYMBOL_TO_PROC = compile_lazily(
    r"\s*\)?(?:\s*\.\s*(?:children|entries|glob\([^()]*\)|sort|reverse|to_a))*\s*\.\s*(?:each|map"
    r"|each_entry)\s*\(?\s*&\s*(?::(\w+)|[\w:.]+\.method\(\s*:(\w+)\s*\))"
)
BLOCK_PARAMETER = compile_lazily(r"\s*\)?\s*(?:\{|do)\s*\|\s*(?P<block>\w+)\s*\|")
TOPIC_LOOP = compile_lazily(r"\bfor(?:each)?\s*(?=\(\s*(?:<|glob|qw|[\"']))")
FOREACH = compile_lazily(r"\bforeach\s*\(\s*")
FOREACH_VARIABLE = compile_lazily(r"\s*\)*\s+as\s+(?:\$\w+\s*=>\s*)?(?P<name>\$\w+)")
# Perl: `unlink for glob("x")`, where the loop stands after its body.
POSTFIX_LOOP = compile_lazily(r"\bfor(?:each)?\s+(?=\(|qw|<|glob)")
ANGLE_GLOB = compile_lazily(r"<([^<>\n=;]+)>")
TABLE_CONCAT = compile_lazily(r"\btable\.concat\s*\(\s*")
IMPLODE_CALL = compile_lazily(r"\b(?:implode|join)\s*\(\s*")
JOIN_METHOD = compile_lazily(r"\s*\.\s*join\s*\(\s*")
BARE_JOIN = compile_lazily(r"\s*\.\s*join\b(?!\s*\()")
"""Ruby's join of a list with nothing between its items."""
COMMA = compile_lazily(r"\s*,\s*")
# `fs["rmSync"](…)` is `fs.rmSync(…)`.
COMPUTED_MEMBER = compile_lazily(r"""\[\s*(['"])([A-Za-z_]\w*)\1\s*\](?=\s*\()""")
# `send(:unlink, path)`, `call_user_func("unlink", $path)`: calls by name.
DYNAMIC_SEND = compile_lazily(
    r"""\.?\b(?:public_send|__send__|send|call_user_func(?:_array)?)\s*\(?\s*[:'"](\w+)['"]?\s*,\s*"""
)
MODULE_ADDRESS = compile_lazily(r"\bnew\s+URL\(\s*([^(),]+?)\s*,\s*import\.meta\.url\s*\)(?:\.(?:pathname|href))?")
"""A file by its address beside the module: `new URL("../x", import.meta.url)`."""
MODULE_PLACES = (
    ("import.meta.dirname", "__dirname"),
    ("import.meta.dir", "__dirname"),
    ("import.meta.filename", "__filename"),
    ("import.meta.path", "__filename"),
    ("import.meta.url", "__filename"),
)
REQUIRE_ALIAS = compile_lazily(r"\{[^{}]*\}\s*(?:=\s*(?:await\s+)?(?:require|import)\b|from\s*[\"'])")
RENAMED_IMPORT = compile_lazily(r"\b(\w+)\s*(?::|\bas\b)\s*(\w+)")
MODULE_ALIAS = compile_lazily(
    r"""\b(\w+)\s*=\s*(?:await\s+)?(?:require|import)\(\s*["'](?:node:)?(fs|os|path|child_process|fs/promises)["']\s*\)"""
    r"""|\bimport\s+(?:\*\s+as\s+)?(\w+)\s+from\s+["'](?:node:)?(fs|os|path|child_process|fs/promises)["']"""
)
"""A module of Node under a name that the script chooses."""
# Fields: `job.command`, `Job::COMMAND`, `$job->{command}`, `$this->command`, `job["command"]`.
FIELD = compile_lazily(
    r"""(?:\s*(?:\?\.|\.(?!\.)|::|->)\s*(?:\{\s*["']?)?|\[\s*["':]|\{\s*["']?)\$?([A-Za-z_]\w*)(?:["']?\s*[\]}])?(?![\w(])"""
)
RECORD = compile_lazily(r"(?:new\s+|&)?(?:[\w.:]+\s*)?[{(]\s*")
RECORD_KEY = compile_lazily(r"""[\s,]*(?:["']|:)?([A-Za-z_]\w*)["']?\s*(?:=>|:(?!:)|=(?![=>]))\s*""")
CLASS = compile_lazily(r"\b(?:class|module|enum|interface|object|trait|struct|package)\s+([A-Za-z_]\w*)")
OWN_OBJECT = frozenset("this self $this static Self cls".split())
"""Names of the object that a method belongs to."""
FUNCTION_ALIAS = compile_lazily(r"(?:(?:require\([^()]*\)|[\w$]+)\s*\.\s*)+([A-Za-z_]\w*)(?=\s*(?:[;,\n)]|$))")
ESCAPE = compile_lazily(
    r"\\(?:x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|([0-7]{2,3}))"
)
INTERPOLATION = {
    "`": compile_lazily(r"\$\{([^{}]*)\}"),
    '"': compile_lazily(
        r"#\{([^{}]*)\}|\{(\$[^{}]*)\}|\$\{([^{}]+)\}"
        r"|(\$ENV\{[^{}]*\}|\$_(?:SERVER|ENV)\[[^\[\]]*\]|\$(?:::)?env\(HOME\)|\$\w+)|\\\(([^()]*)\)"
    ),
}


NUMBER = compile_lazily(r"(?:0[xX])?[0-9a-fA-F]+(?=\s*[,)])")
# Listings that return bare names, so that the directory they belong to is lost.
BARE_NAME_LISTINGS = tuple(
    "readdirSync Dir.children Dir.entries scandir ls ls! readDirSync readDir Dir.foreach Dir.each_child".split()
)
SELECTION = compile_lazily(r"\b(?:if|unless|next|continue|filter|select|grep|reject|match|test|case|when)\b|\?[^.]")
"""What makes a loop choose."""
_KEPT_NAMES = r"(?:[$@]?\w[\w.:]*|\[[^\[\]]*\]|%w[\[({][^\])}]*[\])}]|new\s+Set\([^()]*\))"
_AMONG = rf"(?:in_array\([^()]*\)|{_KEPT_NAMES}\.(?:includes|has|include\?|member\?|contains|indexOf)\([^()]*\))"
_PREFIXED = r"[$@]?\w[\w.]*\.(?:startsWith|start_with\?|starts_with\??)\([^()]*\)"
EXCLUSION = compile_lazily(
    r"""\b(?:unless|next\s+if)\s*\(?\s*\$?\w+\s*(?:===?|eq)\s*["'][^"']*["']|\bif\s*\(?\s*\$?\w+\s*(?:!==?|ne)\s*["'][^"']*["']"""
    r"""|\bif\s*\(?\s*\$?\w+\s*(?:===?|eq)\s*["'][^"']*["']\s*\)?\s*(?:\{\s*)?(?:continue|next|return)\b"""
    rf"|\b(?:unless|next\s+if)\s*\(?\s*(?:{_AMONG}|{_PREFIXED})|\bif\s*\(?\s*!\s*(?:{_AMONG}|{_PREFIXED})"
    rf"|\bif\s*\(?\s*(?:{_AMONG}|{_PREFIXED})\s*\)?\s*(?:\{{\s*)?(?:continue|next|return)\b"
    rf"|\.\s*filter\(\s*\(?\w+\)?\s*=>\s*!\s*(?:{_AMONG}|{_PREFIXED})"
    r"|\.\s*reject\s*(?:\{|do)\s*\|\s*\w+\s*\|[^\n{}]*(?:\}|\bend\b)"
)
"""A choice that leaves out what it names."""
LEAVING_OUT = compile_lazily(
    rf"(?<=[)\]])\s*\.\s*(?:filter\(\s*\(?\w+\)?\s*=>\s*!\s*(?:{_AMONG}|{_PREFIXED})\s*\)"
    r"|reject\s*(?:\{(?:[^{}]|\{[^{}]*\})*\}|do\b[^\n]*\bend\b)|exclude\((?:[^()]|\([^()]*\))*\))"
    r"|(?<=[)\]])\s+-\s+(?:%w[\[({][^\])}]*[\])}]|[A-Za-z_]\w*)(?=\s*[).])"
)
"""A call that leaves what it names out of a listing: what remains is nearly all of it."""
LIST_CALL = compile_lazily(r"(?:array|arrayOf|listOf|List\.of|Arrays\.asList|c)\(")
STATEMENT = compile_lazily(r"[^;\n]{1,300}")
CHOICE = compile_lazily(r"(?:\?\?|\|\||\?:|\?|(?<!:):(?!:)|\bor\b)\s*(?=[\"'`])")
SPACE = compile_lazily(r"\s*")
ASSIGNMENT_TARGET = compile_lazily(r"\s*(?:=(?![=~])|:(?!:)\s|\+=|\.=|\|\|=|\()")
