"""Settings of any shape are wired or refused, inspected without an error, and restored byte for byte."""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verdikt.errors import WiringError
from verdikt.hosts.registry import HOSTS
from verdikt.hosts.wiring import json_settings as wiring
from verdikt.hosts.wiring import toml_editor
from verdikt.hosts.wiring.inspection import find_unreadable_settings, find_wired_files
from verdikt.hosts.wiring.installation import Installation
from verdikt.hosts.wiring.plan import apply_plan, apply_unwiring, plan_unwiring, plan_wiring

JSON_HOSTS = ("claude", "codex", "gemini", "copilot", "cursor")

OURS = "/x/verdikt-hook 20 closed python launch.py claude PreToolUse"
NAMES = [
    "hooks", "PreToolUse", "BeforeTool", "preToolUse", "Stop", "matcher", "type", "command", "bash", "timeout",
    "disableAllHooks", "hooksConfig", "enabled", "disabled", "version", "état", "x",
]  # fmt: skip
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
WORDS = st.sampled_from([OURS, "command", "./lint.sh", "verdikt", "\ud800"])
JSON = st.recursive(
    VALUES | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=12,
)
HANDLERS = st.dictionaries(st.sampled_from(["type", "command", "timeout", "x"]), VALUES | WORDS, max_size=3)
GROUPS = st.fixed_dictionaries({"hooks": st.lists(HANDLERS | JSON, max_size=2)}) | HANDLERS | JSON
HOOKS = st.dictionaries(
    st.sampled_from(["PreToolUse", "BeforeTool", "preToolUse", "Stop"]), st.lists(GROUPS, max_size=2)
)
DOCUMENTS = st.dictionaries(st.sampled_from(NAMES), JSON, max_size=3).flatmap(
    lambda rest: HOOKS.map(lambda hooks: rest | {"hooks": hooks}) | st.just(rest)
)

TOML = st.lists(
    st.sampled_from([
        "features = 1", "features.x = true", "[features]", "features = {a = 1}", "unified_exec_tty = true",
        "hooks = false", "[projects]", "projects = 3", "trust_level = 5", 'trust_level = "untrusted"', "[hooks]",
        "hooks = []", "hooks.state = 1", "[hooks.state]", "[[hooks.PreToolUse]]", "[[hooks.PreToolUse.hooks]]",
        f'command = "{OURS}"', "command = 5", "# mine", 'projects."PROJECT" = 5', '[projects."PROJECT"]', "x = '''",
        "[", "é = 1", "\ufeff", "managed_dir = 4", "a.b.c = 1",
    ]),
    max_size=6,
)  # fmt: skip


def read_files(root: Path) -> dict[str, bytes]:
    """Return every file that is not verdikt's own."""
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file() and "data" not in path.parts}


def wire_and_unwire(files: dict[str, bytes], hosts: list[str], scope: str) -> None:
    """Wire what can be wired, inspect it and unwire it; every file must be as it was before."""
    root = Path(tempfile.mkdtemp())
    try:
        (root / "project").mkdir()
        for name, data in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.replace(b"PROJECT", str(root / "project").encode()))
        installation = Installation(
            project=str(root / "project"),
            data_directory=str(root / "data"),
            env={"HOME": str(root / "home"), "PATH": ""},
            system_directory=str(root / "etc"),
        )
        before = read_files(root)
        list(find_wired_files(installation))
        try:
            changes = plan_wiring(installation, hosts, profile="standard", scope=scope, trust=True)
        except WiringError as error:
            assert str(root) in str(error)
        else:
            apply_plan(installation, changes)
            for host in hosts:
                path = installation.get_settings_file(HOSTS[host], scope)
                parse = toml_editor.parse if path.endswith(".toml") else wiring.parse
                named = {event for event, _ in wiring.find_hook_commands(parse(Path(path).read_bytes(), path))}
                assert set(HOSTS[host].wired_events) <= named
            assert plan_wiring(installation, hosts, profile="standard", scope=scope, trust=True) == []
        list(find_wired_files(installation))
        find_unreadable_settings(installation)
        apply_unwiring(installation, plan_unwiring(installation, everything=True))
        assert read_files(root) == before
    finally:
        shutil.rmtree(root)


@pytest.mark.parametrize("host", JSON_HOSTS)
@given(document=DOCUMENTS, indent=st.sampled_from([None, 1]))
@settings(max_examples=20, deadline=None)
def test_any_settings_are_wired_or_refused(host: str, document: dict[str, Any], indent: int | None) -> None:
    """Any JSON in the file that names a client's hooks is restored byte for byte."""
    name = f"project/{HOSTS[host].settings_files['project']}"
    wire_and_unwire({name: json.dumps(document, indent=indent).encode()}, [host], "project")


@pytest.mark.parametrize("scope", ["project", "user", "managed"])
@given(lines=TOML, more=TOML, end=st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=30, deadline=None)
def test_any_toml_is_wired_or_refused(scope: str, lines: list[str], more: list[str], end: str) -> None:
    """Any TOML in the three files of Codex is restored byte for byte."""
    own, other = (end.join(each).encode() for each in (lines, more))
    files = {"home/.codex/config.toml": own, "project/.codex/config.toml": other, "etc/codex/requirements.toml": own}
    wire_and_unwire(files, ["codex"], scope)
