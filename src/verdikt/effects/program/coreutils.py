"""The basic file programs: copying, moving, deleting, permissions, reading, dd."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from verdikt.effects.program_evaluator import evaluate_program
from verdikt.effects.program_record import Program, find_program
from verdikt.model.effect import Zone
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_EMPTY = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


def classify_rmdir(call: Invocation) -> Iterator[Effect]:
    if any(word.text.lower() in ("/s", "/q") for word in call.args.operands):
        yield from evaluate_program(find_program("rd") or Program(), call)
        return
    yield from call.make_effects("fs.delete", call.args.operands, recoverable=True, note="only if it is empty")


def classify_copy(call: Invocation) -> Iterator[Effect]:
    """`cp`, `install`: sources are read, the last operand (or `-t`) is written."""
    sources, target = _ends(call)
    if call.args.has_flag("-d --directory") and call.name == "install":
        yield from call.make_effects("fs.write", call.args.operands)
        return
    yield from call.make_effects("fs.read", [word for word in sources if word.text not in _EMPTY])
    if target is None:
        return
    if any(word.text in _EMPTY for word in sources):
        yield from call.make_effects("fs.truncate", [target])
    elif call.args.has_flag("-n --no-clobber -b --backup -u"):
        yield from call.make_effects("fs.write", [_landing(call, sources, target)])
    else:
        yield from call.make_effects("fs.overwrite", [_landing(call, sources, target)])


def classify_move(call: Invocation) -> Iterator[Effect]:
    sources, target = _ends(call)
    if target is not None and target.text == "/dev/null":
        yield from call.make_effects("fs.delete.tree", sources)
        return
    yield from call.make_effects("fs.move", sources)
    if target is not None and any(map(partial(_is_everything, call), sources)) and not _is_inside(call, target):
        yield from call.make_effects("fs.move.all", sources[:1])
    if target is not None:
        what = "fs.write" if call.args.has_flag("-n --no-clobber -b --backup") else "fs.overwrite"
        yield from call.make_effects(what, [_landing(call, sources, target)])


def _is_everything(call: Invocation, word: Word) -> bool:
    """Whether a word means the whole project or home: its root, or all that lies in it."""
    path = call.resolver.to_absolute(word.text, call.command.cwd) if word.is_known else ""
    whole = [place for place in (call.resolver.project_root, call.facts.home.rstrip("/")) if place]
    return any(path in (place, f"{place}/*", f"{place}/.*", f"{place}/*.*") for place in whole)


def _is_inside(call: Invocation, word: Word) -> bool:
    return call.resolve_path(word).zone is Zone.PROJECT


def _ends(call: Invocation) -> tuple[list[Word], Word | None]:
    operands = call.args.operands
    into = call.args.get_value("-t --target-directory")
    if into is not None:
        return operands, into
    if len(operands) < 2:
        return operands, None
    return operands[:-1], operands[-1]


def _landing(call: Invocation, sources: list[Word], target: Word) -> Word:
    """Where a copied file comes to lie: in the directory that the last operand names, or under that very name."""
    if not target.is_known or target.glob or call.command.host:
        return target
    path = call.resolver.to_absolute(target.text, call.command.cwd)
    if len(sources) != 1 or not sources[0].is_known or sources[0].glob:
        return target
    if path and (target.text.endswith("/") or call.facts.path(path, git=False).kind == "dir"):
        return Word(f"{target.text.rstrip('/')}/{sources[0].text.rstrip('/').rsplit('/', 1)[-1]}", target.raw)
    return target


def classify_ln(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    if not operands:
        return
    target = call.resolve_path(_from_the_link(call, operands))
    note = ""
    if target.zone not in (Zone.PROJECT, Zone.TEMP, Zone.UNKNOWN):
        note = f"leads out of the project, to {target.text}"
    name = operands[-1] if len(operands) > 1 else Word(operands[0].text.rsplit("/", 1)[-1])
    if call.args.has_flag("-f --force") and len(operands) > 1:
        yield from call.make_effects("fs.truncate" if operands[0].text in _EMPTY else "fs.overwrite", [name], note=note)
        if note and operands[0].text not in _EMPTY:
            yield from call.make_effects("fs.link.out", [name], note=note)
    else:
        yield from call.make_effects("fs.link.out" if note else "fs.link", [name], note=note)
    if target.zone is Zone.SECRET:
        yield call.make_effect("cred.read", (target,), note="links to a secret")


def _from_the_link(call: Invocation, operands: list[Word]) -> Word:
    """Resolve a link's target: a symbolic one counts from the link's directory, not from the working directory."""
    first, last = operands[0], operands[-1]
    if (
        not call.args.has_flag("-s --symbolic")
        or first.text.startswith(("/", "~"))
        or not first.is_known
        or not last.is_known
    ):
        return first
    if len(operands) < 2 or call.args.has_flag("-r --relative") or "/" not in last.text.rstrip("/"):
        return first
    return Word(f"{last.text.rstrip('/').rsplit('/', 1)[0]}/{first.text}", first.raw, first.glob)


def classify_chmod(call: Invocation) -> Iterator[Effect]:
    args = call.args
    tree = args.has_flag("-R --recursive")
    # A mode such as `-x` or `-rwx` looks like a flag.
    modes = [flag for flag, _ in args.flags if flag[1:2] in ("r", "w", "x", "s", "t", "X")]
    operands = args.operands
    mode = "".join(modes) or (operands[0].text if operands else "")
    targets = operands if modes or args.has_flag("--reference") else operands[1:]
    what = "fs.chmod"
    if _setuid(mode):
        yield from call.make_effects("priv.setuid", targets)
    if tree:
        what = "fs.chmod.tree"
    tight = mode in ("600", "400", "700", "0600", "0400", "0700", "go-rwx", "og-rwx", "u=rw,go=", "go=")
    if tight and not tree and targets and all(call.resolve_path(word).zone is Zone.SECRET for word in targets):
        yield from call.make_effects("fs.list", targets, note="keeps others out")
        return
    yield from call.make_effects(what, targets)
    if _open(mode):
        yield from call.make_effects(
            "fs.chmod.open", targets, note="everybody may write" + (", in the whole tree" if tree else "")
        )


def _setuid(mode: str) -> bool:
    if mode.isdigit():
        return (len(mode) >= 4 and mode[-4] in "4567") or (len(mode) >= 4 and mode[-4] in "23")
    return "s" in mode and any(sign in mode for sign in "+=")


def _open(mode: str) -> bool:
    if mode.isdigit():
        return len(mode) >= 3 and mode[-1] in "2367" and not (len(mode) >= 4 and mode[-4] == "1")
    return any(
        "w" in part.split(sign, 1)[1] and (not (who := part.split(sign, 1)[0]) or "o" in who or "a" in who)
        for part in mode.split(",")
        for sign in "+="
        if sign in part and part.split(sign, 1)[0] in ("a", "o", "ugo", "go", "uo", "ao", "og")
    )


def classify_chown(call: Invocation) -> Iterator[Effect]:
    args = call.args
    targets = args.operands if args.has_flag("--reference") else args.operands[1:]
    yield from call.make_effects("fs.chown.tree" if args.has_flag("-R --recursive") else "fs.chown", targets)


def classify_dd(call: Invocation) -> Iterator[Effect]:
    source, sink = call.args.select_words("if="), call.args.select_words("of=")
    yield from call.make_effects("fs.read", [word for word in source if word.text not in _EMPTY])
    endless = any(word.text in _EMPTY[1:] for word in source) and not call.args.select_words("count=")
    # Nothing of what was there is left, unless only a part of it is written over.
    emptied = any(word.text in _EMPTY for word in source) and not call.args.select_words("seek=")
    yield from call.make_effects("fs.truncate" if emptied else "fs.overwrite", sink)
    if endless and any(not call.resolve_path(word).path.startswith("/dev/") for word in sink):
        yield call.make_effect("fs.fill", tuple(map(call.resolve_path, sink)))


def classify_allocate(call: Invocation) -> Iterator[Effect]:
    yield from call.make_effects("fs.write", call.args.operands)
    size = call.args.get_value("-l --length")
    if size is not None and _is_huge(size.text):
        yield call.make_effect("fs.fill", tuple(map(call.resolve_path, call.args.operands)))


def _is_huge(size: str) -> bool:
    """Whether a size is more than a disk has to spare: 100 GB and up."""
    number, unit = size.rstrip("iBb"), ""
    if number[-1:].isalpha():
        number, unit = number[:-1], number[-1:].upper()
    scale = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}.get(unit, 0)
    return number.isdigit() and int(number[:20]) * scale >= 10**11


def classify_head(call: Invocation) -> Iterator[Effect]:
    """Classify a read; one of an endless source with a huge limit fills the disk."""
    yield from call.make_effects("fs.read", call.args.operands)
    size = call.args.get_value("-c --bytes")
    if size is not None and _is_huge(size.text) and any(word.text in _EMPTY[1:] for word in call.args.operands):
        yield call.make_effect(
            "fs.fill", tuple(call.resolve_path(redirect.target) for redirect in call.command.redirects)
        )


def classify_tee(call: Invocation) -> Iterator[Effect]:
    if any(r.op == "<" and r.target.text == "/dev/null" for r in call.command.redirects) and not call.args.has_flag(
        "-a"
    ):
        yield from call.make_effects("fs.truncate", call.args.operands)
        return
    yield from call.make_effects(
        "fs.append" if call.args.has_flag("-a --append") else "fs.overwrite", call.args.operands
    )
