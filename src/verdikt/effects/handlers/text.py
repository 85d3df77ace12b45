"""Programs that read, search, change and show text."""

from collections.abc import Iterator

from verdikt.effects.arguments import Arguments, word_set
from verdikt.effects.code.script import classify_script
from verdikt.effects.editor_files import list_editor_files
from verdikt.effects.invocation import Invocation
from verdikt.effects.plain_settings import PLAIN_SETTINGS, changes_plain_settings, is_plain_setting
from verdikt.effects.target import lies_in_home
from verdikt.effects.word_kinds import SECRET_NAME
from verdikt.knowledge import find_role
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

_SETTINGS_LOADERS = find_role("loads_lua")
"""Editors and interpreters that take settings from the directory in which they start."""


def classify_grep(call: Invocation) -> Iterator[Effect]:
    args = call.args
    given = args.has_flag("-e --regexp -f --file --files --type-list")
    files = call.make_effects("fs.read", args.operands if given else args.operands[1:])
    is_secret = any(target.zone is Zone.SECRET for effect in files for target in effect.targets)
    counts = is_secret and args.has_flag("-c --count -q --quiet --silent -l -L --files-with-matches")
    # What is kept in a file is more than a look at a setting.
    if counts or (is_secret and _is_plain(args, given=given) and not _keeps_output(call)):
        files = call.make_effects("fs.list", args.operands if given else args.operands[1:])
    yield from files
    if args.operands and args.has_flag("-r -R --recursive --hidden") and args.operands[-1].text[:1] in ("/", "~"):
        yield from _classify_password_search(call, args.operands if given else args.operands[1:], args.operands[0].text)
    if call.command.pipe_from is not None and not args.has_flag("-c --count -q --quiet --silent"):
        yield from _secret_lines(call, args.get_values("-e --regexp") or args.operands[:1])


def _keeps_output(call: Invocation) -> bool:
    return any(r.op in (">", ">>", ">|") and r.target.text != "/dev/null" for r in call.command.redirects)


def _is_plain(args: Arguments, *, given: bool) -> bool:
    """Whether only settings are looked for that hold no secret."""
    patterns = args.get_values("-e --regexp") if given else args.operands[:1]
    whole = args.has_flag("-v --invert-match -A -B -C -r -R")
    return bool(patterns) and not whole and all(is_plain_setting(word.text) for word in patterns)


_SECRETS = compile_lazily(
    r"(?i)BEGIN .*PRIVATE|passw(?:or)?d|secret|(?:api|access)[_.-]?key|aws_|AKIA|token|credential"
)


def _classify_password_search(call: Invocation, places: list[Word], pattern: str) -> Iterator[Effect]:
    """Passwords looked for in everything that a person or the machine has."""
    if _SECRETS.search(pattern):
        home = call.facts.home
        found = tuple(t for t in map(call.resolve_path, places) if t.path in _EVERYTHING or lies_in_home(t, home))
        if found:
            yield call.make_effect("cred.read", found, possible=True, note=f"looks for {pattern}")


_SHOW_VARIABLES = word_set("env printenv export set declare history")
_EVERYTHING = word_set("/ /etc /home /root /var /opt /srv /usr /Users /mnt")


def _secret_lines(call: Invocation, patterns: list[Word]) -> Iterator[Effect]:
    """`env | grep TOKEN`: shows a secret, unless what follows keeps only its name."""
    below = call.commands[call.command.pipe_to].name if call.command.pipe_to is not None else ""
    if below in ("cut", "sed", "awk", "wc") or not any(SECRET_NAME.search(word.text) for word in patterns):
        return
    source = next(call.iter_upstream())
    if any(c.name in _SHOW_VARIABLES for c in (source, *call.iter_wrapped(source))):
        yield call.make_effect("env.read.secret", tuple(Target(word.display_text, "other") for word in patterns))


_NAMES_ALONE = word_set("s/=.*// s/=.*$// s/=.*/=/ s/=.*/=***/ s/=.*/=<redacted>/ s/=.*/=REDACTED/ s/=.*/=.../")


def classify_sed(call: Invocation) -> Iterator[Effect]:
    args = call.args
    given = args.has_flag("-e --expression -f --file")
    files = args.operands if given else args.operands[1:]
    if args.has_flag("-i --in-place -I"):
        every = not given and args.operands and args.operands[0].text.replace(" ", "") in ("d", "1,$d", "/.*/d", "/^/d")
        is_plain = changes_plain_settings([*args.get_values("-e --expression"), *([] if given else args.operands[:1])])
        note = PLAIN_SETTINGS if is_plain and not args.has_flag("-f --file") else ""
        yield from call.make_effects("fs.truncate" if every else "fs.write", files, note=note)
    else:
        names = not args.has_flag("-n") and not given and args.operands and args.operands[0].text in _NAMES_ALONE
        yield from call.make_effects("fs.list" if names else "fs.read", files)
    for script in [*args.get_values("-e --expression"), *([] if given else args.operands[:1])]:
        yield from _sed_script(call, script)


def _sed_script(call: Invocation, script: Word) -> Iterator[Effect]:
    """Classify a sed script, which can write files (`w file`) and run commands (`e command`, `s///e`)."""
    text = script.text
    for part in text.replace(";", "\n").split("\n"):
        line = part.strip().lstrip("0123456789,$!")
        if line.startswith(("w ", "W ")):
            yield from call.make_effects("fs.overwrite", [Word(line[2:].strip())])
        elif line.startswith("e ") and len(line) > 2:
            yield from call.classify_shell(line[2:])
    parts = text.split(text[1]) if len(text) > 4 and text[0] == "s" and not text[1].isalnum() else []
    if len(parts) == 4 and "e" in parts[3].split(" ")[0] and "w" not in parts[3]:
        if call.command.stdin:
            yield from call.classify_shell(call.command.stdin)
        if "&" not in parts[2] and "\\" not in parts[2]:
            yield from call.classify_shell(parts[2])
        yield call.make_effect("code.unknown", note="sed runs the text that it makes", possible=True)
    elif len(parts) == 4 and parts[3].startswith(("w ", "gw ")):
        yield from call.make_effects("fs.overwrite", [Word(parts[3].split(" ", 1)[1])])


def classify_awk(call: Invocation) -> Iterator[Effect]:
    args = call.args
    files = args.operands if args.has_flag("-f --file") else args.operands[1:]
    if args.has_flag("-i") and any(value.text == "inplace" for value in args.get_values("-i")):
        yield from call.make_effects("fs.write", files)
    yield from call.make_effects("fs.read", [word for word in files if "=" not in word.text])
    yield from call.make_effects("fs.read", args.get_values("-f --file"))

    program = args.get_value("-e --source") or (None if args.has_flag("-f --file") else next(iter(args.operands), None))
    if program is not None:
        yield from classify_script("awk", program.text, call)


_EDITOR_DELETES = compile_lazily(
    r"""(?:\bdelete\(\s*(?:[\w.]*expand\(\s*)?|\(delete-(?:directory|file)\s)\s*["']([^"']+)["']"""
)


def classify_editor(call: Invocation) -> Iterator[Effect]:
    """Classify an editor: opened by an agent it writes what it opens, and its commands can run a shell."""
    for script in [
        *call.args.get_values("-c --cmd -eval --eval"),
        *(w for w in call.args.operands if w.text.startswith("+")),
    ]:
        text = script.text.lstrip("+:").strip().removeprefix("silent ").removeprefix("silent! ").removeprefix("exec ")
        if text.startswith("!"):
            yield from call.classify_shell(text[1:])
        elif found := _EDITOR_DELETES.search(text):
            yield from call.make_effects("fs.delete.tree", [Word(found.group(1), found.group(1))])
        elif text.startswith(("%d", "1,$d")):
            yield from call.make_effects("fs.truncate", [w for w in call.args.operands if not w.text.startswith("+")])
        elif "!" in text or "system(" in text or "shell-command" in text:
            inner = text[text.index("!") + 1 :] if "!" in text else text.partition('"')[2].partition('"')[0]
            yield from call.classify_shell(inner)
    if loaded := list_editor_files(call):
        yield from call.make_effects("code.run", loaded)
    if call.name in _SETTINGS_LOADERS:
        yield call.make_effect("proc.exec", note="may load settings of the directory")
    opened = [w for w in call.args.operands if not w.text.startswith("+")]
    yield from call.make_effects("fs.read" if call.args.has_flag("-R --readonly") else "fs.write", opened)


def classify_ed(call: Invocation) -> Iterator[Effect]:
    lines = (call.command.stdin or "").splitlines()
    emptied = bool({"1,$d", "%d", ",d"} & set(lines))
    yield from call.make_effects("fs.truncate" if emptied else "fs.write", call.args.operands)
    for line in lines:
        if line.startswith("!"):
            yield from call.classify_shell(line[1:])
