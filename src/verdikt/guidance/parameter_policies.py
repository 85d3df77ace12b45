"""Policies about parameters: files that must be read before they are overwritten, arguments that must fit a schema."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from verdikt.errors import GuidanceError
from verdikt.guidance.tool_policy import PolicyContext, PolicyDecision
from verdikt.model.action import ActionKind, Outcome
from verdikt.model.tool_kind import classify_tool

_REVEALING_EFFECTS = frozenset({"fs.read", "fs.write", "fs.overwrite", "fs.append"})
"""Effects after which the agent knows what a file holds."""

MAX_MARKED_FILES = 64
"""Number of files of one call that are marked."""

WATCHED_FILES = 16
"""Number of files read last that are compared with the disk after each call."""

_PATH_FIELDS = ("path", "file_path", "notebook_path", "absolute_path", "filename")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBeforeWritePolicy:
    """An existing file must have been read, as it is now, before it is overwritten; new files are free.

    What the agent itself just wrote counts as read; a file that changed on disk since then does not. Without a
    filesystem to look at, the call is denied. The policy also covers what a shell command certainly replaces, as `>`
    does, unless `shell` is false.
    """

    read_tools: frozenset[str] = frozenset({"read_file"})
    write_tools: frozenset[str] = frozenset({"write_file", "edit_file"})
    mount_point: str | None = None
    shell: bool = True
    name: str = "read_before_write"
    fix: str = "read the file first, then write it"

    def check(self, tool: str, params: Mapping[str, Any], *, context: PolicyContext) -> PolicyDecision:
        """Deny overwriting an existing file whose current contents the session has not seen."""
        names = self._find_overwritten_paths(tool, params, context)
        if not names:
            return PolicyDecision.allow()
        if context.filesystem is None:
            return PolicyDecision.deny(f"No filesystem available to tell whether '{names[0]}' was read.")
        unread = next((name for name in names if self._is_unread(self._canonical_path(name, context), context)), "")
        if not unread:
            return PolicyDecision.allow()
        if context.memory.get_mark(self.name, self._canonical_path(unread, context).casefold()):
            # Restored, or changed by another process: the agent would write over what it has never seen.
            return PolicyDecision.deny(
                f"File '{unread}' changed since it was read; it must be read before overwriting."
            )
        return PolicyDecision.deny(f"File '{unread}' must be read before overwriting.")

    def on_result(self, tool: str, params: Mapping[str, Any], result: Outcome, *, context: PolicyContext) -> None:
        """Mark the contents of what was read or written."""
        if context.filesystem is None:
            return
        raw = _path_parameter(params)
        if raw and (self._is_read_tool(tool) or self._is_write_tool(tool)):
            paths = [self._canonical_path(raw, context)]
        elif self._is_write_tool(tool) or classify_tool(tool) is ActionKind.BASH:
            revealing = [effect for effect in context.effects if effect.certain and effect.what in _REVEALING_EFFECTS]
            paths = [target.path for effect in revealing for target in effect.targets if target.path]
        else:
            return
        # A glob can name thousands of files; each mark is stored in the log.
        for path in paths[:MAX_MARKED_FILES]:
            real = context.filesystem.path(path, git=False).real
            # The stamp of the contents, not the time: a file that was rewritten unchanged still counts as read.
            if stamp := context.filesystem.content_stamp(real):
                context.memory.set_mark(stamp, self.name, real.casefold())
                self._watch_file(real, stamp, context)

    def _watch_file(self, path: str, stamp: str, context: PolicyContext) -> None:
        """Remember a file that was read, in place of the one that was read longest ago."""
        assert context.filesystem is not None
        slots = [context.memory.get(self.name, "watched", str(number)) for number in range(WATCHED_FILES)]
        known = [number for number, slot in enumerate(slots) if slot and slot["path"] == path]
        number = known[0] if known else int(context.memory.get(self.name, "next") or 0) % WATCHED_FILES
        if not known:
            context.memory.keep(number + 1, self.name, "next")
        written = round(context.filesystem.modification_time(path) * 1000)
        context.memory.keep({"path": path, "stamp": stamp, "written": written}, self.name, "watched", str(number))

    def find_changed_files(self, context: PolicyContext) -> list[str]:
        """Return the files that differ from what the agent last saw of them; each change is returned once."""
        facts, changed = context.filesystem, []
        if facts is None:
            return []
        for number in range(WATCHED_FILES):
            slot = context.memory.get(self.name, "watched", str(number))
            if not slot:
                break
            # The time first: one question about the file instead of reading it.
            written = round(facts.modification_time(slot["path"]) * 1000)
            if written == slot["written"]:
                continue
            stamp = facts.content_stamp(slot["path"])
            if stamp != slot["stamp"]:
                changed.append(slot["path"])
            slot = {"path": slot["path"], "stamp": stamp, "written": written}
            context.memory.keep(slot, self.name, "watched", str(number))
        return changed

    def _find_overwritten_paths(self, tool: str, params: Mapping[str, Any], context: PolicyContext) -> list[str]:
        """Return the files that a call would overwrite, as it names them."""
        if self._is_write_tool(tool):
            raw = _path_parameter(params)
            # A patch names its files in its text: then the effects tell them.
            return [raw] if raw else [t.path for e in context.effects.named("fs") for t in e.targets if t.path]
        if not self.shell or classify_tool(tool) is not ActionKind.BASH:
            return []
        replaced = [effect for effect in context.effects if effect.certain and effect.what == "fs.overwrite"]
        return [target.path for effect in replaced for target in effect.targets if target.path]

    def _is_unread(self, path: str, context: PolicyContext) -> bool:
        facts = context.filesystem
        assert facts is not None
        # A new file hides nothing that should have been read.
        if facts.path(path, git=False).kind == "absent":
            return False
        # Where case does not tell files apart, two spellings are one file; where it does, the contents do.
        return context.memory.get_mark(self.name, path.casefold()) != (facts.content_stamp(path) or "unknown")

    def _is_read_tool(self, tool: str) -> bool:
        return tool in self.read_tools or classify_tool(tool) is ActionKind.READ

    def _is_write_tool(self, tool: str) -> bool:
        return tool in self.write_tools or classify_tool(tool) is ActionKind.WRITE

    def _canonical_path(self, raw: str, context: PolicyContext) -> str:
        """Return one name for a file, however it is spelled: without mount point, `.`, `..` and links."""
        facts = context.filesystem
        assert facts is not None
        path = raw
        if self.mount_point:
            mount = "/" + self.mount_point.strip("/")
            absolute = "/" + path.lstrip("/")
            if absolute == mount or absolute.startswith(mount + "/"):
                path = absolute[len(mount) :].lstrip("/")
            path = path.lstrip("/")
        # A shell would expand it; a file tool of some hosts does too.
        if path.startswith("~/"):
            path = posixpath.join(facts.home, path[2:])
        absolute = "/" + posixpath.normpath(posixpath.join(facts.cwd, path)).lstrip("/")
        return facts.path(absolute, git=False).real


def _path_parameter(params: Mapping[str, Any]) -> str:
    return next((value for name in _PATH_FIELDS if isinstance(value := params.get(name), str) and value), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterPolicy:
    """A tool's arguments must fit a JSON Schema."""

    tool: str
    schema: Mapping[str, Any]
    name: str = "parameters"
    fix: str = "give the arguments that the schema asks for"
    _validator: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Heavy, and only needed by a policy that names a schema.
        import jsonschema

        try:
            jsonschema.Draft202012Validator.check_schema(dict(self.schema))
        except jsonschema.SchemaError as error:
            raise GuidanceError(f"expected a JSON Schema for `{self.tool}`, found: {error.message}") from error
        object.__setattr__(self, "_validator", jsonschema.Draft202012Validator(dict(self.schema)))

    def check(self, tool: str, params: Mapping[str, Any], *, context: PolicyContext) -> PolicyDecision:
        """Deny arguments that do not fit the schema."""
        if tool != self.tool:
            return PolicyDecision.allow()
        faults = sorted(
            self._validator.iter_errors(dict(params)), key=lambda fault: list(map(str, fault.absolute_path))
        )
        if not faults:
            return PolicyDecision.allow()
        # Only the first fault: the agent fixes one at a time, and messages can be long.
        where = ".".join(map(str, faults[0].absolute_path)) or "arguments"
        return PolicyDecision.deny(f"Tool '{tool}': {where}: {faults[0].message[:300]}")

    def on_result(self, tool: str, params: Mapping[str, Any], result: Outcome, *, context: PolicyContext) -> None:
        """Do nothing: there is nothing to remember."""
