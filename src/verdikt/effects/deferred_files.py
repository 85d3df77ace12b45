"""Files whose text is carried out later or elsewhere: workflows, editor tasks, package manifests, settings of agents.

They are read when they are written, whether by a host's tool or by a redirection of the shell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import loads as parse_json
from shlex import join as join_words
from typing import TYPE_CHECKING

from verdikt.effects.editor_tasks import classify_opened_tasks
from verdikt.effects.embedded_commands import classify_embedded_commands, is_command_text
from verdikt.effects.host import is_local_host, parse_host
from verdikt.effects.package_sources import classify_package_source
from verdikt.effects.secret_sends import is_issuer_host
from verdikt.knowledge import join_role
from verdikt.model.effect import Target
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_LIFECYCLE_SCRIPT = compile_lazily(
    r'"(preinstall|install|postinstall|prepare|prepublish|prepublishOnly|prepack|postpack)"\s*:\s*"((?:[^"\\]|\\.)*)"'
)
_SENDERS = join_role("downloader", "raw_connection")
_PRINTERS = join_role("variable_printer")
_WORKFLOW_SENDER = compile_lazily(rf"(?<![\w.-])(?:{_SENDERS})\s")
_ADDRESS = compile_lazily(r"\w+://[^\s\"']+")
_SECRET_EXPRESSION = compile_lazily(r"(?i)\$\{\{[^}]*\bsecrets(?:\.(\w+))?[^}]*\}\}")
_WORKFLOW_SECRETS = compile_lazily(r"(?i)\b(\w+)\s*:\s*[\"']?\$\{\{\s*toJSON\(\s*secrets\s*\)")
"""A variable that holds all secrets of a workflow."""
_EVERY_SECRET = compile_lazily(r"(?i)\$\{\{\s*toJSON\(\s*secrets\s*\)")
_WORKFLOW_COMMAND = compile_lazily(
    r"(?m)(?:^\s*(?:-\s+)?|[{,]\s*)(?:run|script|command|bash)\s*:\s*[|>]?-?\s*(?:'([^'\n]*)'|\"((?:[^\"\\\n]|\\.)*)\"|(.*)$)"
    r"|\b(?:sh|bat|powershell)\s*\(?\s*(?:\"\"\"([\s\S]*?)\"\"\"|'''([\s\S]*?)'''|'([^'\n]*)'|\"((?:[^\"\\\n]|\\.)*)\")"
)
"""A step of a workflow: `- run: …`, `{run: '…'}`, `sh '…'` of a Jenkinsfile."""
_REQUEST_CODE = compile_lazily(r"ref:\s*[\"']?\$\{\{\s*github\.(?:event\.pull_request\.head|head_ref)")
_WORKFLOW_NAMES = (".gitlab-ci.yml", "Jenkinsfile", "azure-pipelines.yml", ".travis.yml")
_RUN_ON_OPEN = compile_lazily(r'"runOn"\s*:\s*"folderOpen"')
_SETTINGS_FILE = compile_lazily(r"/\.[^/]+(?:/|$)|\.code-workspace$|/User/settings\.json$")
"""Settings of editors and agents: a dotted file, or one in a dotted directory."""
_UNATTENDED_SETTING = compile_lazily(
    r"(?i)(?:auto[-_]?(?:approv|accept)|always[-_]?(?:allow|approve)|yes[-_]?always|yolo|dangerously"
    r"|(?:skip|bypass)[-_]?permission)[\w.-]*[\"']?\s*[:=]\s*"
    r"[\"']?(?:true|on|yes|always|all|\*|1)\b|(?:auto[-_]?approv|always[-_]?allow)[\w.-]*[\"']?\s*[:=]\s*"
    r"(?:\[\s*[\"']|\{[^}]*:\s*true)"
    r"|(?:approval|permission|default)[-_]?(?:policy|mode)[\"']?\s*[:=]\s*[\"']?(?:never|yolo|bypass)"
    r"|sandbox[-_]?mode[\"']?\s*[:=]\s*[\"']?danger"
)
_SERVER_TABLE = compile_lazily(r'"(?:mcpServers|servers)"\s*:\s*\{')
_ENVRC_PREFIXES = ("code.remote", "code.hidden", "net.shell", "cred.send", "persist.", "guard.")
_LIFECYCLE_PREFIXES = ("code.remote", "code.hidden", "net.s", "cred.", "persist.", "guard.")
# Bounds on what one file may make us look at; agents write files of a few kilobytes.
_MAX_CONTENT = 64_000
_MAX_SERVERS = 64


def classify_file_content(call: Invocation, path: str, content: str) -> Iterator[Effect]:
    """Yield the effects of files that are run later or elsewhere: workflows, editor tasks, package manifests."""
    name = path.rsplit("/", 1)[-1]
    target = (Target(path, "path", call.resolver.to_absolute(path)),)
    in_root = f"/{path}"
    if "/.github/workflows/" in in_root or name in _WORKFLOW_NAMES or "/.circleci/" in in_root:
        yield call.make_effect("code.ci", target)
        yield from _find_workflow_leaks(call, content)
    elif name == "tasks.json" and "/.vscode/" in in_root and _RUN_ON_OPEN.search(content):
        for effect in classify_opened_tasks(call, content):
            yield effect._replace(targets=target) if effect.what == "persist.write" else effect
    elif _SETTINGS_FILE.search(in_root) and _UNATTENDED_SETTING.search(content):
        yield call.make_effect("guard.config", target, note="lets an agent act without asking")
    elif "!" in content and is_command_text(call, path):
        yield from classify_embedded_commands(call, content)
    elif name == ".envrc" and content:
        # direnv runs the file at every `cd` into the directory.
        for effect in call.classify_shell(content[:_MAX_CONTENT]):
            if effect.what.startswith(_ENVRC_PREFIXES):
                yield effect
        if len(content) > _MAX_CONTENT:
            yield make_overflow_effect(call, "text")
    elif name == "package.json" and content:
        yield from _classify_lifecycle_scripts(call, content)
    if _SERVER_TABLE.search(content):
        yield from _classify_server_commands(call, content)
    yield from classify_package_source(call, path, content)


def _classify_server_commands(call: Invocation, content: str) -> Iterator[Effect]:
    """Yield the effects of the commands by which an agent will start its MCP servers."""
    try:
        settings = parse_json(content[:_MAX_CONTENT])
    except ValueError:
        return
    tables = [settings.get(key) for key in ("mcpServers", "servers")] if isinstance(settings, dict) else []
    servers = [server for table in tables if isinstance(table, dict) for server in table.values()]
    for server in servers[:_MAX_SERVERS]:
        words = [server.get("command"), *(server.get("args") or [])] if isinstance(server, dict) else []
        for effect in call.classify_shell(join_words([word for word in words if isinstance(word, str)])):
            if effect.what.startswith(("fs.delete", *_LIFECYCLE_PREFIXES)):
                yield effect


def _classify_lifecycle_scripts(call: Invocation, content: str) -> Iterator[Effect]:
    """Yield the effects of scripts that npm runs when the package is installed."""
    for match in _LIFECYCLE_SCRIPT.finditer(content):
        try:
            command = parse_json(f'"{match.group(2)}"')
        except ValueError:
            continue
        yield call.make_effect("code.lifecycle", (Target(f"{match.group(1)}: {command}"[:120], "other"),))
        for effect in call.classify_shell(command):
            if effect.what.startswith(_LIFECYCLE_PREFIXES):
                yield effect


def _find_workflow_leaks(call: Invocation, content: str) -> Iterator[Effect]:
    """Yield only what would take secrets out of a workflow: everything else happens on a throwaway machine."""
    for match in _WORKFLOW_COMMAND.finditer(content[:_MAX_CONTENT]):
        if command := next(filter(None, match.groups()), ""):
            for effect in call.classify_shell(command):
                if effect.what.startswith(("cred.send", "net.shell")):
                    yield effect
    if len(content) > _MAX_CONTENT:
        yield make_overflow_effect(call, "text")
    names = [re.escape(name) for name in _WORKFLOW_SECRETS.findall(content[:_MAX_CONTENT])]
    variable = re.compile(rf"(?:\$\{{?|\b(?:{_PRINTERS})\s+)(?:{'|'.join(names)})\b") if names else None
    lines = content[:_MAX_CONTENT].replace("\\\n", " ").split("\n")
    senders = [line for line in lines if _WORKFLOW_SENDER.search(line)]
    if any(_sends_every_secret(line) for line in senders):
        yield call.make_effect("cred.send", note="a workflow that sends all of its secrets out")
    elif any(_sends_secrets(line, variable) for line in senders) or _gives_secrets_to_strangers(content):
        yield call.make_effect("cred.send", possible=True, note="a workflow that sends its secrets out")


def _sends_every_secret(line: str) -> bool:
    """Return whether a line that sends something has all secrets of a workflow and another machine's address."""
    return _EVERY_SECRET.search(line) is not None and any(
        not is_local_host(parse_host(address)) for address in _ADDRESS.findall(line)
    )


def _sends_secrets(line: str, variable: re.Pattern[str] | None) -> bool:
    """Return whether a line of a workflow that sends something sends all secrets, or one to a host not its issuer's."""
    if variable is not None and variable.search(line):
        return True
    names = _SECRET_EXPRESSION.findall(line)
    hosts = [name for name in map(parse_host, _ADDRESS.findall(line)) if not is_local_host(name)] if names else []
    # Without a host in the line the secret is the address itself: a webhook.
    return any(not name or not is_issuer_host(name, host) for name in names for host in hosts) or "" in names


def make_overflow_effect(call: Invocation, what: str) -> Effect:
    """Return the effect of what is beyond a bound: it could be anything, and must not pass as nothing."""
    return call.make_effect("unknown.parse", possible=True, note=f"more {what} than can be looked at")


def _gives_secrets_to_strangers(content: str) -> bool:
    """Return whether a workflow runs the code of a pull request with the rights and secrets of the repository."""
    runs_request = "pull_request_target" in content and _REQUEST_CODE.search(content) is not None
    return runs_request and "secrets" in content
