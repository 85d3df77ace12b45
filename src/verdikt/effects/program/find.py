"""`find` and `fd`: where they look, what they delete, where they write."""

from __future__ import annotations

from verdikt.effects.argument import words
from verdikt.effects.program.table import Does, Program, programs
from verdikt.effects.zone import is_secret
from verdikt.model.effect import Target, Zone
from verdikt.shell.command import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from verdikt.effects.call import Call
    from verdikt.model.effect import Effect
    from verdikt.shell.command import Command

_TESTS = words(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -size "
    "-user -group -perm -inum -links -uid -gid -fstype -used -samefile -lname"
)
_FILES = frozenset(["-fprint", "-fprint0", "-fls", "-fprintf"])


def roots(command: Command) -> list[Word]:
    """The directories in which a `find` looks."""
    found = []
    for word in command.argv[1:]:
        text = word.text
        if text in ("-H", "-L", "-P") or text.startswith(("-O", "-D")):
            continue
        if text.startswith(("-", "(", "!", ",")):
            break
        found.append(word)
    return found or [Word(".")]


def selected(command: Command) -> list[Word]:
    """What a `find` finds, as words: the directories themselves, or narrowed by a name that is asked for."""
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


def narrowed(command: Command) -> bool:
    """Whether a `find` has a test that leaves something out, so that what it hits is not all that is there."""
    texts = [word.text for word in command.argv]
    tests = [texts[i + 1 : i + 2] for i, text in enumerate(texts) if text in _TESTS]
    return any(test != ["*"] for test in tests) or "-empty" in texts


def _hunted(call: Call, texts: list[str]) -> Iterator[Effect]:
    """Keys looked for by name, outside the project: nobody does that by accident."""
    if not any(text in ("-name", "-iname", "-path", "-ipath", "-wholename") for text in texts):
        return
    for index, text in enumerate(texts[:-1]):
        if text in ("-name", "-iname", "-path", "-ipath", "-wholename") and texts[index - 1] not in ("!", "-not"):
            name = texts[index + 1].strip("*").rsplit("/", 1)[-1].rstrip("*")
            if not is_secret(f"/x/{name if name[:1] != '.' or name in _DOTTED else 'x' + name}"):
                continue
            places = tuple(t for t in map(call.path, roots(call.command)) if t.zone in _FOREIGN)
            if places:
                yield call.effect("cred.read", places, possible=True, note=f"looks for {texts[index + 1]}")
                return


_DOTTED = frozenset(".env .netrc .pgpass .git-credentials .pypirc .htpasswd .vault_pass .s3cfg".split())
_FOREIGN = (Zone.HOME, Zone.SYSTEM, Zone.SECRET, Zone.OUTSIDE)


def _find(call: Call) -> Iterator[Effect]:
    command = call.command
    texts = [word.text for word in command.argv]
    yield from call.on("fs.list", roots(command))
    yield from _hunted(call, texts)
    if "-delete" in texts:
        if "-empty" in texts:
            yield from call.on("fs.write", selected(command), note="deletes only what is empty")
        else:
            yield from call.on("fs.delete.tree", selected(command), possible=narrowed(command))
    for index, text in enumerate(texts[:-1]):
        if text in _FILES:
            yield from call.on("fs.overwrite", [command.argv[index + 1]])


def _locate(call: Call) -> Iterator[Effect]:
    sought = [word.shown for word in call.args.operands if is_secret("/x/" + word.text.strip("*").rsplit("/", 1)[-1])]
    yield call.effect("fs.list")
    if sought:
        yield call.effect("cred.read", (Target(sought[0], "other"),), possible=True, note="looks for it everywhere")


def _empty_trash(call: Call) -> Iterator[Effect]:
    yield from call.on("fs.delete.tree", [Word("~/.local/share/Trash")])


PROGRAMS: dict[str, Program] = {
    **programs("find gfind", Program(call=_find, single=True)),
    **programs("fd fdfind", Program(Does("fs.list", "1:"), values="-e -E -t -d -j -x -X --exclude --extension --type --exec --exec-batch --max-depth -c -S")),
    **programs("locate mlocate plocate", Program(call=_locate, values="-n -l -d --limit --database")),
    "updatedb": Program(Does("sys.setting")),
    "tree": Program(Does("fs.list", "*"), values="-L -P -I -o --filelimit --charset --sort"),
    "du": Program(Does("fs.list", "*"), values="-d --max-depth -B --block-size -t --threshold -X --exclude"),
    **programs("stat file realpath readlink basename dirname wc cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum md5 namei pathchk mimetype exa eza lsd", Program(Does("fs.list", "*"), values="-c --format -f --printf -m -a -s")),
    "rmlint": Program(Does("fs.list", "*")),
    **programs("trash trash-put gio rmtrash", Program(Does("fs.move", "*"))),
    "trash-empty": Program(call=_empty_trash),
    **programs("rename prename", Program(Does("fs.move", "1:"), dry="-n --nono --no-act")),
    **programs("rimraf del-cli", Program(Does("fs.delete.tree", "*"))),
    **programs("srm wipe scrub sdelete", Program(Does("fs.shred", "*"))),
    "chattr": Program(Does("fs.chmod", "*")),
    "setfacl": Program(Does("fs.chmod", "*"), Does("fs.chmod.tree", "*", when="-R --recursive"), values="-m -x -M -X --modify --remove", dry="--test"),
    **programs("getfacl lsattr", Program(Does("fs.list", "*"))),
    "setcap": Program(Does("priv.setuid", "1:", note="gives a program the powers of root")),
    "sync": Program(),
    "mktemp": Program(Does("fs.write", note="a temporary file")),
}  # fmt: skip
