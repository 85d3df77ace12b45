"""The policy graph: guards, combinators, rules, the context of an evaluation and the engine. No input or output."""

from __future__ import annotations
