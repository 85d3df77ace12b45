"""`verdikt docs`: the documentation in the terminal."""

import io
import os
import re
import shutil
import sys
from pathlib import Path

import click

from verdikt.errors import VerdiktError
from verdikt.model.yaml_node import suggest_name

INDEX = "README"
"""The page that lists the others, in the order in which to read them."""

_MAX_WIDTH = 100
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?!https?:)(?P<target>[^)#\s]+)\.md(?:#[^)]*)?\)")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def _complete_page(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in find_pages() if name.startswith(incomplete)]


@click.command()
@click.argument("page", required=False, default="", shell_complete=_complete_page)
def command(page: str) -> None:
    """Show a page of the documentation; without a name, the list of pages.

    \b
    Example: verdikt docs
             verdikt docs now-what
             verdikt docs hosts/claude
    """  # noqa: D301
    name = find_page(page or INDEX)
    text = _COMMENT.sub("", find_pages()[name].read_text(encoding="utf-8"))
    if sys.stdout.isatty():
        # Debian calls `less` by the name `pager`, which click does not know to need an option for colours. A page that
        # fits on the screen is just printed.
        os.environ.setdefault("LESS", "-FRX")
        click.echo_via_pager(_render_markdown(rewrite_links(text, name)), color=True)
    else:
        # In a pipe the source itself: it is meant to be read as it is, and other programs can use it.
        click.echo(text, nl=False)


def find_pages() -> dict[str, Path]:
    """Return the pages by name, such as `now-what` and `hosts/claude`."""
    directory = _find_directory()
    return {str(path.relative_to(directory).with_suffix("")): path for path in sorted(directory.rglob("*.md"))}


def _find_directory() -> Path:
    """Return where the pages are: in the package, or in the checkout that it runs from."""
    package = Path(__file__).parent.parent
    for directory in (package / "manual", package.parent.parent / "docs"):
        if (directory / f"{INDEX}.md").is_file():
            return directory
    raise VerdiktError(f"no documentation in `{package}`: it was installed without; see the project's page")


def find_page(name: str) -> str:
    """Return the full name of a page. Its last part is enough where that is unique: `claude` for `hosts/claude`."""
    pages = find_pages()
    # People copy what they see in texts and links.
    name = name.removesuffix(".md").removeprefix("docs/")
    matches = [name] if name in pages else [page for page in pages if page.endswith(f"/{name}")]
    if os.path.basename(name) != INDEX and f"{name}/{INDEX}" in pages:
        matches = [f"{name}/{INDEX}"]
    if len(matches) > 1:
        raise VerdiktError(f"expected one page, found `{name}`, which fits {', '.join(matches)}")
    if not matches:
        hint = suggest_name(name, [*pages, *(os.path.basename(page) for page in pages)], list_names=False)
        raise VerdiktError(f"no page `{name}`{hint}; `verdikt docs` lists them")
    return matches[0]


def rewrite_links(text: str, page: str) -> str:
    """Return a page whose links to other pages are commands: in a terminal nothing can be clicked."""

    def rewrite(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(page), match["target"])).removesuffix(f"/{INDEX}")
        # A list of pages names them by their names already.
        return f"`{target}`" if match["text"] == target else f"{match['text']} (`verdikt docs {target}`)"

    return _LINK.sub(rewrite, text)


def _render_markdown(text: str) -> str:
    # Heavy, and of use only for a person at a terminal.
    from rich.console import Console
    from rich.markdown import Markdown

    width = min(_MAX_WIDTH, shutil.get_terminal_size().columns)
    output = io.StringIO()
    Console(file=output, force_terminal=True, width=width).print(Markdown(text, hyperlinks=False))
    return output.getvalue()
