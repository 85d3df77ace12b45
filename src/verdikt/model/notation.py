"""JSON read and written by the functions that `json` itself uses, because its modules take longer to load than to use.

Values, texts and errors are those of `json.loads` and `json.dumps`: whatever is out of the ordinary is handed to them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from json.encoder import encode_basestring as quote
    from typing import Any
else:
    try:
        from _json import encode_basestring as quote
    except ImportError:
        from json.encoder import encode_basestring as quote

__all__ = ["dump", "load", "loader", "quote", "raw_load"]

_SPACE = " \t\n\r"


class _Ways:
    """How values are made, as the scanner asks for it."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_constant = parse_float = float
    parse_int = int

    def __init__(self, ways: dict[str, Any]) -> None:
        vars(self).update(ways)


def loader(**ways: Any) -> Callable[[str], Any]:
    """`json.loads` of texts, with these of its hooks."""
    scan = _scanner(ways)

    def load(text: str) -> Any:
        try:
            value, end = scan(text, len(text) - len(text.lstrip(_SPACE)))
            if end == len(text) or not text[end:].strip(_SPACE):
                return value
        except (StopIteration, SystemError):
            pass  # the scanner cannot name the error as long as `json.decoder` is not loaded
        import json

        return json.loads(text, **ways)

    return load


def _scanner(ways: dict[str, Any]) -> Callable[[str, int], tuple[Any, int]]:
    try:
        from _json import make_scanner
    except ImportError:
        from json import JSONDecoder

        return JSONDecoder(**ways).scan_once  # type: ignore[attr-defined,no-any-return]
    return make_scanner(_Ways(ways))  # type: ignore[arg-type]


_load = loader()
_scan = _scanner({})


def load(text: str | bytes) -> Any:
    """What `json.loads` gives."""
    if isinstance(text, str):
        return _load(text)
    try:
        return _load(text.decode())
    except ValueError:
        import json

        return json.loads(text)  # which also tries other encodings


def raw_load(text: str, at: int = 0) -> tuple[Any, int]:
    """The value that begins there, and where it ends; what follows is not looked at."""
    try:
        return _scan(text, at)
    except (StopIteration, SystemError):
        from json import JSONDecoder

        return JSONDecoder().raw_decode(text, at)


def dump(value: Any) -> str:
    """What `json.dumps` gives without spaces."""
    try:
        from _json import encode_basestring_ascii, make_encoder
    except ImportError:
        import json

        return json.dumps(value, separators=(",", ":"))
    return "".join(make_encoder({}, _refuse, encode_basestring_ascii, None, ":", ",", False, False, True)(value, 0))


def _refuse(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
