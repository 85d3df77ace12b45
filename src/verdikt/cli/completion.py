"""`verdikt completion`: the script that completes commands in a shell."""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from verdikt.cli import stop_check
from verdikt.cli.suggesting_group import SuggestingGroup

_SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.group(cls=SuggestingGroup)
def command() -> None:
    """Print the script that completes commands, options and names in a shell.

    \b
    bash: echo 'eval "$(verdikt completion bash)"' >> ~/.bashrc
    zsh:  echo 'eval "$(verdikt completion zsh)"' >> ~/.zshrc
    fish: verdikt completion fish > ~/.config/fish/completions/verdikt.fish

    Example: verdikt completion bash
    """  # noqa: D301


def _add_shell(name: str, shell: type[ShellComplete]) -> None:
    help = f"Print the script for {name}.\n\nExample: verdikt completion {name}"

    @command.command(name, help=help)
    @click.pass_context
    def print_script(ctx: click.Context) -> None:
        script = shell(ctx.find_root().command, {}, "verdikt", "_VERDIKT_COMPLETE")
        # The template of the class alone: bash's own method would start a bash to ask for its version.
        click.echo(script.source_template % script.source_vars())


def _add_moved_command(name: str, moved: click.Command) -> None:
    """Keep `verdikt completion show` and `check` for one release: they are `verdikt stop-check` now."""

    @click.pass_context
    def run(ctx: click.Context, /, **values: object) -> None:
        click.echo(f"`verdikt completion {name}` is `verdikt stop-check {name}` now; this name goes away", err=True)
        ctx.invoke(moved, **values)

    command.add_command(click.Command(name, callback=run, params=moved.params, help=moved.help, hidden=True))


for _name, _shell in _SHELLS.items():
    _add_shell(_name, _shell)
for _moved in (stop_check.show, stop_check.check):
    _add_moved_command(str(_moved.name), _moved)
