"""Recognise scripts of a web page that send what the page knows its visitor by to another machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from verdikt.effects import host
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

_SESSION = compile_lazily(
    r"\bdocument\.cookie\b(?!\s*=(?!=))|\b(?:local|session)Storage\b(?!\s*\.\s*(?:setItem|removeItem|clear)\b)"
    r"|\bstorageState\s*\(|\bcontext\(\)\s*\.\s*cookies\s*\("
)
"""Reads cookies or the page's storage; writing them is no reading."""
_SENDER = compile_lazily(
    r"(?i)\bsendBeacon\s*\(|\bXMLHttpRequest\b|\b(?:WebSocket|EventSource)\s*\(|\.submit\s*\(|\bwindow\.open\s*\("
    r"|\.(?:src|href|action)\s*=(?!=)|\blocation\s*=(?!=)|\blocation\.(?:assign|replace)\s*\(|\.(?:post|put|patch)\s*\("
    r"|method['\"]?\s*:\s*['\"](?:POST|PUT|PATCH)"
)
"""What carries data to an address, besides a plain request for it."""
_ADDRESS = compile_lazily(r"""['"`](?:(?:https?|wss?):)?(//[^'"`\s]+)""")
_EXTENDED_ADDRESS = compile_lazily(r"""['"`](?:(?:https?|wss?):)?(//[^'"`\s$]*)(?:\$\{|['"`]\s*(?:\+|\.concat\b))""")
"""An address to which the script adds something: `"https://x.example/?" + …`."""


def classify_page_session(text: str, call: Invocation) -> Iterator[Effect]:
    """Yield the effect of a script that reads a page's session and sends it away."""
    if _SESSION.search(text) is None:
        return
    pattern = _ADDRESS if _SENDER.search(text) else _EXTENDED_ADDRESS
    names = (host.parse_host(f"https:{address}") for address in pattern.findall(text))
    for name in dict.fromkeys(name for name in names if name and not host.is_local_host(name)):
        yield call.make_effect("cred.send", (Target(name, "host"),), note="what a page knows its visitor by")
