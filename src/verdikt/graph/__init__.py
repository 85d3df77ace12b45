"""The policy graph: guards, combinators, context, engine. Pure."""

from __future__ import annotations
