"""The values that all packages share: frozen, checked when they are built, without input or output."""

from __future__ import annotations
