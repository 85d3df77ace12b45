"""How the languages of scripts write names, joins, loops, lists and what calls come to: the patterns behind `binding`."""

import re

from verdikt.model.regex import regex

DOTTED = frozenset(("perl", "php", "raku"))
"""Languages in which a dot joins strings."""
INTERPOLATED = {"node": "`", "java": "", "c": "", "go": "", "rust": "", "lua": "", "r": "", "osascript": "", "awk": ""}
"""The quotes between which names are put in; double ones elsewhere."""
STRING = regex(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`""", re.DOTALL)
PLAIN = regex(r"[^\w$@%\"'`\[({<&]+|[\[({<%&]")
NAME = regex(r"[$@%]?[A-Za-z_]\w*|\$_")
MEMBER = regex(r"(?:\s*(?:\.|::|->|\?\.)\s*[A-Za-z_]\w*[!?]?|:(?=[A-Za-z_]\w*\()[A-Za-z_]\w*)+")
MEMBER_OF_SIGILS = regex(r"(?:\s*(?:::|->)\s*[A-Za-z_]\w*)+")
JOIN = {True: regex(r"\s*\.(?!\.)\s*"), False: regex(r"\s*(?:\+(?![+=])|\.\.(?!\.)|<>)\s*")}
ASSIGNED = regex(r"(?:\s*:\s*[A-Z]?[\w.]+)?(?:\s*,\s*\w+(?=\s*:=))?\s*(?::=|<-|(?:\|\|)?=(?![=~>]))\s*")
GROWN = regex(r"\s*(?:\+=|\.=|<<(?!<))\s*")
WORDS = regex(r"(?:\bqw\s*|%w)(?:\{([^{}]*)\}|\(([^()]*)\)|\[([^\[\]]*)\]|/([^/\n]*)/)")
HOME = regex(
    r"""(?:require\(\s*['"](?:node:)?os['"]\s*\)\.|\bos\.)homedir\(\)|\bhomedir\(\)|\bDir\.home(?:\(\))?|\bENV(?:\[|\.fetch\(\s*)['"]HOME['"][\])]"""
    r"""|\bprocess\.env(?:\.HOME\b|\[['"]HOME['"]\])|(?:Deno|Bun)\.env(?:\.get\(\s*['"]HOME['"]\s*\)|\.HOME\b)|\$ENV\{['"]?HOME['"]?\}|\$_(?:SERVER|ENV)\[['"]?HOME['"]?\]"""
    r"""|\$(?:::)?env\(HOME\)|%\*ENV(?:<HOME>|\{['"]?HOME['"]?\})|\$\*HOME\b|\bENV\[\s*"HOME"\s*\]"""
    r"""|\b(?:[Oo]s\.|System\.)?[Gg]et_?env!?\(\s*['"]HOME['"]\s*\)|\bSystem\.getProperty\(\s*["']user\.home["']\s*\)|\bSys\.getenv\(\s*["']HOME["']\s*\)"""
    r"""|\bSystem\.user_home!?(?:\(\))?|\bNSHomeDirectory\(\)|\bstd::env::home_dir\(\)(?:\.unwrap\(\))?|\bos\.UserHomeDir\(\)|\b(?:std::)?env::var\(\s*"HOME"\s*\)(?:\.unwrap\(\))?|\bDeno\.homeDir\(\)"""
)
PASSING = regex(
    r"""(?:require\(\s*['"](?:node:)?os['"]\s*\)\.|\bos\.)tmpdir\(\)|\bsys_get_temp_dir\(\)|\bDir\.(?:tmpdir|mktmpdir)(?:\(\))?|\b(?:File::Temp::)?tempdir\(|\b(?:\w+\.)?mkdtemp(?:Sync|Disposable)?\(|\btempnam\(|\bDeno\.makeTemp(?:Dir|File)(?:Sync)?\(|"""
    r"""\bos\.tmpname\(\)|\bSystem\.tmp_dir!?(?:\(\))?|\bmktempdir\(\)|\btempfile\(\)|\btempname\(\)|\btempdir\(\)|\bFile\.createTempFile\(|\bFiles\.createTempDirectory\(|\bos\.MkdirTemp\("""
)
"""Calls that name a place for temporary files, as far as their opening parenthesis where they take something."""
HERE = regex(r"\bprocess\.cwd\(\)|\bDir\.pwd\b|\bgetcwd\(\)|\bDeno\.cwd\(\)|\bFile\.cwd!?\(\)|\bpwd\(\)|\bgetwd\(\)")
JOINING = regex(
    r"""(?:(?:require\(\s*['"](?:node:)?path['"]\s*\)|\bpath(?:\.posix)?|\bfilepath|\bPath|\bFile|\bPathname)\s*\.\s*(?:join|resolve|normalize|Join|Abs|expand|absolute_path|expand_path|realpath|new)"""
    r"""|\bFile::Spec(?:::Functions)?\s*->\s*cat(?:file|dir)|\bcat(?:file|dir)|\bjoinpath|\bexpanduser|\babspath|\bfile\.path|\bpath\.expand|\bnormalizePath|\brealpath|\bfs\.realpathSync"""
    r"""|\bPaths\.get|\bPath\.of|\bPath::new|\bPathBuf::from|\bPathname(?:\.new)?|\bString|\bURL\(fileURLWithPath:|\bfile\s+join)\s*\(\s*"""
)
LISTED = regex(
    r"""(?:\*\s*)?(?:\bDir\s*\.\s*glob|\bglob\s*\.\s*(?:sync|globSync)|\bglobSync|\bfs\.globSync|\bglob|\bbsd_glob|\bDir|\bPath\.wildcard|\bSys\.glob)\s*[\[(]\s*"""
)
INSIDE = regex(
    r"""(?:\bnew\s+)?(?:\bRecursiveIteratorIterator\(\s*new\s+)?\b(?:RecursiveDirectoryIterator|DirectoryIterator|FilesystemIterator|Find\.find|Dir\.each_child|Dir\.foreach|walkdir|readdir|Pathname\.new|list\.files|fs\.readdirSync|readdirSync|Dir\.children|Dir\.entries|scandir|File\.ls!?|Deno\.readDirSync|Deno\.readDir)\s*\(\s*"""
)
LOOPS = (
    regex(r"\bfor\s*(?:await\s*)?\(?\s*(?:const\s+|let\s+|var\s+)?(?P<name>\w+)\s+(?:of|in)\s+(?:await\s+)?"),
    regex(r"\bfor(?:each)?\s+(?:my\s+|our\s+)?(?P<name>\$\w+)\s*(?=\(|qw|<|glob)"),
    regex(r"\bfor(?:each)?\s+(?:\w+|_)\s*,\s*(?P<name>\w+)\s+in\s+i?pairs\s*\(\s*"),
)
EACH = regex(
    r"\s*\)?\s*\.\s*(?:each|forEach|map|each_entry|foreach)\s*(?:\(\s*(?:async\s+)?(?:function\s*)?\(?\s*(?P<arrow>\w+)|(?:\{|do)\s*\|\s*(?P<block>\w+))"
)
SYMBOL = regex(
    r"\s*\)?(?:\s*\.\s*(?:children|entries|glob\([^()]*\)|sort|reverse|to_a))*\s*\.\s*(?:each|map|each_entry)\s*\(?\s*&\s*(?::(\w+)|[\w:.]+\.method\(\s*:(\w+)\s*\))"
)
BLOCK = regex(r"\s*\)?\s*(?:\{|do)\s*\|\s*(?P<block>\w+)\s*\|")
TOPICAL = regex(r"\bfor(?:each)?\s*(?=\(\s*(?:<|glob|qw|[\"']))")
FOREACH = regex(r"\bforeach\s*\(\s*")
AS = regex(r"\s*\)*\s+as\s+(?:\$\w+\s*=>\s*)?(?P<name>\$\w+)")
POSTFIX = regex(r"\bfor(?:each)?\s+(?=\(|qw|<|glob)")
ANGLE = regex(r"<([^<>\n=;]+)>")
CONCAT = regex(r"\btable\.concat\s*\(\s*")
IMPLODE = regex(r"\b(?:implode|join)\s*\(\s*")
JOINS = regex(r"\s*\.\s*join\s*\(\s*")
COMMA = regex(r"\s*,\s*")
COMPUTED = regex(r"""\[\s*(['"])([A-Za-z_]\w*)\1\s*\](?=\s*\()""")
SENT = regex(r"""\.?\b(?:public_send|__send__|send|call_user_func(?:_array)?)\s*\(?\s*[:'"](\w+)['"]?\s*,\s*""")
RENAMED = regex(r"\{\s*(\w+)\s*:\s*(\w+)\s*\}\s*=\s*require")
ALIAS = regex(r"(?:(?:require\([^()]*\)|[\w$]+)\s*\.\s*)+([A-Za-z_]\w*)(?=\s*(?:[;,\n)]|$))")
ESCAPE = regex(
    r"\\(?:x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|([0-7]{2,3}))"
)
INNER = {
    "`": regex(r"\$\{([^{}]*)\}"),
    '"': regex(r"#\{([^{}]*)\}|\{(\$[^{}]*)\}|\$\{(\w+)\}|(\$ENV\{[^{}]*\}|\$_(?:SERVER|ENV)\[[^\[\]]*\]|\$(?:::)?env\(HOME\)|\$\w+)|\\\(([^()]*)\)"),
}  # fmt: skip


NUMBER = regex(r"(?:0[xX])?[0-9a-fA-F]+(?=\s*[,)])")
NAMES_ALONE = ("readdirSync", "Dir.children", "Dir.entries", "scandir", "ls", "ls!", "readDirSync", "readDir", "Dir.foreach", "Dir.each_child")  # fmt: skip
SPACE = regex(r"\s*")
ASSIGNS_HERE = regex(r"\s*(?:=(?![=~])|:(?!:)\s|\+=|\.=|\|\|=|\()")
