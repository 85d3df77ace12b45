"""AppleScript, by which another program does something."""

import re
from collections.abc import Iterator

from verdikt.effects.call import Call
from verdikt.model.effect import Effect, Target


def driven(text: str, call: Call) -> Iterator[Effect]:
    """What other programs are told to do."""
    if re.search(r"(?i)\bdelete\s+(?:every|all|folder|the\s+contents|items?)\b", text):
        yield call.effect("fs.delete.tree", possible=True, recoverable=False)
    if re.search(r"(?i)\bempty\s+(?:the\s+)?trash\b", text):
        yield call.effect("backup.delete", (Target("the trash", "other"),))
    if re.search(r"(?i)\bwith administrator privileges\b", text):
        yield call.effect("priv.escalate")
    if re.search(r"(?i)\btell application \"(?:mail|messages|microsoft outlook|slack)\".*\bsend\b", text, re.DOTALL):
        yield call.effect("message.send", possible=True)
    if re.search(r"(?i)\b(?:keystroke|key code)\b", text):
        yield call.effect("code.unknown", possible=True, note="types for the person")
    if re.search(r"(?i)\b(?:shut down|restart|log out)\b", text) and re.search(
        r"(?i)system events|finder|loginwindow", text
    ):
        yield call.effect("sys.power")
