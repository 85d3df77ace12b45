"""Families of words by which text of any language is read: what deletes, sends, fetches, runs, and where a place lies.

Data only. A name is split into its words (`deleteRecursively`, `REMOVE_RECURSE`, `delete-file`), so that a row here
stands for the functions of all libraries that are named with it.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache

from verdikt.model.lazy_regex import compile_lazily


class Family(Enum):
    """What the words of a name say that it does, or which place it stands for."""

    DELETE = auto()
    """Deletes what it is given."""
    CLEAR = auto()
    """Deletes where it is a setting or the name of a list: `emptyOutDir`, `CLEAN_DIRS`; elsewhere often means less."""
    SEND = auto()
    FETCH = auto()
    EVALUATE = auto()
    """Runs text, or a file, as a part of the program."""
    START = auto()
    """Starts a program."""
    ENTER = auto()
    """Makes a directory the current one."""
    HOME = auto()
    FILE = auto()
    """The file that holds the text."""
    DIRECTORY = auto()
    """The directory of that file."""
    ROOT = auto()
    """The top of the project, or the directory in which a build runs."""
    TEMPORARY = auto()
    PARENT = auto()
    """Goes up from a place."""
    PLACE = auto()
    """The name of a setting that holds a path."""
    ENVIRONMENT = auto()
    """All variables of the environment."""
    KEY_USE = auto()
    """Uses a key for what it is made for: to log in, to sign, to encrypt."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BY_WORD = {
    Family.DELETE: _words(
        "delete remove rm rmrf rmr rmtree rmdir rmall unlink rimraf del deltree erase wipe purge shred nuke truncate "
        "expunge obliterate deleting removing"
    ),
    Family.CLEAR: _words("clean cleanup distclean clobber empty prune sweep scrub clear clearing cleaning"),
    Family.SEND: _words(
        "post put patch send sends upload request requests http https fetch curl socket connect connection dial tcp "
        "udp urlopen open get url uri stream mail smtp ftp webhook publish transmit submit report write add emit "
        "client websocket ws push getstring telnet tcpstream httppost retrieve slurp spit axios ajax net "
        "sendto sendall gethostbyname getaddrinfo"
    ),
    Family.FETCH: _words(
        "download downloads downloader fetch get curl wget slurp open urlopen read http https request requests url uri "
        "retrieve client stream pull gettext getstring readlines webclient readtext urlretrieve getstore axios net"
    ),
    Family.EVALUATE: _words(
        "eval evaluate evals include includes require source execfile dofile loadstring loadfile "
        "runinthiscontext runincontext runinnewcontext exec import apply"
    ),
    Family.START: _words(
        "system popen spawn execfile execute exec process processbuilder subprocess startprocess shell command cmd "
        "launch dlopen cdll loadlibrary classloader urlclassloader loadclass chmod"
    ),
    Family.ENTER: _words("chdir cd pushd setwd setcwd"),
    Family.TEMPORARY: _words("tmp temp temporary tmpdir tempdir mkdtemp mktemp tempfile tmpname scratch"),
    Family.PLACE: _words(
        "dir dirs directory directories path paths folder folders dest destination out output outdir target targets "
        "root location file files prefix patterns"
    ),
    Family.KEY_USE: _words(
        "ssh sftp scp identity keyfile privatekey passphrase ssl tls cert certificate pfx keystore truststore kube "
        "kubeconfig keyfilename privatekeyfile privatekeypath identityfile keypath cluster sign signing signer decrypt "
        "encrypt agent rsync netrc authorized tunnel bastion"
    ),
}
_UNTOUCHED = _words(
    "prefix suffix extension extensions component components duplicates duplicate whitespace spaces quotes slash "
    "slashes trailing leading listener listeners event events class attribute attributes header headers cookie child "
    "children watch watcher user users account row rows column route handler observer accents punctuation newline "
    "tag tags label labels comment comments stopwords outliers nulls"
)
"""Beside a deleting word these say that no file is meant: `removeprefix`, `deletingLastPathComponent`."""
_BY_NAME = {
    Family.FILE: _words("__file__ __FILE__ BASH_SOURCE filePath"),
    Family.DIRECTORY: _words(
        "__dirname __dir__ __DIR__ CMAKE_CURRENT_LIST_DIR CMAKE_CURRENT_SOURCE_DIR MSBuildThisFileDirectory "
        "MSBuildProjectDirectory PSScriptRoot projectDir ProjectDir projectDirectory basedir baseDirectory "
        "SRCROOT PROJECT_DIR"
    ),
    Family.ROOT: _words(
        "CMAKE_SOURCE_DIR PROJECT_SOURCE_DIR rootDir rootProject CURDIR PWD cwd getcwd pwd SolutionDir Cwd "
        "INIT_CWD MESON_SOURCE_ROOT "
        "currentDirectoryPath current_dir workspaceRoot source_root project_source_root TOPDIR GetCurrentDirectory"
    ),
    Family.PARENT: _words(
        "parent parents parentFile getParent getParentFile dirname DIRECTORY deletingLastPathComponent Parent "
        "GetDirectoryName GetParent parentDirectory parent_path PARENT_PATH"
    ),
    Family.ENVIRONMENT: _words("environ env environment getenv ENV Environ get_env vars vars_os"),
}
PACKAGE_VARIABLE = "CARGO_MANIFEST_DIR"
"""The variable that has the directory of a package while it is built."""
_HOME_NAME = compile_lazily(
    r"(?:get|ns|user|os|current|my|fetch|find)*home(?:dir|directory|path|folder)(?:forcurrentuser|path|url)?"
    r"|(?:get)?userprofile|(?:get)?userhome|getuserdir"
)
HOME_VARIABLES = _words("HOME USERPROFILE")
ENVIRONMENT_OWNERS = _words("process processInfo Platform System Sys os env ENV")
"""Before `env`, `environment`, `getenv()` or `vars()` these say that all variables are meant where none is named."""
HOME_PROPERTY = "user.home"
HOME_OWNERS = _words("Dir Path dirs dir path user User os System process Pathname Filepath filepath fs")
"""Before `home` these say that the person's home is meant: `Dir.home`, `Path.home()`."""
UNKNOWN_OWNERS = _words("this self config cfg options opts ctx context props state settings args params")
"""Before `homeDir` these say that the text does not tell which one is meant."""
COLLECTIONS = _words(
    "path paths list set map cache keys key items item array dict hash registry env environ collection index queue "
    "seen visited entries modules classList params searchParams headers"
)
"""What a value is taken out of without being deleted: `paths.remove(home)`."""
GATHERING = _words("include add push append concat from files file extend insert dirs paths")
"""What puts something into a list that is cleared: `CLEAN.include(…)`."""
TREE_WORDS = _words("walk tree filetree recursive recursively recurse rf rmtree all glob list listfiles each ls find")
WALKING = _words("walk walkdir walktree readdir listdir iterdir listfiles enumeratefiles filetree")
"""What goes through all that lies in a place."""
DATA_READERS = _words(
    "error exception warning json yaml yml toml xml csv data image font model config dataset parse schema dotenv locale"
)
"""Beside an evaluating word these say that data is meant: `json.load`."""
CONFIGURATION_LOADERS = _words("dotenv load loadenv config env_file envfile parse environment settings godotenv")
"""Beside `.env` these say that it is loaded as it is meant to be."""
LOADING = _words("load load_file load-file load-string")
"""Words that run what they load where they stand alone: `(load p)`, and not `json.load(p)`."""
SAVING = _words("write put save copy store dump spit")
POSTING = _words("post put upload transmit submit sendto")
"""Words that give something to a host, and to no program."""
TRUE_WORDS = _words("true True yes on 1 always force TRUE YES ON")
DEFINING = _words(
    "def func fn fun function sub class struct interface enum void method proc defn defmacro describe it test context "
    "package module namespace trait impl object"
)
"""A line with one of these names what it opens, and does not call it."""
DESCRIPTIONS = _words(
    "desc description summary help title label comment name message note notes hint reason usage example Description "
    "pattern patterns regex regexp deny denied forbid forbidden banned denylist blocklist disallow disallowed"
)
"""Settings that are words for people, or patterns of what is looked for."""
SETTING_WORDS = _words("set setq def defvar defparameter define let global setenv export declare")
"""What binds the next name without a sign: `set home $env(HOME)`, `(def home …)`, `#define HOME_DIR …`."""
LOOP_WORDS = _words("in of as")
BUFFER_APPENDERS = _words("strcat strncat strlcat")
BUFFER_FILLERS = BUFFER_APPENDERS | _words("sprintf snprintf asprintf strcpy strncpy strlcpy stpcpy wsprintf sprintf_s")
"""Functions that put a text into their first argument."""
CONTROL_WORDS = _words("if else for foreach while switch match case catch when unless until with try do return")
IMPLICIT_NAMES = _words("it _ _1")
CONNECTING = _words("connect connection socket tcp udp dial host hostname telnet remote server")
"""Before a text that looks like a host's name these say that it is one."""
CERTIFICATE_ENDINGS = (".pem", ".key", ".p12", ".pfx", ".jks", ".crt", ".cer")

_WORD = compile_lazily(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


_OBJECTS = _BY_WORD[Family.PLACE] | _words("tree all recursive recursively sync item items entry secure r rf")
"""What follows a deleting word without a sign between them: `removedir`, `CLEANFILES`."""


@lru_cache(maxsize=4096)
def split_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case: `removeItem` has two, and so has `CLEANFILES`."""
    return tuple(part for word in _WORD.findall(name) for part in _split_joined(word.lower()))


def _split_joined(word: str) -> tuple[str, ...]:
    for family in (Family.DELETE, Family.CLEAR):
        for verb in _BY_WORD[family]:
            if word.startswith(verb) and word[len(verb) :] in _OBJECTS:
                return verb, word[len(verb) :]
    return (word,)


@lru_cache(maxsize=4096)
def find_families(name: str) -> frozenset[Family]:
    """Return what the words of a name say."""
    joined = re.sub(r"[_-]", "", name.lower())
    words = {*split_words(name), joined}
    families = {family for family, members in _BY_WORD.items() if not words.isdisjoint(members)}
    if not words.isdisjoint(_UNTOUCHED):
        families -= {Family.DELETE, Family.CLEAR}
    families |= {family for family, names in _BY_NAME.items() if name in names}
    if name in HOME_VARIABLES or _HOME_NAME.fullmatch(joined):
        families.add(Family.HOME)
    return frozenset(families)
