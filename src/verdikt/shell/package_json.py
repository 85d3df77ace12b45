"""Scripts of `package.json`, as `npm run x`, `pnpm x` and `yarn test` run them."""

import json

from verdikt.knowledge import find_role
from verdikt.shell.command import Word
from verdikt.shell.command_call import CommandCall
from verdikt.shell.option_parser import parse_options
from verdikt.shell.redirection import read_contents
from verdikt.shell.scope import Scope

# npm accepts these misspellings of `run`, and of `install` below.
_RUN_SUBCOMMANDS = frozenset(("run", "run-script", "rum", "urn"))
_SCRIPT_RUNNERS = find_role("script_runner")
_LIFECYCLE_SUBCOMMANDS = frozenset(("test", "start", "stop", "restart", "t", "tst"))
_PUBLISH_SUBCOMMANDS = frozenset(("publish", "pack"))
_INSTALL_SUBCOMMANDS = frozenset(("install", "i", "ci", "add", "isntall"))


def trace_package_script(call: CommandCall) -> str | None:
    """Walk the scripts of `package.json` that a command runs."""
    options, at = parse_options(call.words, 1, call.valued_options)
    words = call.words[at:]
    if not words:
        return None
    verb, arguments = words[0].text, words[1:]
    directory = next((v for o, v in options if o in ("--prefix", "-C", "--dir", "--cwd") and v is not None), None)
    if verb in _RUN_SUBCOMMANDS:
        more, start = parse_options(arguments, 0, call.valued_options)
        directory = next((v for o, v in more if o in ("--prefix", "-C", "--dir", "--cwd") and v is not None), directory)
        names, arguments = [word.text for word in arguments[start : start + 1]], arguments[start + 1 :]
    elif verb in _LIFECYCLE_SUBCOMMANDS:
        names = ["test" if verb in ("t", "tst") else verb]
    elif verb in _INSTALL_SUBCOMMANDS:
        # The project's own install scripts run too, not only those of its dependencies.
        names = ["install", "prepare"]
    elif verb in _PUBLISH_SUBCOMMANDS:
        names = ["prepublishOnly", "prepare", "pack", "publish"]
    else:
        names = [verb] if call.name in _SCRIPT_RUNNERS else []
    if names:
        _trace_scripts(call, names, arguments, directory)
    return None


def _trace_scripts(call: CommandCall, names: list[str], arguments: list[Word], directory: Word | None) -> None:
    scope = call.create_directory_scope(directory)
    text = read_contents(call.walker, Word("package.json"), scope)
    if text is None:
        return
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return
    scripts = package.get("scripts") if isinstance(package, dict) else None
    if not isinstance(scripts, dict):
        return
    extra = " ".join(word.text for word in arguments if word.text != "--")
    for name in names:
        for step in (f"pre{name}", name, f"post{name}"):
            text = scripts.get(step)
            label = f"{call.name} run {step}"
            if isinstance(text, str) and label not in call.frame.via:
                call.walk_shell_text(
                    f"{text} {extra}" if extra and step == name else text, label=label, scope=Scope(scope)
                )
