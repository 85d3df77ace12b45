"""Programs for files whose operands mean different things by their place or number: cp, mv, ln, tar, find."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from verdikt.effects.find_expression import list_depths, list_matches, list_names, list_roots, may_spare, strip_actions
from verdikt.effects.host import is_remote_path, to_host_target
from verdikt.effects.own_programs import is_own_program, is_program_directory
from verdikt.effects.target import is_secret, is_sink
from verdikt.model.effect import Zone
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect

_EMPTY_SOURCES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_NAME_TESTS = ("-name", "-iname", "-path", "-ipath", "-wholename")
_FILE_ACTIONS = ("-fprint", "-fprint0", "-fls", "-fprintf")
_DOTTED_SECRETS = frozenset(".env .netrc .pgpass .git-credentials .pypirc .htpasswd .vault_pass .s3cfg".split())
_FOREIGN_ZONES = (Zone.HOME, Zone.SYSTEM, Zone.SECRET, Zone.OUTSIDE)


def classify_copy(call: Invocation) -> Iterator[Effect]:
    """Yield reads of the sources and a write of the last operand, or of `-t`."""
    sources, target = _split_operands(call)
    if call.args.has_flag("-d --directory") and call.name == "install":
        yield from classify_directories(call)
        return
    yield from call.make_effects("fs.read", [word for word in sources if word.text not in _EMPTY_SOURCES])
    if target is None:
        return
    if any(word.text in _EMPTY_SOURCES for word in sources):
        yield from call.make_effects("fs.truncate", [target])
    else:
        what = "fs.write" if call.args.has_flag("-n --no-clobber -b --backup -u") else "fs.overwrite"
        landing = _find_landing(call, sources, target)
        if not _is_kept(call, landing):
            yield from call.make_effects("fs.install" if is_own_program(call, sources, landing) else what, [landing])
    if call.name == "cp" and call.args.has_flag("-l --link -s --symbolic-link"):
        yield from _classify_linked_copy(call, sources, target)


def classify_directories(call: Invocation) -> Iterator[Effect]:
    """Yield a write of each directory that is made; the one for a person's own programs holds nothing yet."""
    for word in call.args.operands:
        is_own = (
            not call.command.host and word.is_known and is_program_directory(call.resolve_path(word).path, call.facts)
        )
        yield from call.make_effects("fs.install" if is_own else "fs.write", [word])


def _is_kept(call: Invocation, landing: Word) -> bool:
    """Return whether a copy leaves the file that is there already as it is."""
    if not call.args.has_flag("-n --no-clobber") or call.command.host or not landing.is_known or landing.glob:
        return False
    path = call.resolver.to_absolute(landing.text, call.command.cwd)
    return bool(path) and call.facts.path(path, git=False).kind == "file"


def _classify_linked_copy(call: Invocation, sources: list[Word], target: Word) -> Iterator[Effect]:
    """Yield `fs.link.out` where a copy is made of links: emptying one empties the file outside the project."""
    foreign = [t for t in map(call.resolve_path, sources) if t.zone not in (Zone.PROJECT, Zone.TEMP, Zone.UNKNOWN)]
    if foreign and call.resolve_path(target).zone in (Zone.PROJECT, Zone.TEMP):
        note = f"leads out of the project, to {foreign[0].text}"
        yield from call.make_effects("fs.link.out", [target], note=note)


def classify_move(call: Invocation) -> Iterator[Effect]:
    sources, target = _split_operands(call)
    # A file that is moved into a sink is copied there and then deleted.
    if target is not None and is_sink(call.resolve_path(target).path):
        yield from call.make_effects("fs.delete.tree", sources)
        return
    yield from call.make_effects("fs.move", sources)
    if target is None:
        return
    if any(_is_everything(call, word) for word in sources) and call.resolve_path(target).zone is not Zone.PROJECT:
        yield from call.make_effects("fs.move.all", sources[:1])
    what = "fs.write" if call.args.has_flag("-n --no-clobber -b --backup") else "fs.overwrite"
    yield from call.make_effects(what, [_find_landing(call, sources, target)])


def _is_everything(call: Invocation, word: Word) -> bool:
    """Return whether a word means the whole project or home: its root, or all that lies in it."""
    path = call.resolver.to_absolute(word.text, call.command.cwd) if word.is_known else ""
    whole = [place for place in (call.resolver.project_root, call.facts.home.rstrip("/")) if place]
    return any(path in (place, f"{place}/*", f"{place}/.*", f"{place}/*.*") for place in whole)


def _split_operands(call: Invocation) -> tuple[list[Word], Word | None]:
    operands = call.args.operands
    directory = call.args.get_value("-t --target-directory")
    if directory is not None or len(operands) < 2:
        return operands, directory
    return operands[:-1], operands[-1]


def _find_landing(call: Invocation, sources: list[Word], target: Word) -> Word:
    """Return where a copied file comes to lie: in the directory that the last operand names, or under that name."""
    if not target.is_known or target.glob or call.command.host:
        return target
    if len(sources) != 1 or not sources[0].is_known or sources[0].glob:
        return target
    path = call.resolver.to_absolute(target.text, call.command.cwd)
    if path and (target.text.endswith("/") or call.facts.path(path, git=False).kind == "dir"):
        return Word(f"{target.text.rstrip('/')}/{sources[0].text.rstrip('/').rsplit('/', 1)[-1]}", target.raw)
    return target


def classify_link(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    if not operands:
        return
    target = call.resolve_path(_find_link_target(call, operands))
    is_foreign = target.zone not in (Zone.PROJECT, Zone.TEMP, Zone.UNKNOWN)
    note = f"leads out of the project, to {target.text}" if is_foreign else ""
    name = operands[-1] if len(operands) > 1 else Word(operands[0].text.rsplit("/", 1)[-1])
    is_empty = operands[0].text in _EMPTY_SOURCES
    landing = _find_landing(call, operands[:1], name)
    if is_own_program(call, operands[:1], landing):
        yield from call.make_effects("fs.install", [landing])
        return
    if call.args.has_flag("-f --force") and len(operands) > 1:
        yield from call.make_effects("fs.truncate" if is_empty else "fs.overwrite", [name], note=note)
        is_foreign = is_foreign and not is_empty
    elif not is_foreign:
        yield from call.make_effects("fs.link", [name])
    if is_foreign:
        yield from call.make_effects("fs.link.out", [name], note=note)
    if target.zone is Zone.SECRET:
        yield call.make_effect("cred.read", (target,), note="links to a secret")


def _find_link_target(call: Invocation, operands: list[Word]) -> Word:
    """Return a link's target: a symbolic one counts from the link's directory, not from the working directory."""
    first, last = operands[0], operands[-1]
    is_from_here = not call.args.has_flag("-s --symbolic") or call.args.has_flag("-r --relative")
    if is_from_here or first.text.startswith(("/", "~")) or not first.is_known or not last.is_known:
        return first
    if len(operands) < 2 or "/" not in last.text.rstrip("/"):
        return first
    return Word(f"{last.text.rstrip('/').rsplit('/', 1)[0]}/{first.text}", first.raw, first.glob)


def classify_tar(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if any(action.text.startswith("exec=") for action in args.get_values("--checkpoint-action")):
        yield call.make_effect("code.unknown", possible=True, note="an archiver that runs a program")
    operands = list(args.operands)
    letters = {flag[1:] for flag, _ in args.flags if len(flag) == 2}
    archive = args.get_value("-f --file")
    # The old style without a dash: `tar czf out.tgz dir`.
    if operands and not args.has_flag("-c -x -t -r -u -A --create --extract --get --list --append --update"):
        letters |= set(operands.pop(0).text)
        if "f" in letters and archive is None and operands:
            archive = operands.pop(0)
    directory = args.get_value("-C --directory") or Word(".")
    members = [_join_path(directory, word) for word in operands]
    if letters & {"c", "r", "u"} or args.has_flag("--create --append --update"):
        # With a colon in its name the archive lies on another machine: `tar cf host:a.tar .`
        is_remote = archive is not None and is_remote_path(archive.text) and not args.has_flag("--force-local")
        yield from call.classify_sent_files(members) if is_remote else call.make_effects("fs.read", members)
        if archive is not None and is_remote:
            yield call.make_effect("net.send.file", (to_host_target(archive),))
        elif archive is not None and archive.text != "-":
            yield from call.make_effects("fs.append" if letters & {"r", "u"} else "fs.overwrite", [archive])
        if args.has_flag("--remove-files"):
            yield from call.make_effects("fs.delete.tree", members)
    elif "x" in letters or args.has_flag("--extract --get"):
        if "O" in letters or args.has_flag("--to-stdout"):
            yield from call.make_effects("fs.read", members)
        else:
            note = " to absolute paths" if args.has_flag("-P --absolute-names") else ""
            yield from call.make_effects("fs.write", [directory], note=f"unpacks an archive{note}")
    elif archive is not None:
        yield from call.make_effects("fs.list", [archive])


def _join_path(directory: Word, word: Word) -> Word:
    if word.text.startswith(("/", "~")) or directory.text == ".":
        return word
    return Word(f"{directory.text}/{word.text}", word.raw, word.glob)


def classify_find(call: Invocation) -> Iterator[Effect]:
    command = strip_actions(call.command)
    texts = [word.text for word in command.argv]
    yield from call.make_effects("fs.list", list_roots(command))
    yield from _classify_key_search(call)
    if "-delete" in texts:
        # What follows the action chooses among what is gone already: `find . -delete -name x`.
        chosen = command._replace(argv=(*command.argv[: texts.index("-delete") + 1], *list_depths(command)))
        if "-empty" in texts[: texts.index("-delete")]:
            yield from call.make_effects("fs.write", list_matches(chosen), note="deletes only what is empty")
        else:
            yield from call.make_effects(
                "fs.delete.tree", list_matches(chosen), possible=may_spare(chosen, call.resolve_path)
            )
    for index, text in enumerate(texts[:-1]):
        if text in _FILE_ACTIONS:
            yield from call.make_effects("fs.overwrite", [command.argv[index + 1]])


def _classify_key_search(call: Invocation) -> Iterator[Effect]:
    """Yield the effect of a search for keys by name outside the project, which is never an accident."""
    for pattern in list_names(call.command, _NAME_TESTS):
        name = pattern.strip("*").rsplit("/", 1)[-1].rstrip("*")
        if is_secret(f"/x/{name if name[:1] != '.' or name in _DOTTED_SECRETS else 'x' + name}"):
            places = tuple(t for t in map(call.resolve_path, list_roots(call.command)) if t.zone in _FOREIGN_ZONES)
            if places:
                yield call.make_effect("cred.read", places, possible=True, note=f"looks for {pattern}")
                return
