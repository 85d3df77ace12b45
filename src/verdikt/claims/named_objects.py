"""What a sentence names: files, directories, numbers of tests, packages, branches. Small and literal. Pure."""

import re
from collections.abc import Iterable

from verdikt.claims.sentences import URL
from verdikt.claims.wording import find_wording, has_only_wordings, has_wording
from verdikt.model.lazy_regex import compile_lazily

_EXTENSIONS = (
    "py|pyi|js|jsx|ts|tsx|mjs|cjs|go|rs|java|kt|kts|cc|cpp|hpp|cs|rb|php|swift|scala|sh|bash|zsh|sql|html|css|scss"
    "|less|vue|svelte|md|rst|txt|json|jsonc|yaml|yml|toml|ini|cfg|conf|xml|lock|proto|tf|gradle|ipynb|csv|env|lua|ex"
    "|exs|dart|svg|png|log|c|h|mts|cts|mdx|pdf|jpe?g|gif|ico|webp|zip|tar|gz|tgz|xlsx?|docx?|tsv|sqlite3?|ps1|bat|bak|orig"
)
_SECOND_EXTENSIONS = "bak|orig|old|example|sample|template|dist|tmpl|j2|gz"
"""What may stand behind the ending of another file: `settings.ini.bak`, `.env.example`."""

_FILE = compile_lazily(
    rf"(?<![\w/.@-])(?:(?:~|\.{{1,2}})?/)?(?:[\w.@+-]+/)*"
    rf"(?:[\w@+-]+(?:\.[\w-]+)*\.(?:{_EXTENSIONS})|\.(?:\w+ignore|env|gitattributes|editorconfig)|Makefile|Dockerfile"
    rf"|README|LICENSE|CHANGELOG)(?:\.(?:{_SECOND_EXTENSIONS}))?(?![\w/(-])(?!\.\w)"
)
_SPAN = compile_lazily(r"`([^`\s]{1,200})`")
_CODE = compile_lazily(r"`([^`\n]{1,300})`")
_DIRECTORY = compile_lazily(
    r"(?:`([\w.@+/-]+?)/?`|(?<![\w`.@+-])([\w.@+-]+(?:/[\w.@+-]+)*)/?)\s+(?:directory|folder|dir)\b|`([\w.@+/-]+)/`"
    r"|\b(?:directory|folder|ordner|verzeichnis|dossier|répertoire|carpeta|directorio|pasta|diretório|папк[аиу]|каталог)"
    r" `([\w.@+/-]+)`|`([\w.@+/-]+)` ?(?:ディレクトリ|フォルダ|目录|文件夹|디렉터리|디렉토리|폴더)"
    r"|(?<![\w/.`:])((?:[\w.@+-]+/)+)(?=[\s,.;)]|$)",
    re.IGNORECASE,
)
# A file after one of these is what the work follows or uses, not what it changes.
_MENTIONED_AFTER = compile_lazily(
    r"\b(?:match(?:es|ing)?|like|from|according to|using|uses?|via|see|reads?|reading|per|with|against|by|based on"
    r"|imports?|run(?:ning|s)?|ran|of|as|following|mirrors?|than|through|call(?:s|ing)?|check(?:s|ed|ing)?"
    r"|review(?:ed|s|ing)?|open(?:ed|s)?|look(?:ed|ing)? at|compare[ds]?|so that|because|before|after|and ran"
    r"|(?:links?|linked|points?|pointing|refers?) to"
    r"|described in|reported in|defined in|covered (?:by|in)|whether|if|why|how|what)\s+(?:the |our |your |its |all )*"
    r"(?:tests? (?:in|of) )?[`\"'*(]*$",
    re.IGNORECASE,
)
_MENTIONED_BEFORE = compile_lazily(
    r"^[`\"'*)]*\s+(?:(?:still|now|all|also|both|tests?)\s+)*(?:pass\w*|succeed\w*|(?:is|are|was) (?:green|unchanged"
    r"|untouched|not (?:changed|touched|needed))|covers?|shows?|runs?|says?|parses|compiles|builds?|need(?:s|ed)? no"
    r"|did not|didn't|stays?|remains?|fails?|reports?)\b",
    re.IGNORECASE,
)


_SOURCE_OF = compile_lazily(r"^[`\"'*)]*\s*(?:→|->|=>|➜|⟶)\s*[`\"'*(]*")
_CONVERTED_TO = compile_lazily(r"^[`\"'*)]*\s+(?:in)?to\s+[`\"'*(]*")
"""What stands around a file that another was made from: `data.csv → data.json`, `converted data.csv to data.json`."""


def _is_product(name: str) -> bool:
    """Return whether a name is that of a product, not of a file: `Node.js`, `Vue.js`."""
    stem, _, extension = name.partition(".")
    return stem.isidentifier() and stem[0].isupper() and extension in ("js", "ts", "py", "rs")


def find_file_names(text: str) -> tuple[str, ...]:
    """Return the files that a text names, in order."""
    return tuple(dict.fromkeys(name for name, _, _ in _iter_file_names(text)))


def find_changed_names(text: str) -> tuple[str, ...]:
    """Return the files that a text names as changed, not as something that was followed, read or run."""
    return tuple(
        dict.fromkeys(
            name
            for name, start, end in _iter_file_names(text)
            if not _MENTIONED_AFTER.search(text[max(0, start - 60) : start])
            and not _MENTIONED_BEFORE.match(text[end : end + 60])
            and not _is_source_of_another(text, start, end)
        )
    )


def find_source_names(text: str) -> tuple[str, ...]:
    """Return the files that a text names as what others were made from; these need not change."""
    return tuple(name for name, start, end in _iter_file_names(text) if _is_source_of_another(text, start, end))


def _is_source_of_another(text: str, start: int, end: int) -> bool:
    """Return whether a file is named as what another one, named next, was made from."""
    following = _SOURCE_OF.match(text[end : end + 20])
    if following is None and has_wording("convert", text[max(0, start - 30) : start]):
        following = _CONVERTED_TO.match(text[end : end + 20])
    return following is not None and bool(_FILE.match(text, end + following.end()))


def _iter_file_names(text: str) -> list[tuple[str, int, int]]:
    names = []
    # A span of code with a space in it is a command, and what it names was run.
    masked = re.sub(r"`[^`\n]*\s[^`\n]*`", lambda match: " " * len(match[0]), text)
    masked = URL.sub(lambda match: " " * len(match[0]), masked)
    for match in _FILE.finditer(masked):
        name = match[0]
        if not _is_product(name) and "*" not in name:
            names.append((name.removeprefix("./"), match.start(), match.end()))
    return names


def find_directory_names(text: str) -> tuple[str, ...]:
    """Return the directories that a text names."""
    names = (next(filter(None, match.groups())) for match in _DIRECTORY.finditer(text))
    articles = ("the", "a", "an", "this", "that", "new", "old", "empty", "output", "whole", "entire")
    return tuple(dict.fromkeys(name.strip("/") for name in names if name.strip("/") and name.lower() not in articles))


def find_spans(text: str) -> tuple[str, ...]:
    """Return the words in backticks that hold no space."""
    return tuple(dict.fromkeys(_SPAN.findall(text)))


def split_at_names(text: str, names: Iterable[str]) -> list[tuple[str, str, str]]:
    """Return each two names that follow each other, with the text between them."""
    quoted = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    parts = re.split(rf"(?<![\w./-])(?:\./)?({quoted})(?![\w/-]|\.\w)", text)
    return [(parts[i], parts[i + 1], parts[i + 2]) for i in range(1, len(parts) - 2, 2)]


def list_pairs(text: str, names: Iterable[str], glue: str, marks: str) -> list[tuple[str, str]]:
    """Return the names that follow each other with nothing between them but words of a wording, or some marks."""
    triples = split_at_names(text, names)
    return [(a, b) for a, between, b in triples if has_only_wordings((glue,), between, f"{marks}`\"'*()")]


def find_code(text: str) -> tuple[str, ...]:
    """Return what stands in backticks, commands with spaces included."""
    return tuple(dict.fromkeys(_CODE.findall(text)))


_OF = r"(?:/|of(?: the)?|von|sur|de|из)"
_TEST_COUNT = compile_lazily(
    rf"\b(\d{{1,6}}) ?{_OF} ?(\d{{1,6}}) (?:\w+ )?(?:tests?|specs?|pruebas|testes|тест\w*)\b"
    r"(?=[^.;,]{0,30}\b(?:pass|green|succe|grün|vert|pasa|verde|прош|прох))"
    # `pytest 3/3`, `Tests: 3 von 3`.
    r"|(?:\b(?:\w*tests?|specs?|suite|pruebas|testes|тест\w*)|テスト|测试|테스트)"
    rf"\W{{1,4}}(?:(?:(?:is|are|now|all) )*(?:pass\w*|green|ok)\W{{1,4}})?(\d{{1,6}}) ?{_OF} ?(\d{{1,6}})\b"
    r"|\b(?:all )?(?:of the )?(\d[\d,]{0,8})(?: of the)?(?: \w+)? (?:tests|test cases|specs)\b(?!\W+(?:fail|are"
    r" failing|still|were skipped|skipped))(?=[^.;]{0,30}\b(?:pass|green|succe))"
    r"|\b(\d[\d,]{0,8}) (?:tests? )?pass(?:ed|ing)?\b",
    re.IGNORECASE,
)


_FOREIGN_TEST_COUNT = compile_lazily(
    r"\b(\d[\d.,]{0,8}) (?:\w+ )?(?:tests?|pruebas|testes|тест\w*)\b|(\d{1,6}) ?(?:个|项|件の?)(?:测试|テスト|用例)"
    r"|(?:テスト|테스트) ?(\d{1,6}) ?(?:件|개)",
    re.IGNORECASE,
)
"""A number of tests in the other languages, where the sentence says that they pass."""


def read_test_count(text: str) -> dict[str, str]:
    """Return what a text says about the number of tests: `number` that pass, `of` how many, or `whole` for all."""
    match = _TEST_COUNT.search(text)
    if match is None and not text.isascii() and has_wording("passing", text) and not has_wording("added_test", text):
        match = _FOREIGN_TEST_COUNT.search(text)
    number, total, *_ = (*filter(None, match.groups() if match else ()), "", "")
    if number:
        counts = {"number": number.replace(",", "").replace(".", "")}
        return counts | ({"of": total} if total and total != number else {})
    return {"whole": "yes"} if has_wording("all_tests", text) else {}


_NUMBERS = {"two": 2, "deux": 2, "dos": 2, "dois": 2, "three": 3}
"""Numbers that may stand between `added` and `tests`, in words."""


def read_added_test_count(text: str) -> int:
    """Return how many tests a text says were added; 0 where it names no number right there."""
    words = re.findall(r"\w+", find_wording("added_test", text).lower())
    return next(
        (int(word) if word.isdecimal() else _NUMBERS[word] for word in words if word.isdecimal() or word in _NUMBERS), 0
    )


_PACKAGE = compile_lazily(
    r"\b(?:install(?:ed|s)?|added|adds|upgraded|updated)\s+"
    r"(?:the |a |an |latest |new |dev |package |dependency |library )*"
    r"[`\"*]*(@?[a-z][\w./-]*[\w])(?:[@=~^<>]=?[\w.]+)?",
    re.IGNORECASE,
)
_NO_PACKAGE = frozenset("dependencies packages everything all it requirements deps them project tools both".split())


def find_package_names(text: str) -> tuple[str, ...]:
    """Return the packages that a text says were installed; empty for `the dependencies`."""
    names = [*(match[1] for match in _PACKAGE.finditer(text))]
    names += [span for span in find_spans(text) if re.fullmatch(r"@?[a-z][\w./-]*", span, re.IGNORECASE)]
    return tuple(dict.fromkeys(name.lower() for name in names if name.lower() not in _NO_PACKAGE))


_REF = compile_lazily(
    r"\b(?:branch|tag|release tag)\s+(?:named |called )?[`\"'*]*([A-Za-z0-9][\w./-]*)"
    r"|[`\"'*]+([A-Za-z0-9][\w./-]*)[`\"'*]+\s+(?:branch|tag)\b"
    r"|\btagged\s+(?:it |this |the release |the commit )?(?:as |with )?[`\"'*]*(v?\d[\w.-]*)"
)
_NO_REF = frozenset("and for from is was has with to on in of now so that which it off as at".split())


def find_ref_names(text: str) -> tuple[str, ...]:
    """Return the branches and tags that a text names."""
    names = (next(filter(None, match.groups())).rstrip(".,;:") for match in _REF.finditer(text))
    return tuple(dict.fromkeys(name for name in names if name and name.lower() not in _NO_REF))
