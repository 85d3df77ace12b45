"""A real Chromium, driven over a pipe: open a page, measure it, take pictures, and hear what it complains about."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
"""Names under which systems install it."""

_TIMEOUT_SECONDS = 60


def find_chromium() -> str:
    """Return the browser's path, or skip the test."""
    for name in PROGRAMS:
        if path := shutil.which(name):
            return path
    pytest.skip(f"no Chromium on PATH (looked for {', '.join(PROGRAMS)}): `apt install chromium`")


class Browser:
    """One page in a headless browser. `complaints` has what it logged, and every request that left the page."""

    def __init__(self, read_end: int, write_end: int) -> None:
        self._input = os.fdopen(write_end, "wb", buffering=0)
        self._output = os.fdopen(read_end, "rb")
        self._next_id = 0
        self._session = ""
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol, and return its result."""
        self._next_id += 1
        message: dict[str, Any] = {"id": self._next_id, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._input.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read_message()
            if answer.get("id") == self._next_id:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def wait_for(self, event: str) -> None:
        """Read messages until an event comes."""
        while self._read_message().get("method") != event:
            pass

    def _read_message(self) -> dict[str, Any]:
        data = bytearray()
        while (byte := self._output.read(1)) != b"\0":
            assert byte, "the browser ended"
            data += byte
        message: dict[str, Any] = json.loads(data)
        method, parameters = message.get("method", ""), message.get("params", {})
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(json.dumps(parameters)[:500])
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        return message

    def open(self, url: str, *, width: int = 1000, dark: bool = False) -> None:
        """Open a page at a width, in a colour scheme."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500
        )
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)
        self.send("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        return self.send("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def save_picture(self, path: Path, *, height: int = 0) -> None:
        """Write a picture of the whole page, or of its first `height` pixels."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
        picture = self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(picture["data"]))

    def close(self) -> None:
        """Ask the browser to end."""
        self._session = ""
        self.send("Browser.close")
        self._input.close()
        self._output.close()


@contextmanager
def open_browser(directory: Path) -> Iterator[Browser]:
    """Yield a browser whose profile is in a directory; it ends with the block."""
    program = find_chromium()
    child_read, parent_write = os.pipe()
    parent_read, child_write = os.pipe()
    # The protocol is spoken on the descriptors 3 and 4; the shell puts the pipes there.
    line = f'exec "$@" 3<&{child_read} 4>&{child_write}'
    options = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    options += ["--disable-background-networking", "--hide-scrollbars", "--no-first-run"]
    options.append(f"--user-data-dir={directory}")
    process = subprocess.Popen(
        ["bash", "-c", line, "bash", program, *options],
        pass_fds=(child_read, child_write),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"HOME": str(directory)},
    )
    os.close(child_read)
    os.close(child_write)
    browser = Browser(parent_read, parent_write)
    try:
        yield browser
    finally:
        browser.close()
        process.wait(_TIMEOUT_SECONDS)
