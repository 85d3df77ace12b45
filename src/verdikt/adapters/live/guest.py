"""A home for one run of a client: what its settings say here, copied, so that nothing it writes stays."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from verdikt.adapters.live.client import spare_installation
from verdikt.adapters.wiring.install import Installation

_HOMES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude", ("settings.json", "settings.local.json")),
    "codex": ("CODEX_HOME", ".codex", ("config.toml", "hooks.json")),
    "gemini": ("", ".gemini", ("settings.json", "trustedFolders.json")),
    "copilot": ("COPILOT_HOME", ".copilot", ("hooks", "config.json", "settings.json")),
    "opencode": ("", ".config/opencode", ("plugin", "plugins", "opencode.json", "opencode.jsonc", "config.json")),
}
"""Host → the variable that moves its settings, where they lie in a home, and what of them matters."""

_ELSEWHERE = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "GEMINI_CLI_HOME")


@contextmanager
def guest(here: Installation, host: str) -> Iterator[tuple[Path, dict[str, str]]]:
    """A home and an environment in which the client finds the settings of this one; both are gone afterwards."""
    variable, place, kept = _HOMES[host]
    env = {name: value for name, value in here.env.items() if name not in (*_ELSEWHERE, variable)}
    # The hook decides by the same policy and writes into the same log.
    env["VERDIKT_HOME"] = here.data
    with tempfile.TemporaryDirectory(prefix="verdikt-doctor-", ignore_cleanup_errors=True) as directory:
        home = Path(directory)
        own = Path(here.env.get("HOME", "/"))
        config = Path(here.env.get("XDG_CONFIG_HOME") or own / ".config")
        _copy(config / "verdikt", home / ".config/verdikt")
        source = config / "opencode" if host == "opencode" else _source(here.env, variable, own / place)
        for name in kept:
            _copy(source / name, home / place / name)
        _adjust(host, home / place, source)
        with _spared(here, host, home / place):
            yield home, env


def _source(env: Mapping[str, str], variable: str, default: Path) -> Path:
    return Path(env.get(variable) or default) if variable else default


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
    elif source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _adjust(host: str, place: Path, source: Path) -> None:
    """What must differ in the copy: who is logged in, and the paths that approvals name."""
    if host == "gemini":
        file = place / "settings.json"
        settings = json.loads(file.read_text()) if file.exists() else {}
        settings["security"] = {**settings.get("security", {}), "auth": {"selectedType": "gemini-api-key"}}
        place.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(settings))
    if host == "codex":
        file = place / "config.toml"
        place.mkdir(parents=True, exist_ok=True)
        text = file.read_text() if file.exists() else ""
        file.write_text(text.replace(f"{source}/hooks.json:", f"{place}/hooks.json:"))


@contextmanager
def _spared(here: Installation, host: str, place: Path) -> Iterator[None]:
    """Nothing is installed from the network meanwhile, and what stands in for that is taken away again."""
    directory = Path(here.project) / ".opencode"
    if host != "opencode":
        yield
        return
    existed = directory.exists()
    before = set(directory.iterdir()) if existed else set()
    spare_installation(place)
    spare_installation(directory)
    try:
        yield
    finally:
        for path in set(directory.iterdir()) - before:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not existed:
            directory.rmdir()
