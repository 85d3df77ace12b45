"""Archives and compression: what goes in is read, what comes out is written."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect
from verdikt.shell.command import Word


def classify_tar(call: Invocation) -> Iterator[Effect]:
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
