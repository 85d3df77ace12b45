"""What the log says about councils, whatever the files of the runs directory say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from verdikt.model.finding import Finding
from verdikt.model.reporter import Reporter


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """A finding that stops commits and is open against an earlier plan, with the contents that it is about."""

    plan_hash: str
    finding: Finding
    contents: Mapping[str, str] = field(default_factory=dict)  # file → mode and git id, as in the plan


class CouncilLog(Protocol):
    """The log of councils."""

    def find_open_levels(self, plan_hash: str) -> Mapping[str, str]:
        """Return the findings of a plan that are neither cleared nor superseded: id → level."""

    def find_reports(self, plan_hash: str) -> Mapping[str, frozenset[Reporter]]:
        """Return who completed a review or recorded a finding in the name of each reviewer."""

    def find_open(self, repo: str, council: str) -> Sequence[OpenFinding]:
        """Return the findings that are to be carried from plan to plan, the oldest first."""
