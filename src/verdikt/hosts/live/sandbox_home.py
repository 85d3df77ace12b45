"""A temporary home for one run of a client, with a copy of its settings, so that nothing it writes stays."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from verdikt.hosts.host import Host
from verdikt.hosts.live.client_driver import ClientDriver
from verdikt.hosts.wiring.installation import Installation

_DROPPED_VARIABLES = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "GEMINI_CLI_HOME")
"""Variables that would lead the client out of the temporary home."""


@contextmanager
def create_sandbox_home(
    installation: Installation, host: Host, driver: ClientDriver
) -> Iterator[tuple[Path, dict[str, str]]]:
    """Provide a home directory and an environment in which the client finds the settings of the person."""
    variable = driver.settings_variable or host.config_variable
    dropped = (*_DROPPED_VARIABLES, variable)
    env = {name: value for name, value in installation.env.items() if name not in dropped}
    # The hook must decide by the same policy and write into the same log.
    env["VERDIKT_HOME"] = installation.data_directory
    with tempfile.TemporaryDirectory(prefix="verdikt-doctor-", ignore_cleanup_errors=True) as directory:
        home = Path(directory)
        settings = home / host.config_directory.removeprefix("~/")
        source = Path(installation.env.get(variable, "") or installation.resolve_host_file(host, host.config_directory))
        # The policy of the person counts too.
        _copy_path(Path(installation.config_directory, "verdikt"), home / ".config/verdikt")
        for name in _list_settings(host):
            _copy_path(source / name, settings / name)
        driver.adjust_settings(settings, source)
        with driver.prepare_run(Path(installation.project), settings):
            yield home, env


def _list_settings(host: Host) -> list[str]:
    """Return the files and directories below the person's settings that the client's behaviour depends on."""
    below = f"{host.config_directory}/"
    names = (file.removeprefix(below).rstrip("/") for file in host.all_guarded_files if file.startswith(below))
    # A file in a directory that is copied as a whole is not copied again.
    unique = list(dict.fromkeys(names))
    return [name for name in unique if not any(name.startswith(f"{other}/") for other in unique)]


def _copy_path(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target)
    elif source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
