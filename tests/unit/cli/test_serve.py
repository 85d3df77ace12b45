"""`verdikt serve`."""

import builtins
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.activity_log import open_activity_log
from tests.unit.web.browser import ensure_vendor_files
from verdikt.cli import root


def test_serve_prints_a_link_and_answers(tmp_path: Path) -> None:
    """One command shows the log; Ctrl-C ends it."""
    ensure_vendor_files()
    with open_activity_log(tmp_path) as log:
        log.call("s", "git status")
    command = [sys.executable, "-m", "verdikt", "serve", "--port", "0", "--no-browser", "--home", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        match = re.match(r"(http://127\.0\.0\.1:[0-9]+)/sign-in#[\w-]{40,}$", process.stdout.readline().strip())
        assert match
        with urllib.request.urlopen(f"{match[1]}/", timeout=10) as response:
            assert b'<div id="app">' in response.read()
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{match[1]}/v1/sessions", timeout=10)
    finally:
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read() if process.stdout else ""
        process.wait(20)

    assert process.returncode == 0
    assert rest.strip() == "open this link to sign in; it works once, for ten minutes. Ctrl-C ends the service"
    assert (tmp_path / "serve").stat().st_mode & 0o077 == 0


def test_serve_without_a_log_says_so(tmp_path: Path) -> None:
    """There is nothing to show yet."""
    result = CliRunner().invoke(root, ["serve", "--home", str(tmp_path), "--no-browser"])

    assert result.exit_code == 1
    assert f"no log in `{tmp_path}`" in result.output


def test_serve_without_the_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service is optional."""
    real_import = builtins.__import__

    def refuse_uvicorn(name: str, *arguments: Any, **options: Any) -> Any:
        if name.split(".", maxsplit=1)[0] == "uvicorn":
            raise ImportError(name="uvicorn")
        return real_import(name, *arguments, **options)

    monkeypatch.delitem(sys.modules, "verdikt.serve.embedded", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse_uvicorn)
    result = CliRunner().invoke(root, ["serve", "--home", str(tmp_path), "--no-browser"])

    assert result.exit_code == 1
    assert "the service is not installed (no uvicorn): `pip install 'verdikt-runtime[team]'`" in result.output


def test_serve_opens_the_browser_by_a_private_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link is not among a process's arguments, which every user sees."""
    from verdikt.cli import serve

    opened: list[str] = []
    monkeypatch.setattr(serve.webbrowser, "open", opened.append)
    page = tmp_path / "open.html"
    page.touch(mode=0o644)
    serve._open_browser("http://127.0.0.1:1/sign-in#secret", page)

    assert opened == [page.as_uri()]
    assert page.stat().st_mode & 0o077 == 0
    assert "url=http://127.0.0.1:1/sign-in#secret" in page.read_text()


def test_hooks_import_nothing_of_the_service() -> None:
    """A hook process loads neither the service nor anything that it needs."""
    script = "import sys, verdikt.hosts.hook, verdikt.govern, verdikt.daemon.hook_service; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    loaded = {name.split(".")[0] for name in output.split()}

    assert not loaded & {"starlette", "uvicorn", "sqlalchemy", "alembic", "psycopg", "orjson", "zstandard"}
    assert "verdikt.serve" not in output
    assert "verdikt.team" not in output
