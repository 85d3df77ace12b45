"""Import of an SDK that is no dependency of ours: a missing one is an error that names the extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from verdikt.errors import SdkMissing


def import_sdk(module: str, extra: str) -> Any:
    """Return a module of an SDK; raise `SdkMissing` with the extra to install when it is not there."""
    try:
        return import_module(module)
    except ImportError as error:
        raise SdkMissing(
            f"`{module}` can't be imported ({error}); install it with `pip install 'verdikt-runtime[{extra}]'`"
        ) from error
