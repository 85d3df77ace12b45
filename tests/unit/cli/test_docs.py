"""`verdikt docs`."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from verdikt.cli import root
from verdikt.cli.docs import rewrite_links


def show(*words: str) -> tuple[int, str]:
    """Return the status and the output of the command."""
    result = CliRunner().invoke(root, ["docs", *words])
    return result.exit_code, result.output


def test_without_a_page_the_index_is_shown_in_the_order_of_tasks() -> None:
    """Install comes first, then the first policy, then what to do after a block."""
    status, output = show()

    assert status == 0
    places = [
        output.index(f"[{name}]") for name in ("install", "first-policy", "now-what", "team", "hosts", "evidence")
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("now-what", "# It was blocked. Now what?"),
        ("docs/now-what.md", "# It was blocked. Now what?"),
        ("hosts/claude", "# Claude Code"),
        ("claude", "# Claude Code"),
        ("hosts", "# Hosts"),
        ("exit-status", "# Exit statuses"),
    ],
)
def test_page_is_found_by_its_name_or_the_end_of_it(name: str, title: str) -> None:
    """In a pipe it is the Markdown source, without the marks of generated tables."""
    status, output = show(name)

    assert status == 0
    assert output.startswith(title)
    assert "<!--" not in output


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("now-waht", "no page `now-waht` (did you mean `now-what`?); `verdikt docs` lists them"),
        ("git", "expected one page, found `git`, which fits hosts/git, programs/git"),
        ("../SECURITY", "no page `../SECURITY`"),
        ("/etc/passwd", "no page `/etc/passwd`"),
    ],
)
def test_page_that_does_not_exist_gets_a_suggestion(name: str, message: str) -> None:
    """Only pages of the documentation are shown, and no other file."""
    status, output = show(name)

    assert status == 1
    assert message in output


@pytest.mark.parametrize(
    ("page", "text", "shown"),
    [
        ("README", "[install](install.md)", "`install`"),
        ("README", "[hosts](hosts/README.md)", "`hosts`"),
        ("now-what", "see [the gate](evidence.md#reports).", "see the gate (`verdikt docs evidence`)."),
        ("hosts/claude", "[log](../log.md)", "`log`"),
        ("hosts/claude", "[the other](codex.md)", "the other (`verdikt docs hosts/codex`)"),
        ("log", "[site](https://a.b/c.md)", "[site](https://a.b/c.md)"),
    ],
)
def test_links_to_pages_become_commands(page: str, text: str, shown: str) -> None:
    """What can't be clicked can be typed."""
    assert rewrite_links(text, page) == shown


def show_at_terminal(home: Path, **variables: str) -> bytes:
    """Return what a person sees of a page."""
    controller, terminal = pty.openpty()
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": "90", **variables}
    with os.fdopen(controller, "rb", buffering=0) as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "verdikt", "docs", "now-what"],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env=env,
        )
        os.close(terminal)
        output = b""
        try:
            while data := stream.read(4096):
                output += data
        except OSError:
            pass  # Linux reports the closed terminal as an error
        assert process.wait() == 0
    return output


def test_page_on_a_terminal_is_rendered_in_a_pager(tmp_path: Path) -> None:
    """Headings and tables are drawn, and the pager of the person is used."""
    output = show_at_terminal(tmp_path, PAGER="cat")

    assert b"\x1b[1m" in output
    assert b"| you want |" not in output
    assert b"this one call, in this session" in output


def test_pager_gets_the_option_for_colours_unless_the_person_chose_options(tmp_path: Path) -> None:
    """Without it, `less` under another name shows the escape sequences themselves."""
    assert b"LESS=-FRX" in show_at_terminal(tmp_path, PAGER="env")
    assert b"LESS=-S" in show_at_terminal(tmp_path, PAGER="env", LESS="-S")
