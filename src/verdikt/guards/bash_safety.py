"""Which shell commands an agent may run."""

from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard import BaseGuard
from verdikt.graph.pattern import PatternSet, clean, compile_pattern
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action, ActionKind
from verdikt.model.effect import Effect, Zone
from verdikt.model.verdict import Verdict


class Danger(NamedTuple):
    """A command that is dangerous by its text, and the effects by which the same danger is known for certain."""

    pattern: str
    effects: tuple[str, ...]
    fix: str


_DEVICE = "(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper)"
_PATHS = "name the exact files below the project, or ask a person to run it"

DANGERS = (
    Danger(r"rm\s+-rf\s+/", ("fs.delete", "fs.shred"), _PATHS),
    Danger(r"\brm\s+(?:-\S+\s+)+[\"']?(?:/|~|\$HOME)[\"'/*]*(?:[\s;&|)]|$)", ("fs.delete", "fs.shred"), _PATHS),
    Danger(r"\bmkfs(?:\.\w+)?\s", ("disk.format", "disk.partition"), "ask a person to prepare the disk"),
    Danger(r"\bdd\s[^|;&]*\bof=/dev/" + _DEVICE, ("disk.write",), "write to a file instead of a device"),
    Danger(r">\s*/dev/" + _DEVICE, ("disk.write",), "write to a file instead of a device"),
    Danger(r"\(\)\s*\{\s*\w*:?\s*\|\s*\w*:?\s*&", ("sys.crash",), "start a bounded number of processes"),
    Danger(r"\bchmod\s+(?:-\S+\s+)*0?777\s+/(?:\s|$)", ("fs.chmod.tree",), "change the one file that needs it"),
    Danger(
        r"\b(?:curl|wget)\b[^;&]*\|\s*(?:sudo\s+)?(?:\S*/)?(?:ba|z|da|k)?sh\b",
        ("code.remote",),
        "download it to a file, read it, then run it",
    ),
    Danger(
        r"\bgit\s+push\b[^|;&]*\s(?:--force|-f)(?:\s|$)",
        ("git.push.force", "git.push.mirror"),
        "push with --force-with-lease",
    ),
    Danger(r"(?i)\bDROP\s+(?:TABLE|DATABASE|SCHEMA)\b", ("db.drop",), "write a migration and ask a person to run it"),
    Danger(
        r"^\s*(?:sudo\s+)?(?:shutdown|reboot|halt|poweroff)\b",
        ("sys.power",),
        "leave the machine running; ask a person if it must restart",
    ),
)

_SAFE_ZONES = (Zone.PROJECT, Zone.TEMP)
_SEPARATORS = ";&|\n`$<>()"
_KEYWORDS = ("{", "!", "then", "do", "else", "if", "while", "until", "time", "elif")


class BashSafetyGuard(BaseGuard):
    """Blocks shell commands by pattern and by prefix, and by what they would do where their effects are known.

    When effects are known, a built-in pattern only counts if its effect is there too: printing `rm -rf /` harms nothing,
    and `rm -r -f /` is blocked although no pattern fits it.
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
        self._dangers = DANGERS if defaults else ()
        builtin = {danger.pattern for danger in self._dangers}
        self._patterns = tuple(pattern for pattern in dict.fromkeys(blocked_patterns) if pattern not in builtin)
        self._prefixes = tuple(" ".join(prefix.split()) for prefix in blocked_prefixes if prefix.strip())
        self._allowed = tuple(map(compile_pattern, allowed))
        for pattern in self._patterns:
            compile_pattern(pattern)
        self._set: PatternSet | None = None

    def check(self, action: Action, ctx: GovernanceContext | None = None) -> Verdict:
        """The first objection to the command."""
        command = action.command
        if action.kind != ActionKind.BASH or not command or self._excepted(command):
            return Verdict.pass_(guard=self.name)
        ctx = ctx or GovernanceContext(action)
        effects = tuple(ctx.effects)
        if ctx.classified:
            verdict = self._by_effect(command, effects, ctx)
            if verdict is not None or not effects:  # what has no effect at all is only text
                return verdict or Verdict.pass_(guard=self.name)
        return self._by_text(command, ctx.classified) or Verdict.pass_(guard=self.name)

    def _excepted(self, command: str) -> bool:
        command = command.strip()
        if not self._allowed or any(char in command for char in _SEPARATORS):
            return False
        return any(pattern.fullmatch(clean(command)) for pattern in self._allowed)

    def _by_text(self, command: str, classified: bool) -> Verdict | None:
        own, dangers = self._hits(command)
        if own:
            return self._block(own[0], "find another way, or ask the person who keeps the policy")
        if dangers and not classified:
            return self._block(dangers[0].pattern, dangers[0].fix)
        for prefix in self._prefixes:
            if prefix.split()[0] in command and any(
                part == prefix or part.startswith(f"{prefix} ") for part in _parts(command)
            ):
                fix = f"do it without `{prefix}`, or ask a person to run it"
                return Verdict.block(guard=self.name, reason=f"Command starts with blocked prefix: {prefix}", fix=fix)
        return None

    def _by_effect(self, command: str, effects: tuple[Effect, ...], ctx: GovernanceContext) -> Verdict | None:
        root = ctx.facts.project_root if ctx.facts is not None else ctx.action.cwd
        doubt: Verdict | None = None
        for danger in self._dangers:
            for effect in effects:
                if not _is(effect, danger.effects) or effect.recoverable or _contained(effect, root):
                    continue
                if effect.certain:
                    if written := next((hit for hit in self._hits(command)[1] if _is(effect, hit.effects)), None):
                        return self._block(written.pattern, written.fix)
                    reason = f"`{effect.by or command[:120]}` cannot be undone: {effect.what} {effect.target}".rstrip()
                    return Verdict.block(guard=self.name, reason=reason, fix=danger.fix)
                if doubt is None:
                    reason = f"`{effect.by or command[:120]}` may do what cannot be undone: {effect.what}"
                    doubt = Verdict.ask(guard=self.name, reason=reason, fix=danger.fix)
        return doubt

    def _hits(self, command: str) -> tuple[list[str], list[Danger]]:
        """The patterns that occur in the command: the policy's own, and the built-in ones."""
        if self._set is None:
            self._set = PatternSet((*self._patterns, *(danger.pattern for danger in self._dangers)))
        own = len(self._patterns)
        numbers = sorted(self._set.search(command))
        return [self._patterns[n] for n in numbers if n < own], [self._dangers[n - own] for n in numbers if n >= own]

    def _block(self, pattern: str, fix: str) -> Verdict:
        return Verdict.block(guard=self.name, reason=f"Command matches blocked pattern: {pattern}", fix=fix)


def _is(effect: Effect, names: tuple[str, ...]) -> bool:
    return any(effect.what == name or effect.what.startswith(f"{name}.") for name in names)


def _contained(effect: Effect, root: str) -> bool:
    """Whether the effect falls on files of the project or temporary ones alone, and not on the project as a whole."""
    targets = effect.targets
    return bool(targets) and all(t.kind == "path" and t.zone in _SAFE_ZONES and t.path != root for t in targets)


def _parts(command: str) -> Iterator[str]:
    """The commands of a command line as written, without keywords and assignments before them; quotes are respected."""
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
            words = "".join(part).split()
            while words and (words[0] in _KEYWORDS or ("=" in words[0] and words[0].split("=", 1)[0].isidentifier())):
                words.pop(0)
            yield " ".join(words)
            part = []
            continue
        part.append(char)
    if part:
        yield " ".join("".join(part).split())
