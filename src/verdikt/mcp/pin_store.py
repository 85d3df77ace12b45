"""The pins on the disk: one file per server in the data directory, which agents cannot write."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from verdikt.errors import McpError, WiringError
from verdikt.hosts.wiring.file_change import write_file
from verdikt.ledger.data_directory import make_private_directory
from verdikt.mcp.tool_pin import (
    MAX_NAME_LENGTH,
    MAX_TOOLS,
    PinBook,
    PinState,
    ToolPin,
    book_from_record,
    build_hints,
    extract_definition,
)
from verdikt.model.canonical_json import hash_canonical
from verdikt.observe.clock import Clock, SystemClock

TRUST_FIRST = "first sight"
"""Who accepted a pin under `--trust-first`."""


def get_pin_directory(data_directory: Path) -> Path:
    """Return where the pins are."""
    return data_directory / "mcp"


def list_books(data_directory: Path) -> list[PinBook]:
    """Return the pins of every server, by name."""
    books = [_read_book(path) for path in sorted(get_pin_directory(data_directory).glob("*.json"))]
    return sorted((book for book in books if book is not None), key=lambda book: (book.name, book.identity))


class ServerPins:
    """The pins of one server; another process may change them at any time."""

    def __init__(
        self, data_directory: Path, name: str, identity: tuple[str, ...], *, clock: Clock | None = None
    ) -> None:
        self._directory = make_private_directory(get_pin_directory(make_private_directory(data_directory)))
        # By command and arguments, or address, and not by the name alone: another program under an old name is new.
        self.path = self._directory / f"{hash_canonical([name, *identity])[:32]}.json"
        self._path_text = str(self.path)
        self._clock = clock or SystemClock()
        self._name, self._identity = name, identity
        self._stamp: tuple[int, ...] = ()
        self._book = PinBook(name, identity)
        self._hints: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}

    @property
    def book(self) -> PinBook:
        """The pins as they are on the disk now; a look at the file when nothing changed."""
        stamp = _get_stamp(self._path_text)
        if stamp != self._stamp:
            self._book = _read_book(self.path) or PinBook(self._name, self._identity)
            self._stamp = stamp
        return self._book

    @property
    def is_first_sight(self) -> bool:
        """Whether the server has not shown a whole list yet. A connection without a list, as a canary's, is none."""
        return not self.book.is_listed

    def end_first_sight(self) -> None:
        """Note that the server has shown a whole list."""
        if self.is_first_sight:
            with self._change() as book:
                book.is_listed = True

    def get_hints(self, pin: ToolPin | None) -> dict[str, Any]:
        """Return what the classification of a call may use of a tool's definition, which is worked out once."""
        if pin is None:
            return {}
        key = pin.seen_digest, pin.effects
        if key not in self._hints:
            if len(self._hints) >= MAX_TOOLS:
                self._hints.clear()  # a server that changes its tools all the time
            self._hints[key] = build_hints(pin)
        return self._hints[key]

    def get_state(self, tool: str) -> PinState:
        """Return what is known of a tool."""
        pin = self.book.find(tool)
        return PinState.UNKNOWN if pin is None else pin.state

    def record_tools(self, tools: list[Mapping[str, Any]], *, trust: bool) -> dict[str, ToolPin]:
        """Note listed tools and return their pins by name; with `trust`, new ones are accepted."""
        known_book = self.book
        if all(_is_recorded(known_book, tool) for tool in tools):
            return {str(tool["name"]): known_book.pins[str(tool["name"])] for tool in tools}
        taken = {name for book in list_books(self._directory.parent) if book.name != self._name for name in book.pins}
        pins: dict[str, ToolPin] = {}
        with self._change() as book:
            for tool in tools:
                name = str(tool["name"])
                if len(name) > MAX_NAME_LENGTH or (name not in book.pins and len(book.pins) >= MAX_TOOLS):
                    continue
                trusted_by = TRUST_FIRST if trust else ""
                pins[name] = book.record_listed(tool, trusted_by=trusted_by, now=int(self._clock.now()), taken=taken)
        return pins

    def accept(self, tool: str, *, by: str, effects: tuple[str, ...] = (), shown_digest: str = "") -> ToolPin:
        """Accept a tool as it was listed last; raise `McpError` if it never was.

        `shown_digest` is of the definition that the person looked at; the server may list another one meanwhile.
        """
        with self._change() as book:
            if tool not in book.pins:
                raise McpError(f"expected a tool that `{self._name}` has listed, found `{tool}`")
            if shown_digest and book.pins[tool].seen_digest != shown_digest:
                raise McpError(
                    f"the definition of `{tool}` changed while it was looked at: look at it again with "
                    f"`verdikt mcp pins show {self._name}`"
                )
            return book.accept(tool, by=by, now=int(self._clock.now()), effects=effects)

    def note_server(self, info: str) -> str:
        """Note the server's own name and version; return the earlier ones if they differ."""
        before = self.book.server_info
        if info == before:
            return ""
        with self._change() as book:
            book.server_info = info
        return before

    @contextmanager
    def _change(self) -> Iterator[PinBook]:
        """Yield the pins for a change that no other process can undo, and write them."""
        with (self._directory / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            book = self.book
            yield book
            data = json.dumps(book.to_record(), indent=1).encode() + b"\n"
            try:
                write_file(str(self.path), data)
                os.chmod(self.path, 0o600)
            except (WiringError, OSError) as error:
                raise McpError(f"cannot write the pins of `{self._name}`: {error}") from error
            self._stamp = _get_stamp(self._path_text)


def open_book(data_directory: Path, book: PinBook) -> ServerPins:
    """Return the pins of a server that `list_books` found."""
    return ServerPins(data_directory, book.name, book.identity)


def _is_recorded(book: PinBook, tool: Mapping[str, Any]) -> bool:
    """Whether a tool was seen before exactly like this."""
    pin = book.pins.get(str(tool["name"]))
    # By digest: in Python `True == 1`, and a definition that differs in that alone is another one.
    return pin is not None and pin.seen_digest == hash_canonical(extract_definition(tool))


def _get_stamp(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return ()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _read_book(path: Path) -> PinBook | None:
    try:
        return book_from_record(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        # Damaged pins must not become a first sight, at which everything would be trusted again.
        raise McpError(f"cannot read the pins in `{path}`: move the file aside and accept the tools again") from error
