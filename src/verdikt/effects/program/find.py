"""`find` and `fd`: where they look, what they delete, where they write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from verdikt.effects.arguments import word_set
from verdikt.effects.target import is_secret
from verdikt.model.effect import Target, Zone
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect
    from verdikt.shell.command import Command

_TESTS = word_set(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -mtime -mmin -atime -amin -ctime -cmin -newer "
    "-anewer -cnewer -size -user -group -perm -inum -links -uid -gid -fstype -used -samefile -lname"
)
_FILES = frozenset(["-fprint", "-fprint0", "-fls", "-fprintf"])


def roots(command: Command) -> list[Word]:
    """Return the directories in which a `find` looks."""
    found = []
    for word in command.argv[1:]:
        text = word.text
        if text in ("-H", "-L", "-P") or text.startswith(("-O", "-D")):
            continue
        if text.startswith(("-", "(", "!", ",")):
            break
        found.append(word)
    return found or [Word(".")]


def list_matches(command: Command) -> list[Word]:
    """Return what a `find` matches, as words: the directories themselves, or narrowed by the name asked for."""
    texts = [word.text for word in command.argv]
    names = [
        texts[i + 1]
        for i, text in enumerate(texts[:-1])
        if text in ("-name", "-iname") and texts[i - 1] not in ("!", "-not")
    ]
    found = []
    for root in roots(command):
        base = root.text.rstrip("/") or "/"
        for name in names or [""]:
            found.append(Word(f"{base}/**/{name}", root.raw, True) if name else root)
    return found


def has_filter(command: Command) -> bool:
    """Whether a `find` has a test that leaves something out, so that what it hits is not all that is there."""
    texts = [word.text for word in command.argv]
    tests = [texts[i + 1 : i + 2] for i, text in enumerate(texts) if text in _TESTS]
    return any(test != ["*"] for test in tests) or "-empty" in texts


def _classify_key_search(call: Invocation, texts: list[str]) -> Iterator[Effect]:
    """Yield the effects of a search for keys by name outside the project, which is never an accident."""
    if not any(text in ("-name", "-iname", "-path", "-ipath", "-wholename") for text in texts):
        return
    for index, text in enumerate(texts[:-1]):
        if text in ("-name", "-iname", "-path", "-ipath", "-wholename") and texts[index - 1] not in ("!", "-not"):
            name = texts[index + 1].strip("*").rsplit("/", 1)[-1].rstrip("*")
            if not is_secret(f"/x/{name if name[:1] != '.' or name in _DOTTED else 'x' + name}"):
                continue
            places = tuple(t for t in map(call.resolve_path, roots(call.command)) if t.zone in _FOREIGN)
            if places:
                yield call.make_effect("cred.read", places, possible=True, note=f"looks for {texts[index + 1]}")
                return


_DOTTED = frozenset(".env .netrc .pgpass .git-credentials .pypirc .htpasswd .vault_pass .s3cfg".split())
_FOREIGN = (Zone.HOME, Zone.SYSTEM, Zone.SECRET, Zone.OUTSIDE)


def classify_find(call: Invocation) -> Iterator[Effect]:
    command = call.command
    texts = [word.text for word in command.argv]
    yield from call.make_effects("fs.list", roots(command))
    yield from _classify_key_search(call, texts)
    if "-delete" in texts:
        if "-empty" in texts:
            yield from call.make_effects("fs.write", list_matches(command), note="deletes only what is empty")
        else:
            yield from call.make_effects("fs.delete.tree", list_matches(command), possible=has_filter(command))
    for index, text in enumerate(texts[:-1]):
        if text in _FILES:
            yield from call.make_effects("fs.overwrite", [command.argv[index + 1]])


def classify_locate(call: Invocation) -> Iterator[Effect]:
    sought = [
        word.display_text for word in call.args.operands if is_secret("/x/" + word.text.strip("*").rsplit("/", 1)[-1])
    ]
    yield call.make_effect("fs.list")
    if sought:
        yield call.make_effect(
            "cred.read", (Target(sought[0], "other"),), possible=True, note="looks for it everywhere"
        )


def classify_empty_trash(call: Invocation) -> Iterator[Effect]:
    yield from call.make_effects("fs.delete.tree", [Word("~/.local/share/Trash")])
