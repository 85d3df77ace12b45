"""A guard that decides which shell commands an agent may run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple

from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard import BaseGuard
from verdikt.graph.re2_pattern import PatternSet, compile_pattern, replace_surrogates
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Effect, Zone
from verdikt.model.verdict import Verdict


class DangerousCommand(NamedTuple):
    """A pattern of a dangerous command, and the effects that show the same danger with certainty."""

    pattern: str
    effects: tuple[str, ...]
    description: str
    fix: str


_DEVICE = "(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper)"
_DELETE_REASON = "deletes files, which can't be undone"
_DELETE_FIX = "name the exact files below the project, or ask a person to run it"
_DISK_REASON, _DISK_FIX = "writes over a disk", "write to a file instead of a device"

RECURSIVE_ROOT_DELETE = DangerousCommand(r"rm\s+-rf\s+/", ("fs.delete", "fs.shred"), _DELETE_REASON, _DELETE_FIX)
"""The command whose block always cites its pattern, also where its effects are known."""

DANGEROUS_COMMANDS = (
    RECURSIVE_ROOT_DELETE,
    DangerousCommand(
        r"\brm\s+(?:-\S+\s+)+[\"']?(?:/|~|\$HOME)[\"'/*]*(?:[\s;&|)]|$)",
        ("fs.delete", "fs.shred"),
        _DELETE_REASON,
        _DELETE_FIX,
    ),
    DangerousCommand(
        r"\bmkfs(?:\.\w+)?\s", ("disk.format", "disk.partition"), "erases a disk", "ask a person to prepare the disk"
    ),
    DangerousCommand(r"\bdd\s[^|;&]*\bof=/dev/" + _DEVICE, ("disk.write",), _DISK_REASON, _DISK_FIX),
    DangerousCommand(r">\s*/dev/" + _DEVICE, ("disk.write",), _DISK_REASON, _DISK_FIX),
    DangerousCommand(
        r"\(\)\s*\{\s*\w*:?\s*\|\s*\w*:?\s*&",
        ("sys.crash",),
        "makes the machine unusable",
        "start a bounded number of processes",
    ),
    DangerousCommand(
        r"\bchmod\s+(?:-\S+\s+)*0?777\s+/(?:\s|$)",
        ("fs.chmod.tree",),
        "changes permissions, which can't be undone",
        "change the one file that needs it",
    ),
    DangerousCommand(
        r"\b(?:curl|wget)\b[^;&]*\|\s*(?:sudo\s+)?(?:\S*/)?(?:ba|z|da|k)?sh\b",
        ("code.remote",),
        "runs code from the network unseen",
        "download it to a file, read it, then run it",
    ),
    DangerousCommand(
        r"\bgit\s+push\b[^|;&]*\s(?:--force|-f)(?:\s|$)",
        ("git.push.force", "git.push.mirror"),
        "overwrites what others have published",
        "push with --force-with-lease",
    ),
    DangerousCommand(
        r"(?i)\bDROP\s+(?:TABLE|DATABASE|SCHEMA)\b",
        ("db.drop",),
        "drops a table or a database",
        "write a migration and ask a person to run it",
    ),
    DangerousCommand(
        r"^\s*(?:sudo\s+)?(?:shutdown|reboot|halt|poweroff)\b",
        ("sys.power",),
        "turns the machine off or restarts it",
        "leave the machine running; ask a person if it must restart",
    ),
)

_SAFE_ZONES = (Zone.PROJECT, Zone.TEMP)
_SEPARATORS = ";&|\n`$<>()"
# Shell words after which a command begins.
_KEYWORDS = ("{", "!", "then", "do", "else", "if", "while", "until", "time", "elif")


class BashSafetyGuard(BaseGuard):
    """Blocks shell commands by pattern and prefix, and by their effects where these are known.

    Known effects replace the built-in patterns: printing `rm -rf /` harms nothing, and `find / -delete` is blocked
    although no pattern fits it. Patterns and prefixes from the policy always apply as written: they are searched in the
    text of the command, and in each command as the shell would run it.
    """

    name = "bash_safety"
    governance_layer = GovernanceLayer.BOUNDARY

    def __init__(
        self,
        *,
        blocked_patterns: Annotated[Sequence[str], "re2 patterns searched in the command"] = (),
        blocked_prefixes: Annotated[Sequence[str], "words with which no command of a command line may begin"] = (),
        allowed: Annotated[
            Sequence[str], "re2 patterns; a single command that one of them fits whole is excepted"
        ] = (),
        defaults: Annotated[bool, "also block the commands that are dangerous everywhere"] = True,
    ) -> None:
        self._dangerous_commands = DANGEROUS_COMMANDS if defaults else ()
        # Also one that equals a built-in pattern: what the policy writes down applies to the text, as written.
        self._patterns = tuple(dict.fromkeys(blocked_patterns))
        self._prefixes = tuple(" ".join(prefix.split()) for prefix in blocked_prefixes if prefix.strip())
        self._allowed = tuple(map(compile_pattern, allowed))
        for pattern in self._patterns:
            compile_pattern(pattern)
        self._pattern_set: PatternSet | None = None  # compiled at the first shell command

    def check(self, action: Action, ctx: GovernanceContext | None = None) -> Verdict:
        """Return the first objection to the command, or a pass."""
        command = _read_command(action)
        if action.kind != ActionKind.BASH or self._is_allowed(command):
            return Verdict.pass_(guard=self.name)
        ctx = ctx or GovernanceContext(action)
        # The command as written and as the shell would run it: otherwise `s"ud"o` would be a way around a policy.
        texts = tuple(dict.fromkeys((command, *(effect.by for effect in ctx.effects))))
        own_patterns, dangers = self._match_patterns(command)
        own_patterns = own_patterns or [hit for text in texts[1:] for hit in self._match_patterns(text)[0]]
        if own_patterns:
            return self._block_pattern(own_patterns[0], "find another way, or ask the person who keeps the policy")
        verdict = self._check_prefixes(texts)
        if verdict is None and ctx.classified:
            verdict = self._check_effects(command, dangers, ctx)
        elif verdict is None and dangers:
            verdict = self._block_pattern(dangers[0].pattern, dangers[0].fix)
        return verdict or Verdict.pass_(guard=self.name)

    def _is_allowed(self, command: str) -> bool:
        command = command.strip()
        # A separator could append another command to an allowed one.
        if not self._allowed or any(char in command for char in _SEPARATORS):
            return False
        return any(pattern.fullmatch(replace_surrogates(command)) for pattern in self._allowed)

    def _check_prefixes(self, texts: tuple[str, ...]) -> Verdict | None:
        for prefix in self._prefixes:
            # Splitting a command line is slow, so only texts that contain the prefix's first word are split.
            candidates = (text for text in texts if prefix.split()[0] in text)
            if any(f"{part} ".startswith(f"{prefix} ") for text in candidates for part in _split_commands(text)):
                fix = f"do it without `{prefix}`, or ask a person to run it"
                return Verdict.block(guard=self.name, reason=f"Command starts with blocked prefix: {prefix}", fix=fix)
        return None

    def _check_effects(
        self, command: str, text_matches: list[DangerousCommand], ctx: GovernanceContext
    ) -> Verdict | None:
        """Return the objection that follows from the effects; `text_matches` are the dangers found in the text."""
        root = ctx.facts.project_root if ctx.facts is not None else ctx.action.cwd
        question: Verdict | None = None
        for effect in ctx.effects:
            # The effects of an unknown program say nothing, so its text is matched against the patterns.
            unknown_text = effect.by if text_matches and effect.what.startswith("unknown") else ""
            if unknown_text and (hits := self._match_patterns(unknown_text)[1]):
                return self._block_pattern(hits[0].pattern, hits[0].fix)
            danger = next(
                (danger for danger in self._dangerous_commands if _has_effect_name(effect, danger.effects)), None
            )
            if danger is None or effect.recoverable or _is_contained(effect, root):
                continue
            # A long command line is shown by the one command in it that has the effect.
            shown = command if 0 < len(command) <= 80 else effect.by or command[:80]
            if not effect.certain:
                reason = f"`{shown}` may do what can't be undone: it {danger.description}"
                question = question or Verdict.ask(guard=self.name, reason=reason, fix=danger.fix)
            elif RECURSIVE_ROOT_DELETE in text_matches and danger is RECURSIVE_ROOT_DELETE:
                return self._block_pattern(danger.pattern, danger.fix)
            else:
                return Verdict.block(guard=self.name, reason=f"`{shown}` {danger.description}", fix=danger.fix)
        return question

    def _match_patterns(self, command: str) -> tuple[list[str], list[DangerousCommand]]:
        """Return the patterns that occur in the command: the policy's own, and the built-in ones."""
        if self._pattern_set is None:
            self._pattern_set = PatternSet((*self._patterns, *(danger.pattern for danger in self._dangerous_commands)))
        own_count = len(self._patterns)
        numbers = sorted(self._pattern_set.search(command))
        own = [self._patterns[number] for number in numbers if number < own_count]
        return own, [self._dangerous_commands[number - own_count] for number in numbers if number >= own_count]

    def _block_pattern(self, pattern: str, fix: str) -> Verdict:
        return Verdict.block(guard=self.name, reason=f"Command matches blocked pattern: {pattern}", fix=fix)


def _has_effect_name(effect: Effect, names: tuple[str, ...]) -> bool:
    return any(effect.what == name or effect.what.startswith(f"{name}.") for name in names)


def _is_contained(effect: Effect, root: str) -> bool:
    """Return whether the effect is limited to temporary files or parts of the project."""
    targets = effect.targets
    return bool(targets) and all(t.kind == "path" and t.zone in _SAFE_ZONES and t.path != root for t in targets)


def _read_command(action: Action) -> str:
    """Return the command as written; Codex passes it as a list of words."""
    payload = action.payload
    words = payload.get("command") if isinstance(payload, Mapping) else None
    if isinstance(words, list | tuple):
        return " ".join(word for word in words if isinstance(word, str))
    return action.command


def _split_commands(command: str) -> Iterator[str]:
    """Yield the commands of a command line, without leading keywords and assignments; quotes are respected."""
    part: list[str] = []
    quote, escaped = "", False
    for char in command + ";":
        if escaped:
            escaped = False
        elif char == "\\" and quote != "'":
            escaped = True
            continue
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in ";&|\n`()":
            yield _normalize_command(part)
            part = []
            continue
        part.append(char)
    yield _normalize_command(part)


def _normalize_command(part: list[str]) -> str:
    """Return one command from its program's name on, without the program's directory."""
    words = "".join(part).split()
    while words and (words[0] in _KEYWORDS or ("=" in words[0] and words[0].split("=", 1)[0].isidentifier())):
        words.pop(0)
    return " ".join([words[0].rsplit("/", 1)[-1], *words[1:]]) if words else ""
