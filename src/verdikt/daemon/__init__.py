"""The warm process behind the hooks: asked through a socket, it decides as the hook process itself would."""

from __future__ import annotations
