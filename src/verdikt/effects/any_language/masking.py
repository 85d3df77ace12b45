"""Which files hold text that something loads, and how comments are written in them."""

from __future__ import annotations

import re

from verdikt.model.lazy_regex import compile_lazily

_PROSE_AND_DATA = frozenset(
    """
    .md .markdown .mdx .txt .rst .adoc .asciidoc .org .tex .pod .1 .html .htm .css .scss .sass .less .svg .csv .tsv
    .log .diff .patch .po .pot .mo .lock .sum .snap .sql .map .min .bib .ics .eml .srt .png .jpg .gif .ico .pdf .woff
    .woff2 .ttf .zip .gz .tgz .xz .zst .bz2 .jar .class .so .o .a .dll .exe .pyc .bin .dat .db .sqlite .parquet .pb
    .proto .graphql .gql .geojson .ndjson .jsonl .har .pem .key .crt .cer .pub .asc .sig .wasm .ejs .hbs .mustache
    .jinja .j2 .liquid .njk .tpl .tmpl .feature .xsd .xsl .wsdl .rng .dtd .env .example .sample .ipynb .plist .resx
    .strings .arb .xlf .properties.example
    """.split()
)
"""Endings of what people or other programs read, which no build runs."""
_PROSE_NAMES = re.compile(
    r"(?i)^(?:readme|changelog|changes|license|licence|copying|notice|authors|contributors|todo|history|codeowners"
    r"|\..*ignore|\.gitattributes|\.editorconfig|\.mailmap|.*lock\.(?:json|ya?ml)|lockfile|go\.sum|\.env(?:\..*)?"
    r"|known_hosts|authorized_keys)(?:\.|$)"
)
_BARE_NAMES = re.compile(
    r"(?i)file$|^\.|^(?:build|workspace|sconstruct|sconscript|wscript|brew|cask)$|(?-i:^[a-z_-]+$)"
)
"""Names without an ending that programs look for, and those of scripts."""
_DATA_PLACES = compile_lazily(
    r"/(?:fixtures?|__fixtures__|testdata|test_data|test-data|__snapshots__|snapshots|cassettes|locales?|i18n"
    r"|node_modules|vendor|third_party|site-packages)/"
)
_REMOTE_PLACES = compile_lazily(
    r"/(?:\.github|\.circleci|\.buildkite|\.woodpecker|\.drone|\.teamcity|k8s|kubernetes|manifests|helm|charts)/"
    r"|/(?:\.travis|\.gitlab-ci|azure-pipelines|bitbucket-pipelines|appveyor|cloudbuild|\.drone|openapi|swagger)\b"
)
"""What other machines read."""
_DATA_ENDINGS = (".json", ".json5", ".yaml", ".yml", ".xml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".edn")
_CODE_NAME = compile_lazily(
    r"(?i)agent|plugin|preload|extension|loader|addon|[\w/]\.(?:jar|so|dll|dylib|node|wasm|phar|[cm]?js|py|rb|pl|lua|sh)\b"
)
_BARE_PROGRAM = compile_lazily(r"(?m)[=:]\s*[\"']?(?:~|\.{1,2})?/(?:[\w.-]+/)*[\w-]+[\"']?,?\s*$")
"""A value that may be a program without an ending: `script-shell=/tmp/wrap`."""
_HASH = r"(?<![^\s({\[,;])#(?![{!])[^\n]*"
_SLASHES = r"(?<![:\w\"'/\\])//[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"
_DASHES = r"--(?!\[\[)[^\n]*|--\[\[[\s\S]*?(?:\]\]|\Z)|\{-[\s\S]*?(?:-\}|\Z)"
_MARKUP = r"<!--[\s\S]*?(?:-->|\Z)"
_LISP = r"(?<!\\);[^\n]*|#\|[\s\S]*?(?:\|#|\Z)"
_PERCENT = r"%[^\n]*"
_PARENS = r"\(\*[\s\S]*?(?:\*\)|\Z)"
_APOSTROPHE = r"(?m:^\s*(?:'|REM\b|rem\b|::)[^\n]*)"
_BLOCKS = r"(?m:^=(?:begin|pod|head\d?)\b)[\s\S]*?(?:(?m:^=(?:end|cut)\b)[^\n]*|\Z)|#=[\s\S]*?(?:=#|\Z)"
_STRING = r"(\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"
_STYLES: dict[str, str] = {
    **dict.fromkeys(
        """c h cc cpp cxx hpp cs csx java kt kts groovy gradle scala sbt swift dart go rs js mjs cjs jsx ts mts cts tsx
        vue svelte v zig php m mm json json5 jsonc d hx sol cr_c""".split(),
        _SLASHES,
    ),
    **dict.fromkeys("php tf hcl".split(), f"{_SLASHES}|{_HASH}"),
    **dict.fromkeys("lua hs elm ada adb ads vhd vhdl sql lhs purs".split(), _DASHES),
    **dict.fromkeys("xml csproj fsproj vbproj targets props proj xaml nuspec".split(), _MARKUP),
    **dict.fromkeys("clj cljs cljc edn el lisp lsp scm rkt fnl ss cl asd janet".split(), _LISP),
    **dict.fromkeys("erl hrl pl_ mat tex".split(), _PERCENT),
    **dict.fromkeys("ml mli fs fsx fsi pas pp dpr sml".split(), f"{_PARENS}|{_SLASHES}"),
    **dict.fromkeys("vb vbs bas bat cmd".split(), _APOSTROPHE),
    **dict.fromkeys("rb rake gemspec pl pm t jl".split(), f"{_BLOCKS}|{_HASH}"),
    **dict.fromkeys("ini cfg conf properties".split(), f"{_HASH}|(?m:^\\s*;[^\\n]*)"),
}
"""Ending → comments of the language; what is not here has `#`, as most have."""
_DOCSTRING = compile_lazily(r"(?m)^[ \t]*[rRuU]?(\"\"\"|''')[\s\S]*?(?:\1|\Z)")
_RECIPE = compile_lazily(r"(?m)(?<!\\\n)^\t.*$")
_RECIPE_FILES = re.compile(r"(?i)^(?:gnu)?makefile(?:\..+)?$|\.mk$")
_JSON_NAMES = frozenset(("package.json", "composer.json", "deno.json"))


def find_ending(path: str) -> str:
    """Return the ending of a file's name in lower case, without the dot."""
    name = path[path.rfind("/") + 1 :]
    return name[name.rfind(".") + 1 :].lower() if "." in name[1:] else ""


def may_be_loaded(path: str) -> bool:
    """Return whether a build, a test, an install or a run could load a file: not prose, not data, not a lock."""
    name = path[path.rfind("/") + 1 :]
    ending = "." + find_ending(path)
    if name in _JSON_NAMES or name.startswith(("CMakeLists", "requirements")):
        return True
    if ending == "." and not _BARE_NAMES.search(name):
        return False
    if ending in _PROSE_AND_DATA or _PROSE_NAMES.match(name) or _REMOTE_PLACES.search(path):
        return False
    return not (ending in _DATA_ENDINGS and _DATA_PLACES.search(path))


def may_name_code(path: str, text: str) -> bool:
    """Return whether a file holds settings that name code, which may be written or downloaded later."""
    ending = f".{find_ending(path)}"
    name = path[path.rfind("/") + 1 :]
    if ending not in (*_DATA_ENDINGS, ".config") and not name.startswith("."):
        return False
    return may_be_loaded(path) and bool(_CODE_NAME.search(text) or _BARE_PROGRAM.search(text))


def mask_comments(path: str, text: str) -> str:
    """Return the text with comments blanked, and recipes of make, which `make` runs by name; lines keep numbers."""
    ending = find_ending(path)
    name = path[path.rfind("/") + 1 :]
    if ending in ("py", "pyi", "pyw"):
        text = _DOCSTRING.sub(_keep_lines, text)
    if _RECIPE_FILES.search(name):
        text = _RECIPE.sub("", text)
    comment = _STYLES.get(ending, _HASH)
    # Strings first, so that a sign in one begins no comment; data in JSON has none.
    return re.sub(f"{_STRING}|{comment}", lambda match: match[0] if match[1] else _keep_lines(match), text)


def _keep_lines(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")
