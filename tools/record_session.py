"""Record a session in a real terminal as the picture of the README: `python -m tools.record_session`.

The command runs in a pseudo-terminal, so that it prints what a person sees, and every character of the picture is text.
The picture needs neither a font from the network nor a script, and follows the light or dark setting of the reader.
"""

import io
import os
import pty
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from rich.console import Console
from rich.style import Style
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "session.svg"
ARGUMENTS = ("demo", "--short")
COLUMNS = 96

_CONSOLE = Console(file=io.StringIO(), color_system="standard", force_terminal=True)
_COLOURS = {1: "red", 2: "green", 3: "yellow", 6: "cyan"}
"""Number of a colour in a terminal → its class in the stylesheet."""

_MARGIN, _TOP, _LINE_HEIGHT, _CHARACTER_WIDTH = 16, 44, 18, 8.05
_STYLESHEET = """
text { font: 13.4px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; fill: #24292f;
  white-space: pre; }
.frame { fill: #f6f8fa; stroke: #d0d7de; } .title, .dim { fill: #57606a; } .bold { font-weight: 600; }
.red { fill: #b42318; } .green { fill: #116329; } .yellow { fill: #8a5a00; } .cyan { fill: #0b6477; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .frame { fill: #0d1117; stroke: #30363d; } .title, .dim { fill: #9198a1; }
  .red { fill: #ff8278; } .green { fill: #56d364; } .yellow { fill: #e3b341; } .cyan { fill: #6cd3e8; }
}
"""


def record_in_terminal(command: list[str], env: Mapping[str, str], directory: Path) -> str:
    """Return what a command prints on a terminal, with the sequences that colour it."""
    master, slave = pty.openpty()
    # A session of its own, as a terminal has; the size comes from the variables, which every program here respects.
    with subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, env=env, cwd=directory, start_new_session=True
    ) as process:
        os.close(slave)
        output = b"".join(iter(lambda: _read_terminal(master), b""))
    os.close(master)
    if process.returncode:
        sys.exit(f"`{' '.join(command)}` ended with status {process.returncode}:\n{output.decode(errors='replace')}")
    return output.decode().replace("\r\n", "\n")


def _read_terminal(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux reports the end of a terminal as an error
        return b""


def record_session() -> list[Text]:
    """Return the lines of the recorded session, the command line first."""
    with tempfile.TemporaryDirectory(prefix="verdikt-record-") as folder:
        env = {
            "HOME": folder,
            "PATH": os.environ.get("PATH", os.defpath),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "COLUMNS": str(COLUMNS),
        }
        output = record_in_terminal([sys.executable, "-m", "verdikt", *ARGUMENTS], env, Path(folder))
    prompt = Text.assemble(("$ ", "green"), (f"verdikt {' '.join(ARGUMENTS)}", "bold"))
    return [prompt, Text(), *map(Text.from_ansi, output.rstrip("\n").split("\n"))]


def render_picture(lines: list[Text]) -> str:
    """Return the lines as an SVG document."""
    width = 2 * _MARGIN + round(max(COLUMNS, *(line.cell_len for line in lines)) * _CHARACTER_WIDTH)
    height = _TOP + len(lines) * _LINE_HEIGHT + _MARGIN
    rows = "".join(
        f'<text x="{_MARGIN}" y="{_TOP + (number + 1) * _LINE_HEIGHT - 5}">{"".join(_render_spans(line))}</text>\n'
        for number, line in enumerate(lines)
        if line.plain
    )
    dots = "".join(f'<circle class="dim" cx="{_MARGIN + 6 + 18 * dot}" cy="20" r="5"/>' for dot in range(3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-label="A recorded session of verdikt">\n<style>{_STYLESHEET}</style>\n'
        f'<rect class="frame" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>\n'
        f"{dots}\n{rows}</svg>\n"
    )


def _render_spans(line: Text) -> Iterator[str]:
    """Yield runs of characters with one style each."""
    for segment in line.render(_CONSOLE):
        classes = " ".join(_list_classes(segment.style))
        text = escape(segment.text)
        if text:
            yield f'<tspan class="{classes}">{text}</tspan>' if classes else text


def _list_classes(style: Style | None) -> Iterator[str]:
    if style is None:
        return
    if style.color and style.color.number in _COLOURS:
        yield _COLOURS[style.color.number]
    if style.bold:
        yield "bold"
    if style.dim:
        yield "dim"


def main() -> None:
    """Record the session and write the picture."""
    PICTURE.write_text(render_picture(record_session()), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
