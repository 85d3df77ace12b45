"""Archives and compression: what goes in is read, what comes out is written."""

from collections.abc import Iterator

from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect
from verdikt.shell.command import Word


def _tar(call: Call) -> Iterator[Effect]:
    args = call.args
    for action in args.all("--checkpoint-action"):
        if action.text.startswith("exec="):
            yield from call.shell(action.text[5:])
            yield call.effect("code.unknown", possible=True, note="an archiver that runs a program")
    for program in args.all(
        "--to-command -I --use-compress-program --rsh-command -F --info-script --new-volume-script"
    ):
        yield from call.shell(program.text)
    operands = list(args.operands)
    letters = {flag[1:] for flag, _ in args.flags if len(flag) == 2}
    archive = args.value("-f --file")
    # The old style without a dash: `tar czf out.tgz dir`.
    if operands and not args.has("-c -x -t -r -u -A --create --extract --get --list --append --update"):
        letters |= set(operands[0].text)
        operands = operands[1:]
        if "f" in letters and archive is None and operands:
            archive = operands.pop(0)
    inside = args.value("-C --directory") or Word(".")
    if letters & {"c", "r", "u"} or args.has("--create --append --update"):
        yield from call.on("fs.read", [_below(inside, word) for word in operands])
        if archive is not None and archive.text != "-":
            yield from call.on("fs.append" if letters & {"r", "u"} else "fs.overwrite", [archive])
        if args.has("--remove-files"):
            yield from call.on("fs.delete.tree", [_below(inside, word) for word in operands])
    elif "x" in letters or args.has("--extract --get"):
        if args.has("-O --to-stdout"):
            return
        absolute = args.has("-P --absolute-names")
        yield from call.on("fs.write", [inside], note="unpacks an archive" + (" to absolute paths" if absolute else ""))
    elif archive is not None:
        yield from call.on("fs.list", [archive])


def _below(directory: Word, word: Word) -> Word:
    if word.text.startswith(("/", "~")) or directory.text == ".":
        return word
    return Word(f"{directory.text}/{word.text}", word.raw, word.glob)


_COMPRESS = Program(
    Does("fs.read", "*"),
    Does("fs.write", "*", unless="-c --stdout --to-stdout -t --test -l --list"),
    values="-S --suffix -T --threads -o -b",
)

PROGRAMS: dict[str, Program] = {
    **programs(
        "tar bsdtar gtar",
        Program(
            call=_tar,
            values="-f --file -C --directory -X -T --exclude -b --to-command --rsh-command --checkpoint-action -I --use-compress-program --strip-components --transform --owner --group --mode",
        ),
    ),
    "zip": Program(
        Does("code.unknown", "-TT --unzip-command", "other", possible=True, note="an archiver that runs a program"),
        Does("fs.overwrite", "0"),
        Does("fs.read", "1:"),
        Does("fs.delete", "1:", when="-m --move"),
        values="-TT --unzip-command -x --exclude -i -b -t -P -n",
    ),
    "unzip": Program(Does("fs.list", "0"), Does("fs.write", "-d", unless="-l -v -t -p -Z"), values="-d -P -x"),
    **programs("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 lzma", _COMPRESS),
    **programs("zcat bzcat xzcat zstdcat", Program(Does("fs.read", "*"))),
    **programs(
        "7z 7za 7zr rar unrar",
        Program(
            subs={
                "a": (Does("fs.write", "0"), Does("fs.read", "1:"), Does("fs.delete.tree", "1:", when="-sdel -df -dr")),
                "x": Does("fs.list", "0"),
                "e": Does("fs.list", "0"),
                "l": Does("fs.list", "0"),
                "d": Does("fs.overwrite", "0"),
            },
            single=True,
        ),
    ),
    "cpio": Program(
        Does("fs.write", "-D --directory", when="-i --extract -p --pass-through"),
        values="-D --directory -F -O -I -H -E",
    ),
    "pax": Program(Does("fs.read", "*", when="-w"), Does("fs.overwrite", "-f", when="-w"), values="-f -s -x -o"),
    "ar": Program(Does("fs.write", "1")),
}
