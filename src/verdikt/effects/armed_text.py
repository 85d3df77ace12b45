"""Judge program text when it is written: what it would do once something loads it.

Text is *armed* when it has a certain, unrecoverable effect outside the project, on secrets, on files that guard the
agent or on history that others share, or when it sends secrets away. Writing such a file is legitimate; running
something that may load it is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from posixpath import basename, dirname, normpath
from typing import TYPE_CHECKING, NamedTuple

from verdikt.effects import host
from verdikt.effects.any_language.command_lines import find_command_lines, find_named_files, may_hold_commands
from verdikt.effects.any_language.masking import mask_comments, may_be_loaded, may_name_code
from verdikt.effects.any_language.meetings import find_meeting
from verdikt.effects.code import classify_code, quote_shell_word
from verdikt.effects.code_sections import (
    detect_file_language,
    find_code_sections,
    is_client_settings,
    is_found_in_place,
    is_remote_settings,
)
from verdikt.effects.dataflow import OUTGOING_PREFIXES
from verdikt.effects.effect_catalog import find_entry
from verdikt.effects.invocation import Invocation
from verdikt.effects.runner_settings import IMAGE, SHELL, CodeSection
from verdikt.effects.workflow_sections import WORKFLOW, fill_workspace
from verdikt.effects.zone_effects import derive_effect, derive_hidden_reads, derive_zone_effects, is_foreign_secret
from verdikt.knowledge import find_role, find_role_words, join_role
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Command, Word

if TYPE_CHECKING:
    from verdikt.effects.target import TargetResolver

ShellClassifier = Callable[[str, Command], Iterable[Effect]]

MAX_JUDGED_LENGTH = 256 * 1024
"""Longer text is judged by its beginning alone."""

_ARMING_PREFIXES = (
    "cred.send",
    "cred.steal",
    "cred.destroy",
    "cred.read.hidden",
    "guard.tamper",
    "guard.bypass",
    "guard.forge",
    "persist.",
    "net.shell",
    "net.send.file",
    "code.remote",
    "code.hidden",
    "sys.crash",
    "sys.power",
    "sys.security",
    "disk.write",
    "disk.format",
    "disk.partition",
    "git.push.force",
    "git.push.delete",
    "git.push.mirror",
    "git.history.lose",
    "proc.mine",
    "priv.setuid",
    "priv.grant",
    "fs.fill",
    "cloud.delete",
    "infra.destroy",
    "k8s.delete.all",
    "repo.delete",
    "backup.delete",
    "cron.delete",
    "log.wipe",
    "container.escape",
)
"""Effects that arm a file wherever they fall."""
_DISCARDING_PREFIXES = ("git.discard.all", "git.clean", "git.stash.drop")
"""Effects that arm a file where work is lost that no commit has."""
_DATA_LOSSES = ("db.drop", "db.delete.all")
_LIVE_ADDRESS = compile_lazily(
    r"(?i)\b(?:\w+_)?(?:prod|production|live)_(?:\w+_)?(?:db|database|dsn|url|uri|host|pg\w*|conn\w*)\b"
    r"|(?:://|@|(?:\b(?:host|server|service|hostname|hostaddr)|\s-[hHS])\W{1,4})[^\s\"'`]*\b(?:prod|production|live)\b"
)
_OTHER_MACHINE = compile_lazily(rf"\b(?:{join_role('remote_shell')})\s+(?:-\S+\s+)*(?!localhost\b|127\.)[\w@.-]+\s")
_REPOSITORY_PARTS = ("refs", "objects", "logs", "HEAD", "packed-refs", "worktrees", "modules")
"""What of `.git` holds history."""
_LEAVING_PREFIXES = ("cred.send", "net.shell", "proc.mine", "net.send.file")
_LOSS_PREFIXES = ("fs.delete", "fs.truncate", "fs.shred", "fs.chmod.tree", "fs.chown.tree", "fs.move")
_OUTER_ZONES = (Zone.HOME, Zone.SYSTEM, Zone.OUTSIDE, Zone.SECRET, Zone.PERSIST, Zone.GUARD)
_CONTENT_EFFECTS = ("fs.overwrite", "fs.write", "fs.append")
_MACHINE_DIRECTORIES = ("/etc/", "/usr/", "/bin/", "/sbin/", "/boot/", "/lib/")
# Without one of these in it, a program that listens and starts others is a server and no way in.
_SHELLS = join_role("shell")
_SHELL_PROGRAM = compile_lazily(
    rf"/bin/(?:{_SHELLS})|(?:{join_role('cmd_shell')})\.exe|{join_role('powershell')}|[\"'](?:{_SHELLS})[\"']"
)
_TOKEN = compile_lazily(r"[\w.~$-]{2,}")
_DOWNLOADERS = tuple(find_role_words("download_file"))
_SENDING_VERBS = (*_DOWNLOADERS, "post", "put")
_VERBS = {
    "fs": ("unlink", "remove", "delete", "rm", "truncate", "chmod", "write", "open"),
    "cred": (*_SENDING_VERBS, "send", "urlopen", "fetch", "read", "open", "request", *find_role("concatenator")),
    "git": (*find_role("work_tree_changer"), "push"),
    "code": (*_DOWNLOADERS, "eval", "exec", "decode", "base64", "atob"),
    "persist": ("write", "open", "append", "cron", *find_role("service_manager"), *find_role("echo_printer")),
    "net": (*_SENDING_VERBS, "socket", "connect", "upload"),
}


class ArmedText(NamedTuple):
    """What an armed text would do: the first such effect, at its line of the file."""

    line: int
    what: str
    target: str
    is_certain: bool = True
    """Whether a reader of the language found it, rather than the words that meet in the text."""

    @property
    def meaning(self) -> str:
        """What it does in words, with its target."""
        doubt = "" if self.is_certain else "by its words "
        return f"{doubt}{find_entry(self.what).meaning}{f' (`{self.target}`)' if self.target else ''}"


def judge_text(
    path: str,
    text: str,
    resolver: TargetResolver,
    classify_shell: ShellClassifier,
    downloads: Collection[str] = (),
    *,
    program_language: str = "",
    is_on_host: bool = False,
) -> ArmedText | None:
    """Return what arms the text of a file; None for text that is harmless, unknown, or no program.

    `program_language` is that of the program which runs a file whose name says nothing. `downloads` are files from
    foreign hosts that the session has not read. `is_on_host` says that the steps of a workflow run on this machine,
    and not in containers. Where the reader of its language finds nothing, the text is read by the
    words that meet in it.
    """
    text = text[:MAX_JUDGED_LENGTH]
    sections = find_code_sections(path, text)
    if not sections and program_language:
        sections = [CodeSection(program_language, text)]
    if is_on_host:
        root = resolver.project_root
        sections = [
            p._replace(language=SHELL, text=fill_workspace(p.text, root)) if p.language == IMAGE else p
            for p in sections
        ]
    for section in sections:
        if not _may_arm(section):
            continue
        for effect in _classify_section(section, path, resolver, classify_shell):
            if is_arming(effect, resolver.project_root, section):
                target = effect.targets[0].text[:80] if effect.targets else ""
                return ArmedText(_find_line(section, effect), effect.what, target)
    language = detect_file_language(path, text)
    if language in (SHELL, IMAGE):
        return None
    if (armed := _judge_command_lines(path, text, language, resolver, classify_shell)) is not None:
        return armed
    if (armed := _judge_named_programs(path, text, resolver, classify_shell)) is not None:
        return armed
    meeting = find_meeting(path, text, resolver, downloads)
    return ArmedText(*meeting, is_certain=False) if meeting is not None else None


def _judge_command_lines(
    path: str, text: str, language: str, resolver: TargetResolver, classify_shell: ShellClassifier
) -> ArmedText | None:
    """Return what arms a text by a command line in it, whichever format the file has."""
    is_known = language not in ("", "settings")
    if not may_hold_commands(text, is_known_language=is_known):
        return None
    is_client = is_client_settings(text)
    if not is_client and (not may_be_loaded(path) or is_remote_settings(path, text)):
        return None
    for part_language, part, line in find_command_lines(mask_comments(path, text), is_known_language=is_known):
        section = CodeSection(part_language, part, line)
        for effect in _classify_section(section, path, resolver, classify_shell):
            if is_arming(effect, resolver.project_root, section):
                target = effect.targets[0].text[:80] if effect.targets else ""
                return ArmedText(line, effect.what, target, is_certain=False)
    return None


def _judge_named_programs(
    path: str, text: str, resolver: TargetResolver, classify_shell: ShellClassifier
) -> ArmedText | None:
    """Return what arms settings by a program that they name, under whichever key: `script-shell=/tmp/wrap`."""
    if not may_name_code(path, text):
        return None
    root = Word(resolver.project_root)
    for name, line in find_named_files(mask_comments(path, text)):
        place = resolver.to_absolute(name, root)
        program = resolver.facts.text(place) if place and place != path else None
        if not program or detect_file_language(place, program) in _NO_PROGRAMS:
            continue
        section = CodeSection(SHELL, quote_shell_word(name), line)
        for effect in classify_shell(section.text, Command(argv=(Word(name),), cwd=root)):
            if is_arming(effect, resolver.project_root, section):
                target = effect.targets[0].text[:80] if effect.targets else ""
                return ArmedText(line, effect.what, target, is_certain=False)
    return None


_NO_PROGRAMS = ("", "settings", "package", "php_package", "notebook", "xml", WORKFLOW, IMAGE)
"""Languages of files that are not started by their own names."""

_RISKY_WORD = compile_lazily(
    rf"(?i)\b(?:{join_role('world_changer')}|unlink\w*|remove\w*|delete\w*|rmtree|rimraf|rmsync|erase|destroy\w*|truncate\w*"
    r"|system|popen|subprocess|spawn\w*|exec\w*|eval|shell\w*|command|process\w*|child_process|kill\w*|environ|env|getenv"
    r"|urlopen|requests|httpx|socket\w*|fetch|axios|http\w*|post|upload|ftp\w*|open\w*|read\w*|write\w*|copy\w*|move\w*"
    r"|rename\w*|base64|atob|fork|import|require|pickle|marshal|ctypes|shutil|pathlib|fs|file\w*|dotenv|boto3|paramiko"
    r"|smtplib)\b|[>`]|\$\("
)
"""A word without which no text does anything to the world; most sections of settings have none."""


def _may_arm(section: CodeSection) -> bool:
    return _RISKY_WORD.search(section.text) is not None


def _classify_section(
    section: CodeSection, path: str, resolver: TargetResolver, classify_shell: ShellClassifier
) -> Sequence[Effect]:
    """Return the effects of a section, as if it ran at the top of the project."""
    start = _find_start(section, path, resolver)
    command = Command(argv=(Word(path.rsplit("/", 1)[-1]),), cwd=start)
    call = Invocation(command, resolver, (command,), classify_shell)
    if section.language in (SHELL, IMAGE):
        return list(classify_shell(_name_script(section.text, path), command))
    effects = list(classify_code(section.language, section.text, call, path))
    effects += derive_zone_effects(effects, resolver.facts)
    effects += derive_hidden_reads(effects, resolver.project_root)
    return [*effects, *_derive_secret_sends(effects)]


def _find_start(section: CodeSection, path: str, resolver: TargetResolver) -> Word | None:
    """Return where a section runs: at the top of the project, beside the file, or where the program is that it names.

    What a program looks for in its working directory runs there: `.latexmkrc`, `docs/Makefile`.
    """
    if is_found_in_place(path) and path.startswith(resolver.project_root + "/"):
        return Word(dirname(path))
    program = (section.text.split(None, 1) or [""])[0]
    program = program if "/" in program and program[:1] not in "/~$" else ""
    place = dirname(path)
    while program and place.startswith(resolver.project_root + "/"):
        if resolver.facts.text(normpath(f"{place}/{program}")) is not None:
            return Word(place)
        place = dirname(place)
    return Word(resolver.project_root) if resolver.project_root else None


def _name_script(text: str, path: str) -> str:
    """Return the text of a script so that it finds its own directory: `cd "$(dirname "$0")/.."`."""
    if "$0" not in text and "BASH_SOURCE" not in text:
        return text
    name = quote_shell_word(path)
    return f"BASH_SOURCE={name} sh -c {quote_shell_word(text)} {name}"


def _derive_secret_sends(effects: Sequence[Effect]) -> Iterator[Effect]:
    """Yield `cred.send` where one program reads a secret and talks to another machine."""
    reads = [effect for effect in effects if effect.what.startswith("cred.read") and effect.certain]
    for send in effects if reads else ():
        if send.what.startswith(OUTGOING_PREFIXES) and not all(host.is_local_host(t.text) for t in send.targets):
            yield derive_effect("cred.send", send, send.targets)
            return


def is_arming(effect: Effect, project_root: str, section: CodeSection | None = None) -> bool:
    """Return whether an effect arms the text that has it."""
    what = effect.what
    if not effect.certain:
        # What a pattern selects of a home: at least one file is there, or the command would not have been written.
        if not what.startswith(_LOSS_PREFIXES) or effect.recoverable:
            return False
        return any(_is_selection(target, project_root) for target in effect.targets)
    if section is not None and section.language == IMAGE:
        # It runs apart from the machine, with what was copied into the image: only what leaves can do harm.
        return what.startswith(_LEAVING_PREFIXES)
    if what == "net.shell" and section is not None:
        return _SHELL_PROGRAM.search(section.text) is not None
    if what.startswith(_ARMING_PREFIXES):
        return True
    if what in _DATA_LOSSES:
        # A migration drops tables by design; one that goes to what people depend on says so in its text.
        if section is None or effect.recoverable:
            return False
        return bool(_LIVE_ADDRESS.search(section.text) or _OTHER_MACHINE.search(section.text))
    if what.startswith(_DISCARDING_PREFIXES):
        return not effect.recoverable
    if what == "git.discard" and section is not None:
        # One file is often put back by a build; a directory holds what a person works on.
        return not effect.recoverable and any(map(_is_whole_directory, effect.targets))
    if what.startswith(_LOSS_PREFIXES):
        return not effect.recoverable and any(_is_precious(target, project_root) for target in effect.targets)
    if what in ("cred.read", "cred.write"):
        return any(is_foreign_secret(target, project_root) for target in effect.targets)
    if what in _CONTENT_EFFECTS:
        return any(target.path.startswith(_MACHINE_DIRECTORIES) for target in effect.targets)
    return False


def _is_selection(target: Target, project_root: str) -> bool:
    """Return whether a pattern selects the target in a home, on the machine, or among all that the project has.

    `find ~ -name '*.key'`, and `ls | grep -v '^src$' | xargs rm -rf` for all that is not named.
    """
    is_outer = "*" in target.path and target.zone in (Zone.HOME, Zone.SYSTEM, Zone.SECRET)
    return is_outer or (bool(project_root) and target.path == f"{project_root}/*")


def _is_whole_directory(target: Target) -> bool:
    """Return whether a target is a directory by its name, whose changes are in no commit."""
    return target.state == "modified" and target.zone is Zone.PROJECT and "." not in basename(target.path)


def _is_precious(target: Target, project_root: str) -> bool:
    """Return whether a lost path lies outside the project, is all of it, or holds work that no commit has."""
    if target.zone in _OUTER_ZONES:
        return True
    # A directory with one edited file is not meant: what a session edits is `modified`, too.
    if target.state == "untracked" and target.zone is Zone.PROJECT:
        return True
    if not project_root:
        return False
    is_history = target.path.startswith(tuple(f"{project_root}/.git/{part}" for part in _REPOSITORY_PARTS))
    # All but what is named: `rm -rf !(src|docs)`.
    is_rest = target.path.startswith(f"{project_root}/!(")
    whole = (project_root, f"{project_root}/.git", f"{project_root}/*", f"{project_root}/**/*")
    return is_history or is_rest or target.path in whole


def _find_line(section: CodeSection, effect: Effect) -> int:
    """Return the line that has most of the words of an effect; lines of one section are counted from its beginning."""
    lines = section.text.split("\n")
    if len(lines) == 1:
        return section.line
    words = [effect.by, *(target.text for target in effect.targets), *(t.path for t in effect.targets)]
    tokens = {token for word in words for part in re.split(r"[/:]", word) for token in _TOKEN.findall(part)}
    verbs = _VERBS.get(effect.what.partition(".")[0], ())
    best_line, best_score = 0, 0
    for index, line in enumerate(lines):
        score = sum(len(token) for token in tokens if token in line)
        score += 3 if any(verb in line for verb in verbs) else 0
        if score > best_score and not line.lstrip().startswith(("#", "import ", "from ")):
            best_line, best_score = index, score
    return section.line + best_line
