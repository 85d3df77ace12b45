"""Which layers of a project work in one layer may touch."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from verdikt.errors import PolicyError
from verdikt.graph.context import GovernanceContext
from verdikt.graph.guard import BaseGuard
from verdikt.guards.file_access import FileAccess, is_below, list_file_accesses, resolve_root
from verdikt.layers import GovernanceLayer
from verdikt.model.action import Action
from verdikt.model.verdict import Verdict

_SLOT = "layer_isolation"


class LayerIsolationGuard(BaseGuard):
    """Keeps work that belongs to one layer of a project from changing the files of another.

    The layer at work is `current`, else what an earlier guard noted as annotation `layer`, else the one the action's
    directory lies in, else the first one that the session changed a file of.
    """

    name = "layer_isolation"
    governance_layer = GovernanceLayer.BOUNDARY

    def __init__(
        self,
        *,
        layers: Annotated[Mapping[str, Sequence[str]], "layer → its directories, given from the project's root"] = {},
        allowed: Annotated[Mapping[str, Sequence[str]], "layer → other layers that work in it may change"] = {},
        current: Annotated[str, "the layer at work, when it is known beforehand"] = "",
        block_reads: Annotated[bool, "whether other layers may not even be read"] = False,
    ) -> None:
        for layer in (*allowed, *(other for others in allowed.values() for other in others), *filter(None, [current])):
            if layer not in layers:
                raise PolicyError(f"expected a layer of {', '.join(layers) or 'none'}, found `{layer}`")
        self._layers = {layer: tuple(directories) for layer, directories in layers.items()}
        self._allowed = {layer: frozenset(others) for layer, others in allowed.items()}
        self._current = current
        self._block_reads = block_reads

    def check(self, action: Action, ctx: GovernanceContext | None = None) -> Verdict:
        """The first file of a foreign layer that the action touches."""
        ctx = ctx or GovernanceContext(action)
        root = resolve_root(action, ctx)
        current = self._find_current_layer(action, ctx, root)
        for touch in list_file_accesses(action, ctx):
            layer = self._find_layer(touch, root)
            if not layer or not (touch.writes or self._block_reads):
                continue
            if not current:
                current = ctx.session.slots[_SLOT] = layer
            if layer != current and layer not in self._allowed.get(current, ()):
                verb = "changed" if touch.writes else "read"
                return Verdict.block(
                    guard=self.name,
                    reason=f"`{touch.text[:200]}` belongs to layer `{layer}` and may not be {verb} from layer `{current}`",
                    fix=f"make the change in layer `{current}`, or ask for the work in `{layer}` to be done as a task of its own",
                )
        return Verdict.pass_(guard=self.name)

    def _find_current_layer(self, action: Action, ctx: GovernanceContext, root: str) -> str:
        noted = self._current or ctx.annotations.get("layer")
        if isinstance(noted, str) and noted in self._layers:
            return noted
        if action.cwd and (here := self._find_layer(FileAccess(action.cwd, action.cwd, action.cwd, False), root)):
            return here
        kept = ctx.session.slots.get(_SLOT)
        return kept if isinstance(kept, str) and kept in self._layers else ""

    def _find_layer(self, access: FileAccess, root: str) -> str:
        """The layer with the longest directory around the file, because layers may lie inside each other."""
        found = [
            (len(directory), layer)
            for layer, directories in self._layers.items()
            for directory in directories
            if is_below(directory, access, root)
        ]
        return max(found)[1] if found else ""
