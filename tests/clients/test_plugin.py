"""The Claude Code plugin in this repository, with the real client."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tools.build_plugin import HOOKS_FILE, render_hooks

from tests.clients.bench import Bench
from tests.clients.install import install_client
from tests.clients.test_governed import ALLOWED, FORBIDDEN, POLICY
from tests.clients.test_scopes import get_path_without_verdikt
from tests.wheelhouse import ROOT
from verdikt import __version__
from verdikt.hosts.live.model_api import ModelTurn
from verdikt.hosts.wiring.portable_registration import MISSING_TEXT
from verdikt.hosts.wiring.registration import LAUNCHER

VERSION = "claude-2.1.325"


def copy_plugin(directory: Path) -> Path:
    """Return a copy of the plugin alone, as an installation of it has no other file of this repository."""
    shutil.copytree(ROOT / ".claude-plugin", directory / ".claude-plugin")
    return directory


def test_plugin_has_the_hooks_and_the_version_of_this_release() -> None:
    """`python -m tools.build_plugin` writes them."""
    assert HOOKS_FILE.read_text() == render_hooks()
    assert json.loads((ROOT / ".claude-plugin/plugin.json").read_text())["version"] == __version__


def test_plugin_and_marketplace_are_valid_for_the_client(tmp_path: Path) -> None:
    """The client's own validator has no objection."""
    for name in ("plugin.json", "marketplace.json"):
        completed = subprocess.run(
            [
                install_client(VERSION),
                "plugin",
                "validate",
                str(copy_plugin(tmp_path / name) / ".claude-plugin" / name),
            ],
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert completed.returncode == 0, completed.stdout + completed.stderr


def test_plugin_governs_a_session_and_says_when_verdikt_is_missing(create_bench: Callable[[str], Bench]) -> None:
    """Nothing but the plugin is wired: no settings of the project, the user or the machine."""
    bench = create_bench(VERSION)
    (bench.project / "governance.yaml").write_text(POLICY)
    directory = bench.root / "installed"
    directory.mkdir()
    options = ("--plugin-dir", str(copy_plugin(bench.root / "plugin")))

    def play() -> tuple[bool, bool, bool, bool]:
        session = bench.play(
            ModelTurn("no", (bench.shell(FORBIDDEN),)),
            ModelTurn("yes", (bench.shell(ALLOWED),)),
            ModelTurn("END"),
            ModelTurn("END"),
            env={"PATH": f"{directory}{os.pathsep}{get_path_without_verdikt()}"},
            options=options,
        )
        texts = (session.has_received("this file is forbidden"), session.has_received(MISSING_TEXT))
        return (bench.has_file("forbidden"), bench.has_file("allowed"), *texts)

    assert play() == (False, False, False, True)
    (directory / LAUNCHER).symlink_to(Path(sys.executable).with_name(LAUNCHER))
    assert play() == (False, True, True, False)
