"""The only modules that look at the disk, at git and at the clock."""

from __future__ import annotations
