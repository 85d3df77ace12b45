"""A guard that keeps work in one layer of a project out of the other layers."""

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
    """Blocks changes to the files of a layer from work in another layer.

    The current layer is the setting `current`, else the annotation `layer` of an earlier guard, else the layer of the
    action's directory, else the first layer in which the session changed a file.
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
        """Return a block for the first file of another layer that the action accesses, or a pass."""
        ctx = ctx or GovernanceContext(action)
        root = resolve_root(action, ctx)
        current = self._find_current_layer(action, ctx, root)
        for access in list_file_accesses(action, ctx):
            layer = self._find_layer(access, root)
            if not layer or not (access.writes or self._block_reads):
                continue
            if not current:
                current = ctx.session.slots[_SLOT] = layer
            if layer != current and layer not in self._allowed.get(current, ()):
                verb = "changed" if access.writes else "read"
                return Verdict.block(
                    guard=self.name,
                    reason=f"`{access.text[:200]}` belongs to layer `{layer}`"
                    f" and may not be {verb} from layer `{current}`",
                    fix=f"make the change in layer `{current}`,"
                    f" or ask for the work in `{layer}` to be done as a task of its own",
                )
        return Verdict.pass_(guard=self.name)

    def _find_current_layer(self, action: Action, ctx: GovernanceContext, root: str) -> str:
        configured = self._current or ctx.annotations.get("layer")
        if isinstance(configured, str) and configured in self._layers:
            return configured
        if action.cwd and (layer := self._find_layer(FileAccess(action.cwd, action.cwd, action.cwd, False), root)):
            return layer
        # A session's slots may stem from an earlier version of the policy with other layers.
        first_layer = ctx.session.slots.get(_SLOT)
        return first_layer if isinstance(first_layer, str) and first_layer in self._layers else ""

    def _find_layer(self, access: FileAccess, root: str) -> str:
        """Return the layer with the longest directory around the file, because layers may be nested."""
        candidates = [
            (len(directory), layer)
            for layer, directories in self._layers.items()
            for directory in directories
            if is_below(directory, access, root)
        ]
        return max(candidates)[1] if candidates else ""
