"""The nouns: frozen values that refuse to exist when wrong. Pure."""

from __future__ import annotations
