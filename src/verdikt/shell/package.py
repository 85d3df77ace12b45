"""Scripts of `package.json`: `npm run x`, `pnpm x`, `yarn test`."""

import json

from verdikt.shell.command import Word
from verdikt.shell.invocation import Invocation
from verdikt.shell.option import options
from verdikt.shell.redirect import contents
from verdikt.shell.scope import Scope

_NODE_VERBS = {
    "npm": frozenset(("run", "run-script", "rum", "urn")),
    "pnpm": frozenset(("run", "run-script")),
    "yarn": frozenset(("run",)),
    "bun": frozenset(("run",)),
}
_LIFECYCLE = frozenset(("test", "start", "stop", "restart", "t", "tst"))
_PUBLISHES = frozenset(("publish", "pack"))
_INSTALLS = frozenset(("install", "i", "ci", "add", "isntall"))
_NODE_VALUED = "--prefix C --dir --cwd --workspace w --filter F --loglevel --registry --silent-level"


def node(call: Invocation) -> str | None:
    """Goes inside a script of `package.json`; None when the command is none."""
    given, at = options(call.words, 1, _NODE_VALUED)
    words = call.words[at:]
    if not words:
        return None
    verb, arguments = words[0].text, words[1:]
    base = next((v for o, v in given if o in ("--prefix", "-C", "--dir", "--cwd") and v is not None), None)
    if verb in _NODE_VERBS[call.name]:
        more, start = options(arguments, 0, _NODE_VALUED)
        base = next((v for o, v in more if o in ("--prefix", "-C", "--dir", "--cwd") and v is not None), base)
        names, arguments = [word.text for word in arguments[start : start + 1]], arguments[start + 1 :]
    elif verb in _LIFECYCLE:
        names = ["test" if verb in ("t", "tst") else verb]
    elif verb in _INSTALLS:
        names = ["install", "prepare"]
    elif verb in _PUBLISHES:
        names = ["prepublishOnly", "prepare", "pack", "publish"]
    else:
        names = [verb] if call.name in ("yarn", "pnpm", "bun") else []
    if names:
        _run_scripts(call, names, arguments, base)
    return None


def _run_scripts(call: Invocation, names: list[str], arguments: list[Word], base: Word | None) -> None:
    scope = call.within(base)
    text = contents(call.walker, Word("package.json"), scope)
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
                call.shell(f"{text} {extra}" if extra and step == name else text, label=label, scope=Scope(scope))
