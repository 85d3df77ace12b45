"""A service that is gone, silent, slow, wrong or hostile: the client gives up in time, and follows nothing."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from verdikt.observe.clock import SystemClock
from verdikt.ship import service_client
from verdikt.ship.service_client import Refused, ServiceClient, Unreachable


@contextmanager
def run_server(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """Yield the address of a server that answers each connection by a function."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)
    ended = threading.Event()

    def accept() -> None:
        while not ended.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(5)
                try:
                    connection.recv(65_536)
                    answer(connection)
                except OSError:
                    pass

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        ended.set()
        thread.join()
        listener.close()


def answer_with(data: bytes) -> Callable[[socket.socket], None]:
    """Return a function that answers with these bytes."""
    return lambda connection: connection.sendall(data)


@pytest.fixture(autouse=True)
def short_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for seconds instead of minutes."""
    monkeypatch.setattr(service_client, "TIMEOUT_SECONDS", 1.0)
    monkeypatch.setattr(service_client, "DEADLINE_SECONDS", 1.5)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "does not answer"),
        (b"\x00\xff rubbish\r\n\r\n", "does not answer"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "does not answer as a verdikt service"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "does not answer as a verdikt service"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000, "does not answer as a verdikt service"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (5 << 20), "answers too much"),
        (b"HTTP/1.1 503 X\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}", "status 503"),
    ],
    ids=["closed", "rubbish", "text", "list", "deep", "large", "busy"],
)
def test_a_wrong_answer_is_tried_again_later(data: bytes, message: str) -> None:
    """None of them is taken for an acknowledgement."""
    with run_server(answer_with(data)) as url, pytest.raises(Unreachable, match=message) as error:
        ServiceClient(url, SystemClock()).call("GET", "/v1/heads")
    assert error.value.retry_seconds == (7 if b"Retry" in data else 0)


def test_a_redirect_is_not_followed() -> None:
    """A log goes to the service that the machine enrolled at, and to no other."""
    data = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    with run_server(answer_with(data)) as url, pytest.raises(Refused, match="status 302"):
        ServiceClient(url, SystemClock()).call("GET", "/v1/heads")


def test_a_silent_service_is_given_up() -> None:
    """A connection that is taken and never answered costs the timeout."""
    with (
        run_server(lambda connection: connection.recv(1) and None) as url,
        pytest.raises(Unreachable, match="does not answer"),
    ):
        ServiceClient(url, SystemClock()).call("GET", "/v1/heads")


def test_a_service_that_answers_byte_by_byte_is_given_up() -> None:
    """Each byte comes in time, and the whole does not."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        for _ in range(100):
            connection.sendall(b" ")
            time.sleep(0.1)

    with run_server(answer) as url, pytest.raises(Unreachable, match="too slowly"):
        ServiceClient(url, SystemClock()).call("GET", "/v1/heads")


def test_a_service_that_is_gone_is_named() -> None:
    """The address is in the message."""
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1 does not answer"):
        ServiceClient("http://127.0.0.1:1", SystemClock()).call("GET", "/v1/heads")
