"""The warm process behind the hooks: it answers hook calls over a socket exactly as the hook process would."""

from __future__ import annotations
