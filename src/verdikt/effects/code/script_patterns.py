"""How the languages of scripts write names, joins, loops, lists and what calls come to: the patterns behind `binding`."""

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
"""The quotes between which names are put in; double ones elsewhere."""
STRING = compile_lazily(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`""", re.DOTALL)
OTHER_TEXT = compile_lazily(r"[^\w$@%\"'`\[({<&]+|[\[({<%&]")
NAME = compile_lazily(r"[$@%]?[A-Za-z_]\w*|\$_")
MEMBER = compile_lazily(r"(?:\s*(?:\.|::|->|\?\.)\s*[A-Za-z_]\w*[!?]?|:(?=[A-Za-z_]\w*\()[A-Za-z_]\w*)+")
SIGIL_MEMBER = compile_lazily(r"(?:\s*(?:::|->)\s*[A-Za-z_]\w*)+")
JOIN_OPERATOR = {True: compile_lazily(r"\s*\.(?!\.)\s*"), False: compile_lazily(r"\s*(?:\+(?![+=])|\.\.(?!\.)|<>)\s*")}
ASSIGNMENT = compile_lazily(r"(?:\s*:\s*[A-Z]?[\w.]+)?(?:\s*,\s*\w+(?=\s*:=))?\s*(?::=|<-|(?:\|\|)?=(?![=~>]))\s*")
APPEND_ASSIGNMENT = compile_lazily(r"\s*(?:\+=|\.=|<<(?!<))\s*")
WORD_LIST = compile_lazily(r"(?:\bqw\s*|%w)(?:\{([^{}]*)\}|\(([^()]*)\)|\[([^\[\]]*)\]|/([^/\n]*)/)")
HOME_DIRECTORY = compile_lazily(
    r"""(?:require\(\s*['"](?:node:)?os['"]\s*\)\.|\bos\.)homedir\(\)|\bhomedir\(\)|\bDir\.home(?:\(\))?|\bENV(?:\[|\.fetch\(\s*)['"]HOME['"][\])]"""
    r"""|\bprocess\.env(?:\.HOME\b|\[['"]HOME['"]\])|(?:Deno|Bun)\.env(?:\.get\(\s*['"]HOME['"]\s*\)|\.HOME\b)|\$ENV\{['"]?HOME['"]?\}|\$_(?:SERVER|ENV)\[['"]?HOME['"]?\]"""
    r"""|\$(?:::)?env\(HOME\)|%\*ENV(?:<HOME>|\{['"]?HOME['"]?\})|\$\*HOME\b|\bENV\[\s*"HOME"\s*\]"""
    r"""|\b(?:[Oo]s\.|System\.)?[Gg]et_?env!?\(\s*['"]HOME['"]\s*\)|\bSystem\.getProperty\(\s*["']user\.home["']\s*\)|\bSys\.getenv\(\s*["']HOME["']\s*\)"""
    r"""|\bSystem\.user_home!?(?:\(\))?|\bNSHomeDirectory\(\)|\bstd::env::home_dir\(\)(?:\.unwrap\(\))?|\bos\.UserHomeDir\(\)|\b(?:std::)?env::var\(\s*"HOME"\s*\)(?:\.unwrap\(\))?|\bDeno\.homeDir\(\)"""
)
TEMPORARY_DIRECTORY = compile_lazily(
    r"""(?:require\(\s*['"](?:node:)?os['"]\s*\)\.|\bos\.)tmpdir\(\)|\bsys_get_temp_dir\(\)|\bDir\.(?:tmpdir|mktmpdir)(?:\(\))?|\b(?:File::Temp::)?tempdir\(|\b(?:\w+\.)?mkdtemp(?:Sync|Disposable)?\(|\btempnam\(|\bDeno\.makeTemp(?:Dir|File)(?:Sync)?\(|"""
    r"""\bos\.tmpname\(\)|\bSystem\.tmp_dir!?(?:\(\))?|\bmktempdir\(\)|\btempfile\(\)|\btempname\(\)|\btempdir\(\)|\bFile\.createTempFile\(|\bFiles\.createTempDirectory\(|\bos\.MkdirTemp\("""
)
"""Calls that name a place for temporary files, as far as their opening parenthesis where they take something."""
CURRENT_DIRECTORY = compile_lazily(
    r"\bprocess\.cwd\(\)|\bDir\.pwd\b|\bgetcwd\(\)|\bDeno\.cwd\(\)|\bFile\.cwd!?\(\)|\bpwd\(\)|\bgetwd\(\)"
)
PATH_JOIN = compile_lazily(
    r"""(?:(?:require\(\s*['"](?:node:)?path['"]\s*\)|\bpath(?:\.posix)?|\bfilepath|\bPath|\bFile|\bPathname)\s*\.\s*(?:join|resolve|normalize|Join|Abs|expand|absolute_path|expand_path|realpath|new)"""
    r"""|\bFile::Spec(?:::Functions)?\s*->\s*cat(?:file|dir)|\bcat(?:file|dir)|\bjoinpath|\bexpanduser|\babspath|\bfile\.path|\bpath\.expand|\bnormalizePath|\brealpath|\bfs\.realpathSync"""
    r"""|\bPaths\.get|\bPath\.of|\bPath::new|\bPathBuf::from|\bPathname(?:\.new)?|\bString|\bURL\(fileURLWithPath:|\bfile\s+join)\s*\(\s*"""
)
GLOB_CALL = compile_lazily(
    r"""(?:\*\s*)?(?:\bDir\s*\.\s*glob|\bglob\s*\.\s*(?:sync|globSync)|\bglobSync|\bfs\.globSync|\bglob|\bbsd_glob|\bDir|\bPath\.wildcard|\bSys\.glob)\s*[\[(]\s*"""
)
DIRECTORY_LISTING = compile_lazily(
    r"""(?:\bnew\s+)?(?:\bRecursiveIteratorIterator\(\s*new\s+)?\b(?:RecursiveDirectoryIterator|DirectoryIterator|FilesystemIterator|Find\.find|Dir\.each_child|Dir\.foreach|walkdir|readdir|Pathname\.new|list\.files|fs\.readdirSync|readdirSync|Dir\.children|Dir\.entries|scandir|File\.ls!?|Deno\.readDirSync|Deno\.readDir)\s*\(\s*"""
)
LOOPS = (
    compile_lazily(r"\bfor\s*(?:await\s*)?\(?\s*(?:const\s+|let\s+|var\s+)?(?P<name>\w+)\s+(?:of|in)\s+(?:await\s+)?"),
    compile_lazily(r"\bfor(?:each)?\s+(?:my\s+|our\s+)?(?P<name>\$\w+)\s*(?=\(|qw|<|glob)"),
    compile_lazily(r"\bfor(?:each)?\s+(?:\w+|_)\s*,\s*(?P<name>\w+)\s+in\s+i?pairs\s*\(\s*"),
)
EACH_CALL = compile_lazily(
    r"\s*\)?\s*\.\s*(?:each|forEach|map|each_entry|foreach)\s*(?:\(\s*(?:async\s+)?(?:function\s*)?\(?\s*(?P<arrow>\w+)|(?:\{|do)\s*\|\s*(?P<block>\w+))"
)
SYMBOL_TO_PROC = compile_lazily(
    r"\s*\)?(?:\s*\.\s*(?:children|entries|glob\([^()]*\)|sort|reverse|to_a))*\s*\.\s*(?:each|map|each_entry)\s*\(?\s*&\s*(?::(\w+)|[\w:.]+\.method\(\s*:(\w+)\s*\))"
)
BLOCK_PARAMETER = compile_lazily(r"\s*\)?\s*(?:\{|do)\s*\|\s*(?P<block>\w+)\s*\|")
TOPIC_LOOP = compile_lazily(r"\bfor(?:each)?\s*(?=\(\s*(?:<|glob|qw|[\"']))")
FOREACH = compile_lazily(r"\bforeach\s*\(\s*")
FOREACH_VARIABLE = compile_lazily(r"\s*\)*\s+as\s+(?:\$\w+\s*=>\s*)?(?P<name>\$\w+)")
POSTFIX_LOOP = compile_lazily(r"\bfor(?:each)?\s+(?=\(|qw|<|glob)")
ANGLE_GLOB = compile_lazily(r"<([^<>\n=;]+)>")
TABLE_CONCAT = compile_lazily(r"\btable\.concat\s*\(\s*")
IMPLODE_CALL = compile_lazily(r"\b(?:implode|join)\s*\(\s*")
JOIN_METHOD = compile_lazily(r"\s*\.\s*join\s*\(\s*")
COMMA = compile_lazily(r"\s*,\s*")
COMPUTED_MEMBER = compile_lazily(r"""\[\s*(['"])([A-Za-z_]\w*)\1\s*\](?=\s*\()""")
DYNAMIC_SEND = compile_lazily(
    r"""\.?\b(?:public_send|__send__|send|call_user_func(?:_array)?)\s*\(?\s*[:'"](\w+)['"]?\s*,\s*"""
)
REQUIRE_ALIAS = compile_lazily(r"\{\s*(\w+)\s*:\s*(\w+)\s*\}\s*=\s*require")
FUNCTION_ALIAS = compile_lazily(r"(?:(?:require\([^()]*\)|[\w$]+)\s*\.\s*)+([A-Za-z_]\w*)(?=\s*(?:[;,\n)]|$))")
ESCAPE = compile_lazily(
    r"\\(?:x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|([0-7]{2,3}))"
)
INTERPOLATION = {
    "`": compile_lazily(r"\$\{([^{}]*)\}"),
    '"': compile_lazily(r"#\{([^{}]*)\}|\{(\$[^{}]*)\}|\$\{(\w+)\}|(\$ENV\{[^{}]*\}|\$_(?:SERVER|ENV)\[[^\[\]]*\]|\$(?:::)?env\(HOME\)|\$\w+)|\\\(([^()]*)\)"),
}  # fmt: skip


NUMBER = compile_lazily(r"(?:0[xX])?[0-9a-fA-F]+(?=\s*[,)])")
BARE_NAME_LISTINGS = ("readdirSync", "Dir.children", "Dir.entries", "scandir", "ls", "ls!", "readDirSync", "readDir", "Dir.foreach", "Dir.each_child")  # fmt: skip
SPACE = compile_lazily(r"\s*")
ASSIGNMENT_TARGET = compile_lazily(r"\s*(?:=(?![=~])|:(?!:)\s|\+=|\.=|\|\|=|\()")
