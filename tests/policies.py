"""Policies for tests: a small registry of guards, and profiles of two rules."""

from typing import ClassVar

from verdikt.graph.guard import BaseGuard
from verdikt.graph.policy import Policy
from verdikt.graph.policy_registry import PolicyRegistry
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action
from verdikt.model.schema_type import Field, Section, choice_type, mapping_type
from verdikt.model.verdict import Verdict
from verdikt.model.yaml_document import YamlDocument, parse_document
from verdikt.observe.policy_files import PolicyFile
from verdikt.policy import build_policy, load_object

SHORT_SECTIONS = """
boundaries:
  allowed_dirs: [src, tests, docs]
  red_line_files: [src/auth/handler.py]
bash_safety:
  blocked_patterns:
    - 'rm\\s+-rf\\s+/'
    - 'DROP\\s+TABLE'
"""
"""The two sections that are short for guards."""


class Saying(BaseGuard):
    """A guard whose settings determine its verdict."""

    governance_layer: ClassVar[GovernanceLayer] = GovernanceLayer.INTENT

    def __init__(
        self, *, says: str = "pass", name: str = "saying", words: list[str] | None = None, limit: int = 3
    ) -> None:
        if limit < 0:
            raise ValueError(f"expected a limit of 0 or more, found {limit}")
        self.name = name
        self.says = says
        self.words = words
        self.limit = limit

    def check(self, action: Action, ctx: object) -> Verdict:
        """As set up."""
        if self.says == "block":
            return Verdict.block(guard=self.name, reason=f"{self.name} blocks", fix="do not")
        return Verdict.pass_(guard=self.name)


class FileBoundary(Saying):
    """Settings of the short section `boundaries`."""

    def __init__(self, *, allowed_dirs: list[str] | None = None, red_line_files: list[str] | None = None) -> None:
        super().__init__(name="file_boundary")
        self.dirs = allowed_dirs
        self.files = red_line_files


class BashSafety(Saying):
    """Settings of the short section `bash_safety`."""

    def __init__(self, *, blocked_patterns: list[str] | None = None) -> None:
        super().__init__(name="bash_safety", says="block" if blocked_patterns else "pass")


def strictest_mode(values: list[dict[str, str]]) -> dict[str, str]:
    """Return the strictest value: a section that only tightens."""
    order = ["off", "shadow", "enforce"]
    return max(values, key=lambda value: order.index(value["mode"]))


MODES = mapping_type({"mode": Field(choice_type(["off", "shadow", "enforce"]), "how strict", required=True)})
REGISTRY = PolicyRegistry(
    guards={"saying": Saying, "file_boundary": FileBoundary, "bash_safety": BashSafety},
    sections={"evidence": Section(MODES, "which claims need proof", merge=strictest_mode)},
    effects=["fs.delete", "fs.delete.tree", "fs.read", "unknown.tool"],
    load=load_object,
)

PROFILES = {
    "standard": """
unknown_tools: ask
rules:
  - {name: no_delete, effect: fs.delete, verdict: ask, reason: "deletes {target}", fix: move it}
  - {name: no_guard, zone: guard, verdict: block, reason: ours, fix: leave it, red_line: true}
""",
    "relaxed": "rules: [{name: no_guard, zone: guard, verdict: block, reason: ours, fix: leave it, red_line: true}]",
    "strict": "unknown_tools: block\nrules: [{name: no_bash, kind: bash, verdict: block, reason: none here, fix: ask}]",
}


def read_profile(name: str) -> YamlDocument:
    """Return a profile of the tests."""
    return parse_document(PROFILES[name], f"profiles/{name}.yaml")


def make_policy(**layers: str) -> Policy:
    """Build a policy from texts by layer name, the highest first; `file` alone is one file."""
    files = [PolicyFile(layer, f"{layer}.yaml", text.encode()) for layer, text in layers.items()]
    return build_policy(files, REGISTRY, read_profile)
