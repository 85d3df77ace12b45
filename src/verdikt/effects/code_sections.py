"""Find the program text in a file that is written: by its name, its first line, and for runners' settings by key."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from verdikt.effects.any_language.masking import may_be_loaded
from verdikt.effects.code import quote_shell_word
from verdikt.effects.git_settings_file import is_git_settings, parse_git_settings
from verdikt.effects.runner_settings import (
    IMAGE,
    SHELL,
    CodeSection,
    count_line,
    read_all_settings,
    read_assignments,
    read_cmake,
    read_command_values,
    read_fragment,
    read_image,
    read_process_records,
    read_recipes,
    read_string_calls,
    read_task_values,
    read_xml,
)
from verdikt.effects.template_fields import fill_fields, fill_place
from verdikt.effects.workflow_sections import WORKFLOW, is_workflow, read_workflow
from verdikt.effects.wrapped_calls import read_wrapped_calls
from verdikt.knowledge import find_language, find_role, find_suffix_program
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.git_inner_commands import is_command_setting

_LANGUAGE_BY_SUFFIX = {
    **dict.fromkeys((".pyw", ".smk"), "python"),
    ".pth": "python",
    ".ipynb": "notebook",
    **dict.fromkeys((".qmd", ".rmd", ".jmd", ".pmd"), "literate"),
    ".mts": "node",
    ".cts": "node",
    ".jsx": "node",
    ".tsx": "node",
    ".vue": "node",
    ".svelte": "node",
    ".pm": "perl",
    ".t": "perl",
    ".go": "go",
    ".rs": "rust",
    ".c": "c",
    ".h": "c",
    ".cc": "c",
    ".cpp": "c",
    ".cxx": "c",
    ".hpp": "c",
    ".java": "java",
    **dict.fromkeys((".cs", ".csx"), "csharp"),
    ".cr": "crystal",
    **dict.fromkeys((".csproj", ".fsproj", ".vbproj", ".targets", ".props", ".proj"), "xml"),
    ".nim": "nim",
    ".kt": "kotlin",
    ".kts": "kotlin",
    ".groovy": "groovy",
    ".gradle": "groovy",
    ".scala": "scala",
    ".sbt": "scala",
    ".swift": "swift",
    ".ex": "elixir",
    ".exs": "elixir",
    ".jl": "julia",
    ".r": "r",
    ".dart": "dart",
    ".escript": "erlang",
    ".v": "v",
    ".gdbinit": "gdb",
    ".lldbinit": "gdb",
    ".tcl": "tcl",
    ".gemspec": "ruby",
    ".rake": "ruby",
    ".bats": SHELL,
    ".envrc": SHELL,
    ".mk": "make",
    **dict.fromkeys((".clj", ".cljs", ".cljc", ".edn"), "lisp"),
    ".just": "make",
    ".cmake": "cmake",
    ".tf": "settings",
    ".hcl": "settings",
    ".code-workspace": "settings",
    **dict.fromkeys((".bzl", ".nix"), "settings"),
}
"""Endings that the table of programs does not have, because no program is started with such a file."""
_SETTINGS_NAMES = """
tox.ini setup.cfg pyproject.toml hatch.toml .pre-commit-config.yaml lefthook.yml lefthook.yaml Taskfile.yml
Taskfile.yaml taskfile.yml Procfile nodemon.json .lintstagedrc meson.build
BUILD BUILD.bazel tasks.json devcontainer.json Cargo.toml turbo.json
Taskfile.dist.yml Taskfile.dist.yaml mise.toml .mise.toml deno.json deno.jsonc moon.yml nx.json project.json
Makefile.toml .goreleaser.yml .goreleaser.yaml skaffold.yaml .overcommit.yml .lintstagedrc.json .huskyrc netlify.toml
Pulumi.yaml serverless.yml .air.toml bacon.toml dvc.yaml Tiltfile .simple-git-hooks.json wireit.json Pipfile cdk.json
angular.json workspace.json mprocs.yaml process-compose.yml .tmuxinator.yml Brewfile.json
"""
"""Settings of runners, in which command lines stand under keys of many names."""
_RUBY_NAMES = """
Rakefile Gemfile Guardfile Vagrantfile Fastfile Podfile Dangerfile Appfile Berksfile Brewfile Capfile Thorfile
Appraisals .irbrc .pryrc .simplecov config.ru
"""
_LANGUAGE_BY_NAME = {
    **dict.fromkeys(_RUBY_NAMES.split(), "ruby"),
    **dict.fromkeys((".latexmkrc", "latexmkrc", ".perldb"), "perl"),
    **dict.fromkeys(("SConstruct", "SConscript", "wscript", "Snakefile"), "python"),
    **dict.fromkeys(("Jakefile", ".pnp.cjs", ".pnpmfile.cjs"), "node"),
    **dict.fromkeys((".envrc", "configure", *find_role("project_wrapper")), SHELL),
    **dict.fromkeys((".Rprofile", "Rprofile.site"), "r"),
    **dict.fromkeys(("pom.xml", "build.xml"), "xml"),
    "composer.json": "php_package",
    **dict.fromkeys(("Makefile.am", "Makefile.in"), "make"),
    **dict.fromkeys(("justfile", "Justfile", ".justfile"), "just"),
    "CMakeLists.txt": "cmake",
    "package.json": "package",
    **dict.fromkeys(_SETTINGS_NAMES.split(), "settings"),
}
_FOUND_IN_PLACE = frozenset(
    """
    Makefile makefile GNUmakefile Rakefile SConstruct wscript Snakefile Jakefile Gruntfile.js gulpfile.js .latexmkrc
    latexmkrc .Rprofile .envrc .irbrc .pryrc .perldb justfile Justfile .justfile Tiltfile
    """.split()
)
_SETTINGS_PATHS = ("/.cargo/config.toml", "/.cargo/config")
_COMPOSE_NAMES = ("compose.", "compose-", "docker-compose.", "docker-compose-")
_IMAGE_NAMES = ("Dockerfile", "Containerfile", "Earthfile")
_HOOK_DIRECTORIES = ("/.husky/", "/.githooks/", "/.git-hooks/", "/.git/hooks/", "/hooks/pre-", "/hooks/post-")
_SETTINGS_MODULE = compile_lazily(r"(?:\.conf(?:ig)?|rc)\.[cm]?[jt]s$")
_SHEBANG = compile_lazily(r"#!\s*\S*/(?:env\s+(?:-S\s+)?)?([A-Za-z]+)")
_SHELL_FUNCTION = compile_lazily(r"(?m)^[a-z_][\w-]*[ \t]*\(\)[ \t]*\{")
"""A function as only shells write it: the recipe of a package, for example, has no other sign of its language."""
_SHELL_NAMES = find_role("shell")
_COMMAND_KEY = compile_lazily(
    r"(?m)^[\s-]*[\"']?(?:cmds?|commands?|scripts?|run|exec|shell|entry)[\"']?\s*(?::(?=\s|$)|=)"
)
_DATA_PLACE = compile_lazily(
    r"/(?:tests?|cases|specs?|docs?|examples?|samples?|data|templates?|inventory|roles|playbooks)/"
)
_REMOTE_SETTINGS = compile_lazily(
    r"(?m)^(?:apiVersion|kind|openapi|swagger|jobs|runs|stages|pipelines?|on|-?\s*hosts)\s*:|\A#cloud-config"
)
"""What a cluster, a service or other machines read."""
_CLIENT_SETTINGS = compile_lazily(r"(?m)^kind:\s*[\"']?Config\b")
"""How a client reaches a cluster: it runs here, and may start a program to log in."""
_C_LIKE = frozenset("node go rust c java kotlin groovy scala swift dart php csharp".split())
# Strings first, so that `//` in an address is no comment; what a comment holds is blanked, line by line.
_C_TOKENS = compile_lazily(
    r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`|(//[^\n]*)|(/\*.*?(?:\*/|\Z))", re.DOTALL
)
_JAVA_PACKAGE = compile_lazily(r"\bjavax?\.(?:[a-z]\w*\.)+(?=[A-Z])")
_PATH_OF = compile_lazily(r"\b(?:[\w.]+\.)?Paths?\.(?:of|get)\(\s*(\"[^\"\n]*\")\s*\)")
_CALL_IN_STRING = compile_lazily(r"\w\s*\(\s*\\?[\"'`]")
# Before a string that is run as a program or as shell text.
_RUNS_STRING = compile_lazily(
    r"(?:eval|Function|exec\w*|spawn\w*|system|popen|Command|sh|bash|run\w*|shell\w*|-[ce])\W*$"
)
_RUBY_COMMENT = compile_lazily(r"(?ms)^=(?:begin|pod|head\d?|item|over)\b.*?(?:^=(?:end|cut)\b|\Z)")
_GO_GENERATE = compile_lazily(r"(?m)^//go:generate\s+(.+)$")
_CHUNK = compile_lazily(r"(?m)^```\{[ \t]*([A-Za-z]\w*)[^}\n]*\}[^\n]*\n([\s\S]*?)^```")
"""A part of a document in Markdown that a program runs."""
_CHUNK_LANGUAGES = {"r": "r", "python": "python", "py": "python", "julia": "julia", "ojs": "node"}
_MIX_COMMAND = compile_lazily(r"\"cmd (?:--cd \S+ )?([^\"\n]+)\"")
"""A command line in an alias of Mix."""
_TASK_LIBRARY = compile_lazily(
    r"\b(?:import|from)\s+(?:airflow|dagster\w*|prefect\w*|luigi|kfp|doit|flytekit|metaflow)\b"
)
_TASK_FILES = ("/Snakefile", ".smk", "/dodo.py")
_LIFECYCLE = frozenset(
    "preinstall install postinstall prepare prepublish prepublishOnly prepack postpack dependencies pretest posttest "
    "prebuild postbuild prestart poststart prelint postlint predev preversion version postversion".split()
)
"""Scripts that a package manager runs of its own accord."""


def detect_file_language(path: str, text: str = "") -> str:
    """Return the language of a file by its name or, without a known ending, by its first line; empty if none is read.

    Besides the languages of `classify_code`: `sh`, `notebook`, `literate`, `make`, `cmake`, `package`, `php_package`,
    `xml`, `image`, `git_settings` and `settings`.
    """
    name = path[path.rfind("/") + 1 :]
    if name in _LANGUAGE_BY_NAME:
        return _LANGUAGE_BY_NAME[name]
    if is_workflow(path):
        return WORKFLOW
    if path.endswith(_SETTINGS_PATHS) or is_composition(path) or _is_task_file(path, name):
        return "settings"
    if name.startswith(_IMAGE_NAMES) or name.endswith(".Dockerfile"):
        return IMAGE
    suffix = name[name.rfind(".") :].lower() if "." in name[1:] else ""
    if suffix:
        language = _LANGUAGE_BY_SUFFIX.get(suffix) or find_language("", suffix)
        if language:
            return "" if language == "sql" else language  # a migration drops tables by design
        if find_suffix_program(suffix) in _SHELL_NAMES:
            return SHELL
    if text.startswith("#!"):
        return _read_shebang(text)
    if is_client_settings(text):
        return "settings"
    if suffix in (".yml", ".yaml", ".toml") and _COMMAND_KEY.search(text) and _is_runner_file(path, text):
        return "settings"
    if is_git_settings(text):
        return "git_settings"
    if _SHELL_FUNCTION.search(text):
        return SHELL
    is_hook = not suffix and any(place in f"/{path}" for place in _HOOK_DIRECTORIES)
    return SHELL if is_hook else ""


def is_found_in_place(path: str) -> bool:
    """Return whether a program looks for this file in its working directory, and runs it there."""
    return path[path.rfind("/") + 1 :] in _FOUND_IN_PLACE


def is_composition(path: str) -> bool:
    """Return whether a file describes containers that run together on this machine."""
    return path[path.rfind("/") + 1 :].startswith(_COMPOSE_NAMES) and path.endswith((".yml", ".yaml"))


def is_client_settings(text: str) -> bool:
    """Return whether a text tells a client on this machine how it reaches a cluster."""
    return _CLIENT_SETTINGS.search(text) is not None


def is_remote_settings(path: str, text: str) -> bool:
    """Return whether a file says what runs elsewhere: in a cluster, at a service, or in containers."""
    name = path[path.rfind("/") + 1 :]
    is_data = name.endswith((".yml", ".yaml", ".json"))
    return name.startswith(_COMPOSE_NAMES) or (is_data and _REMOTE_SETTINGS.search(text) is not None)


def _is_task_file(path: str, name: str) -> bool:
    """Return whether a file may be included by a file of tasks; a role of Ansible keeps other tasks."""
    return name.endswith((".yml", ".yaml")) and "task" in name.lower() and "/roles/" not in path


def _is_runner_file(path: str, text: str) -> bool:
    """Return whether a file of an unknown name may be a part of a runner's settings on this machine."""
    return may_be_loaded(path) and not _DATA_PLACE.search(path) and not _REMOTE_SETTINGS.search(text)


def _read_shebang(text: str) -> str:
    match = _SHEBANG.match(text)
    program = match[1].lower() if match else ""
    return SHELL if program in _SHELL_NAMES else find_language(program)


def find_code_sections(path: str, text: str) -> list[CodeSection]:
    """Return the program text of a file; nothing for prose and data."""
    language = detect_file_language(path, text)
    if not language:
        return []
    if language in ("package", "php_package"):
        return _read_package(path, text, every=language == "php_package")
    if language == "settings":
        return read_all_settings(path, fill_place(fill_fields(text), path[: path.rfind("/")]))
    if (read_sections := _READERS.get(language)) is not None:
        return read_sections(text)
    sections = [CodeSection(language, blank_comments(language, text))]
    if language != "python":
        sections += read_string_calls(language, sections[0].text)
    sections += read_wrapped_calls(sections[0].text)
    if language == "python" and (_TASK_LIBRARY.search(text) or path.endswith(_TASK_FILES)):
        sections += read_task_values(text)
    if language == "node" and "args" in text:
        sections += read_process_records(sections[0].text)
    if language == "node" and _SETTINGS_MODULE.search(path):
        sections += read_command_values(sections[0].text)
    if language == "elixir":
        sections += [CodeSection(SHELL, m[1], count_line(text, m.start())) for m in _MIX_COMMAND.finditer(text)]
    if language == "go":
        # It runs in the directory of the file.
        enter = f"cd {quote_shell_word(path[: path.rfind('/')])} && " if path[:1] == "/" else ""
        sections += [
            CodeSection(SHELL, enter + match[1], count_line(text, match.start()))
            for match in _GO_GENERATE.finditer(text)
        ]
    return sections


def blank_comments(language: str, text: str) -> str:
    """Return the text with comments blanked, and strings that only quote a call; lines keep their numbers."""
    if language in _C_LIKE:
        text = _C_TOKENS.sub(_blank_token, text)
        # `java.nio.file.Files.delete(Path.of("x"))`: the path stands in a call of its own.
        text = _JAVA_PACKAGE.sub("", text) if "java." in text else text
        return _PATH_OF.sub(r"\1", text) if "Path" in text else text
    if language in ("ruby", "perl"):
        return _RUBY_COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
    return text


def _blank_token(match: re.Match[str]) -> str:
    token = match[0]
    if match[1] is not None or match[2] is not None:
        return "\n" * token.count("\n")
    # `expect(check('exec("rm -rf ~")'))` quotes a call, and `exec('node -e "f(\'x\')"')` runs one.
    if _CALL_IN_STRING.search(token, 1) and not _RUNS_STRING.search(
        match.string, max(0, match.start() - 24), match.start()
    ):
        return token[0] + " " * 2 + "\n" * token.count("\n") + token[0]
    return token


def _read_notebook(text: str) -> list[CodeSection]:
    """Return the code cells of a notebook, each at the line where its source begins in the file."""
    try:
        cells = json.loads(text).get("cells", ())
    except (ValueError, AttributeError, RecursionError):
        return []
    sections = []
    for cell in cells if isinstance(cells, list) else ():
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            body = "".join(map(str, source)) if isinstance(source, list) else str(source)
            first = json.dumps(body.split("\n", 1)[0])[1:-1]
            sections.append(CodeSection("python", body, count_line(text, max(0, text.find(first)))))
    return sections


def _read_chunks(text: str) -> list[CodeSection]:
    """Return the chunks of a document that run when it is rendered."""
    sections = []
    for match in _CHUNK.finditer(text):
        language = SHELL if match[1] in _SHELL_NAMES else _CHUNK_LANGUAGES.get(match[1].lower(), "")
        if language:
            sections.append(CodeSection(language, match[2], count_line(text, match.start(2))))
    return sections


def _read_package(path: str, text: str, *, every: bool = False) -> list[CodeSection]:
    """Return the scripts of a package.json that run unnamed; those of a workspace's package run by `pnpm -r`, too."""
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return read_fragment(text)
    scripts = package.get("scripts") if isinstance(package, dict) else None
    is_nested = "/packages/" in path or "/apps/" in path or "/node_modules/" in path
    return [
        CodeSection(
            SHELL, script.removeprefix("@") if every else script, count_line(text, max(0, text.find(f'"{name}"')))
        )
        for name, value in (scripts.items() if isinstance(scripts, dict) else ())
        for script in (value if isinstance(value, list) else [value])
        if isinstance(script, str) and (every or is_nested or name in _LIFECYCLE)
    ]


def _read_git_settings(text: str) -> list[CodeSection]:
    """Return the commands that git runs of its own accord; an alias runs where it is called."""
    return [
        CodeSection(SHELL, value.removeprefix("!"), count_line(text, max(0, text.find(value))))
        for key, value in parse_git_settings(text)
        if is_command_setting(key)
    ]


_READERS: dict[str, Callable[[str], list[CodeSection]]] = {
    "notebook": _read_notebook,
    "git_settings": _read_git_settings,
    "literate": _read_chunks,
    "make": read_recipes,
    "just": read_assignments,
    "cmake": read_cmake,
    "xml": read_xml,
    IMAGE: read_image,
    WORKFLOW: read_workflow,
}
"""Languages in which program text stands among other text."""
FIELD_LANGUAGES = frozenset((*_READERS, "package", "php_package", "settings", SHELL)) - {"notebook", "literate"}
"""Languages in which a value stands where its name does, between signs: `$(X)`, `${x}`, `{{ x }}`."""
