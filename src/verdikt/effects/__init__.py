"""Classification of actions: what an action would do, as effects. Pure: no clock, no disk, no network.

Names for callers: `EffectClass`, `PRECEDENCE` and `most_restrictive` in this package, the manifest in
`verdikt.effects.manifest`, its classifier in `verdikt.effects.declared`, postures in `verdikt.model.posture`, and
receipts in `verdikt.model.spine` (eight fields) and `verdikt.model.receipt` (everything that a decision rests on).
"""

from __future__ import annotations

from verdikt.model.effect import PRECEDENCE, EffectClass, most_restrictive

__all__ = ["PRECEDENCE", "EffectClass", "most_restrictive"]
