"""The append-only log: hash chain, signing keys, stores, projections, rotation, verification."""

from __future__ import annotations
