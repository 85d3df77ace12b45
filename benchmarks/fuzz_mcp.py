"""Fuzz the decoder of MCP messages for a minute: a message or a refusal, and the same message for everybody.

Guided by coverage where `atheris` can be imported, by chance otherwise. What the strict decoder accepts must mean the
same to the decoder of the standard library, after our own encoding, which is what the other side gets.
"""

import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SECONDS = 60.0
SEEDS = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_note","arguments":{"id":"\\u0000\\ud83d\\ude00"}}}',
    b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"frobnicate","arguments":{"path":"/etc/passwd"},'
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"requestState":"verdikt1.e30.e30"}}',
    b'{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"get_note","inputSchema":{"type":"object"}}],"nextCursor":"x"}}',
    b'{"jsonrpc":"2.0","id":3,"error":{"code":-32600,"message":"no"}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
    b'{"jsonrpc":"2.0","id":5,"result":{"resultType":"input_required","inputRequests":{"x":{"method":"roots/list"}}}}',
)
TOKENS = (b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\u", b"\\ud800", b"\x00", b"\xff", b"1e999", b"NaN", b'"id":1,')
FIELDS = {"jsonrpc", "id", "method", "params", "result", "error"}


def check_decoder(data: bytes) -> bool:
    """Decode some bytes, compare with another decoder, and return whether they are a message."""
    # Here, so that atheris can instrument the modules while they are imported.
    from verdikt.mcp.message import MessageError, decode_message, encode_message

    try:
        message = decode_message(data)
    except MessageError:
        return False
    encoded = encode_message(message)
    assert b"\n" not in encoded
    assert decode_message(encoded) == message
    assert json.loads(encoded) == keep_fields(json.loads(data))
    return True


def keep_fields(document: dict[str, Any]) -> dict[str, Any]:
    """Return what the relay keeps of a message: no unknown fields, and no `params` that are null."""
    return {key: value for key, value in document.items() if key in FIELDS and (key != "params" or value is not None)}


def mutate(chance: random.Random) -> bytes:
    """Return a seed with a few changes."""
    data = bytearray(chance.choice(SEEDS))
    for _ in range(chance.randint(1, 6)):
        position, kind = chance.randrange(len(data) + 1), chance.randrange(4)
        if kind == 0:
            data[position:position] = chance.choice(TOKENS)
        elif kind == 1:
            del data[position : position + chance.randint(1, 8)]
        elif kind == 2 and position < len(data):
            data[position] = chance.randrange(256)
        else:
            other = chance.choice(SEEDS)
            start = chance.randrange(len(other))
            data[position:position] = other[start : start + chance.randint(1, 40)]
    return bytes(data)


def main() -> None:
    """Run until the time is over or something raises."""
    seconds, seed = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS, time.time_ns()
    print(f"{seconds:g} seconds of random messages, seed {seed}", flush=True)
    try:
        import atheris  # not a dependency of the project
    except ImportError:
        chance, deadline, count, accepted = random.Random(seed), time.monotonic() + seconds, 0, 0
        while time.monotonic() < deadline:
            accepted += check_decoder(mutate(chance))
            count += 1
        print(f"{count} inputs, {accepted} of them messages; none failed otherwise")
        return
    with atheris.instrument_imports(include=["verdikt.mcp.message", "verdikt.model.canonical_json"]):
        check_decoder(SEEDS[0])
    with tempfile.TemporaryDirectory(prefix="fuzz_mcp_") as directory:
        for number, message in enumerate(SEEDS):
            Path(directory, str(number)).write_bytes(message)
        atheris.Setup([sys.argv[0], directory, f"-max_total_time={seconds:.0f}", "-verbosity=0"], check_decoder)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
