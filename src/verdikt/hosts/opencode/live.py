"""How OpenCode is run against a scripted model."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from verdikt.hosts.live.client_driver import ClientDriver


def _build_command(binary: Path, home: Path, url: str, prompt: str) -> tuple[list[str], dict[str, str]]:
    model = "anthropic/claude-sonnet-4-5"
    provider = {"anthropic": {"options": {"baseURL": f"{url}/v1", "apiKey": "scripted"}}}
    settings = {"provider": provider, "model": model, "small_model": model, "share": "disabled", "autoupdate": False}
    env = {
        "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    }
    return [str(binary), "run", "--auto", "--format", "json", "-m", model, prompt], env


def prevent_package_install(directory: Path) -> None:
    """Make OpenCode believe that the package it installs into a directory of its settings is there.

    Without network it would otherwise wait for the package before it starts.
    """
    manifest = {"dependencies": {"@opencode-ai/plugin": "*"}}
    lock = {"name": "opencode", "lockfileVersion": 3, "requires": True, "packages": {"": manifest}}
    modules = directory / "node_modules"
    if modules.exists():
        return
    modules.mkdir(parents=True)
    for name, content in (("package.json", manifest), ("package-lock.json", lock)):
        if not (directory / name).exists():
            (directory / name).write_text(json.dumps(content))


@contextmanager
def _prepare_run(project: Path, settings_directory: Path) -> Iterator[None]:
    """Keep OpenCode from installing packages during a run, and remove what that took from the project."""
    directory = project / ".opencode"
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


DRIVER = ClientDriver(
    name="opencode",
    shell_tool="bash",
    build_command=_build_command,
    extra_arguments={"description": "a command"},
    prepare_run=_prepare_run,
)
