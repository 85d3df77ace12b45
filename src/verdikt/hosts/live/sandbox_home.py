"""A home for one run of a client: what its settings say here, copied, so that nothing it writes stays."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from verdikt.hosts.live.client_driver import prevent_package_install
from verdikt.hosts.wiring.installation import Installation

_CLIENT_HOMES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", ("settings.json", "settings.local.json")),
    "codex": ("CODEX_HOME", ".codex", ("config.toml", "hooks.json")),
    "gemini": ("", ".gemini", ("settings.json", "trustedFolders.json")),
    "copilot": ("COPILOT_HOME", ".copilot", ("hooks", "config.json", "settings.json")),
    "opencode": ("", ".config/opencode", ("plugin", "plugins", "opencode.json", "opencode.jsonc", "config.json")),
}
"""Host → the variable that moves its settings, where they lie in a home, and what of them matters."""

_DROPPED_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "GEMINI_CLI_HOME")


@contextmanager
def create_sandbox_home(installation: Installation, host: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """A home and an environment in which the client finds the settings of this one; both are gone afterwards."""
    variable, place, kept = _CLIENT_HOMES[host]
    env = {name: value for name, value in installation.env.items() if name not in (*_DROPPED_VARIABLES, variable)}
    # The hook decides by the same policy and writes into the same log.
    env["VERDIKT_HOME"] = installation.data_directory
    with tempfile.TemporaryDirectory(prefix="verdikt-doctor-", ignore_cleanup_errors=True) as directory:
        home = Path(directory)
        own = Path(installation.env.get("HOME", "/"))
        config = Path(installation.env.get("XDG_CONFIG_HOME") or own / ".config")
        _copy_path(config / "verdikt", home / ".config/verdikt")
        source = (
            config / "opencode"
            if host == "opencode"
            else _find_settings_directory(installation.env, variable, own / place)
        )
        for name in kept:
            _copy_path(source / name, home / place / name)
        _adjust_settings(host, home / place, source)
        with _prevent_network_install(installation, host, home / place):
            yield home, env


def _find_settings_directory(env: Mapping[str, str], variable: str, default: Path) -> Path:
    return Path(env.get(variable) or default) if variable else default


def _copy_path(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
    elif source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _adjust_settings(host: str, settings_directory: Path, source: Path) -> None:
    """What must differ in the copy: who is logged in, and the paths that approvals name."""
    if host == "gemini":
        file = settings_directory / "settings.json"
        settings = json.loads(file.read_text()) if file.exists() else {}
        settings["security"] = {**settings.get("security", {}), "auth": {"selectedType": "gemini-api-key"}}
        settings_directory.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    if host == "codex":
        file = settings_directory / "config.toml"
        settings_directory.mkdir(parents=True, exist_ok=True)
        text = file.read_text() if file.exists() else ""
        file.write_text(text.replace(f"{source}/hooks.json:", f"{settings_directory}/hooks.json:"))


@contextmanager
def _prevent_network_install(installation: Installation, host: str, settings_directory: Path) -> Iterator[None]:
    """Nothing is installed from the network meanwhile, and what stands in for that is taken away again."""
    directory = Path(installation.project) / ".opencode"
    if host != "opencode":
        yield
        return
    existed = directory.exists()
    before = set(directory.iterdir()) if existed else set()
    prevent_package_install(settings_directory)
    prevent_package_install(directory)
    try:
        yield
    finally:
        for path in set(directory.iterdir()) - before:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not existed:
            directory.rmdir()
