"""Archives and compression: what goes in is read, what comes out is written."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs
from verdikt.model.effect import Effect
from verdikt.shell.command import Word


def _tar(call: Invocation) -> Iterator[Effect]:
    args = call.args
    for action in args.get_values("--checkpoint-action"):
        if action.text.startswith("exec="):
            yield from call.classify_shell(action.text[5:])
            yield call.make_effect("code.unknown", possible=True, note="an archiver that runs a program")
    for program in args.get_values(
        "--to-command -I --use-compress-program --rsh-command -F --info-script --new-volume-script"
    ):
        yield from call.classify_shell(program.text)
    operands = list(args.operands)
    letters = {flag[1:] for flag, _ in args.flags if len(flag) == 2}
    archive = args.get_value("-f --file")
    # The old style without a dash: `tar czf out.tgz dir`.
    if operands and not args.has_flag("-c -x -t -r -u -A --create --extract --get --list --append --update"):
        letters |= set(operands[0].text)
        operands = operands[1:]
        if "f" in letters and archive is None and operands:
            archive = operands.pop(0)
    inside = args.get_value("-C --directory") or Word(".")
    if letters & {"c", "r", "u"} or args.has_flag("--create --append --update"):
        yield from call.make_effects("fs.read", [_below(inside, word) for word in operands])
        if archive is not None and archive.text != "-":
            yield from call.make_effects("fs.append" if letters & {"r", "u"} else "fs.overwrite", [archive])
        if args.has_flag("--remove-files"):
            yield from call.make_effects("fs.delete.tree", [_below(inside, word) for word in operands])
    elif "x" in letters or args.has_flag("--extract --get"):
        if args.has_flag("-O --to-stdout"):
            return
        absolute = args.has_flag("-P --absolute-names")
        yield from call.make_effects(
            "fs.write", [inside], note="unpacks an archive" + (" to absolute paths" if absolute else "")
        )
    elif archive is not None:
        yield from call.make_effects("fs.list", [archive])


def _below(directory: Word, word: Word) -> Word:
    if word.text.startswith(("/", "~")) or directory.text == ".":
        return word
    return Word(f"{directory.text}/{word.text}", word.raw, word.glob)


_COMPRESS = Program(
    EffectSpec("fs.read", "*"),
    EffectSpec("fs.write", "*", unless="-c --stdout --to-stdout -t --test -l --list"),
    value_flags="-S --suffix -T --threads -o -b",
)

PROGRAMS: dict[str, Program] = {
    **alias_programs(
        "tar bsdtar gtar",
        Program(
            classify=_tar,
            value_flags="-f --file -C --directory -X -T --exclude -b --to-command --rsh-command --checkpoint-action -I --use-compress-program --strip-components --transform --owner --group --mode",
        ),
    ),
    "zip": Program(
        EffectSpec(
            "code.unknown", "-TT --unzip-command", "other", possible=True, note="an archiver that runs a program"
        ),
        EffectSpec("fs.overwrite", "0"),
        EffectSpec("fs.read", "1:"),
        EffectSpec("fs.delete", "1:", when="-m --move"),
        value_flags="-TT --unzip-command -x --exclude -i -b -t -P -n",
    ),
    "unzip": Program(
        EffectSpec("fs.list", "0"), EffectSpec("fs.write", "-d", unless="-l -v -t -p -Z"), value_flags="-d -P -x"
    ),
    **alias_programs("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 lzma", _COMPRESS),
    **alias_programs("zcat bzcat xzcat zstdcat", Program(EffectSpec("fs.read", "*"))),
    **alias_programs(
        "7z 7za 7zr rar unrar",
        Program(
            subcommands={
                "a": (
                    EffectSpec("fs.write", "0"),
                    EffectSpec("fs.read", "1:"),
                    EffectSpec("fs.delete.tree", "1:", when="-sdel -df -dr"),
                ),
                "x": EffectSpec("fs.list", "0"),
                "e": EffectSpec("fs.list", "0"),
                "l": EffectSpec("fs.list", "0"),
                "d": EffectSpec("fs.overwrite", "0"),
            },
            single_dash=True,
        ),
    ),
    "cpio": Program(
        EffectSpec("fs.write", "-D --directory", when="-i --extract -p --pass-through"),
        value_flags="-D --directory -F -O -I -H -E",
    ),
    "pax": Program(
        EffectSpec("fs.read", "*", when="-w"), EffectSpec("fs.overwrite", "-f", when="-w"), value_flags="-f -s -x -o"
    ),
    "ar": Program(EffectSpec("fs.write", "1")),
}
