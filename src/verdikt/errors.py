"""All exceptions that verdikt raises on purpose, as one tree.

    VerdiktError
    ├── PolicyError           a policy, a graph or a rule that cannot be built
    ├── ManifestError         a tool manifest that cannot be read, or a tool it doesn't declare
    ├── PostureError          a move between postures that is not allowed
    ├── HookError             a payload that is not a tool call
    ├── WiringError           a host's settings that cannot be changed
    ├── CanonicalError        a value that has no canonical bytes
    ├── BlockedError          an action that a policy blocked, raised by `Enforcer`
    ├── SessionError          a session's state that cannot be read or written
    ├── LedgerError           a log that cannot be written or read
    │   ├── ChainBroken       a log with a broken hash chain
    │   └── KeyringError      a key that is missing, unreadable or not trusted
    ├── DaemonError           a warm process that cannot be started or reached
    ├── McpError              a message, a pin or a server that the MCP relay cannot use
    ├── ServiceError          a team service that cannot be started, or a store of it that cannot be used
    │   └── WireError         a message between machine and service that is not in its form
    ├── FindingError          a finding, plan or verdict that cannot be used
    ├── SdkMissing            an agent SDK that an adapter needs and that is not installed
    └── GuidanceError         a tool policy, feedback provider or checker that cannot be built

A refusal is a value (a `Verdict`), never an exception; only `Enforcer` and `govern` turn it into one,
because that is their purpose.
"""

from __future__ import annotations

from collections.abc import Sequence


class VerdiktError(Exception):
    """The base of all exceptions that verdikt raises on purpose."""


class PolicyError(VerdiktError):
    """A policy that cannot be built; `where` is the file, line and column when it came from a file.

    `faults` has one error for each fault; the message has a line for each.
    """

    def __init__(self, message: str, *, where: str = "") -> None:
        super().__init__(f"{where}: {message}" if where else message)
        self.message = message
        self.where = where
        self.faults: tuple[PolicyError, ...] = (self,)

    @classmethod
    def from_faults(cls, faults: Sequence[PolicyError]) -> PolicyError:
        """Return one error for all these faults."""
        if len(faults) == 1:
            return faults[0]
        error = cls("\n".join(map(str, faults)))
        error.faults = tuple(faults)
        return error


class ManifestError(VerdiktError):
    """A tool manifest that cannot be read, or a tool that it does not declare."""


class PostureError(VerdiktError):
    """A move between postures that is not allowed."""


class HookError(VerdiktError):
    """A payload that is not a tool call."""


class DaemonError(VerdiktError):
    """A warm process that cannot be started, reached or ended; the message says what to do."""


class WiringError(VerdiktError):
    """A host's settings that cannot be read or changed; the message names the file and what to do."""


class CanonicalError(VerdiktError):
    """A value that has no canonical bytes: NaN, a lone surrogate, a duplicate key."""


class BlockedError(VerdiktError):
    """An action that a policy blocked, with name, reason and fix of the deciding guard."""

    def __init__(self, message: str, *, guard: str = "", reason: str = "", fix: str = "") -> None:
        super().__init__(message)
        self.guard = guard
        self.reason = reason
        self.fix = fix


class SessionError(VerdiktError):
    """A session's state that cannot be read or written; the message names the file and what to do."""


class LedgerError(VerdiktError):
    """A log that cannot be written or read; the message names the file and what to do."""


class ChainBroken(LedgerError):
    """A log with a broken hash chain."""


class KeyringError(LedgerError):
    """A key that is missing, unreadable or not trusted."""


class McpError(VerdiktError):
    """A message, a pin or a server that the MCP relay cannot use."""


class ServiceError(VerdiktError):
    """A team service that cannot be started, or whose store cannot be used; the message says what to do."""


class WireError(ServiceError):
    """A message between a machine and the team service that is not in its form."""


class FindingError(VerdiktError, ValueError):
    """A finding, plan or verdict that cannot be used."""


class GuidanceError(VerdiktError):
    """A tool policy, feedback provider or checker that cannot be built."""


class SdkMissing(VerdiktError, ImportError):
    """An agent SDK that an adapter needs and that is not installed; the message names the extra."""
