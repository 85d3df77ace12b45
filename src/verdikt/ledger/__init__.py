"""The log: chain, keys, stores, rotation."""

from __future__ import annotations
