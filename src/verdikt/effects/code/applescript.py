"""AppleScript, by which another program does something."""

import re
from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target


def classify_applescript(text: str, call: Invocation) -> Iterator[Effect]:
    """What other programs are told to do."""
    if re.search(r"(?i)\bdelete\s+(?:every|all|folder|the\s+contents|items?)\b", text):
        yield call.make_effect("fs.delete.tree", possible=True, recoverable=False)
    if re.search(r"(?i)\bempty\s+(?:the\s+)?trash\b", text):
        yield call.make_effect("backup.delete", (Target("the trash", "other"),))
    if re.search(r"(?i)\bwith administrator privileges\b", text):
        yield call.make_effect("priv.escalate")
    if re.search(r"(?i)\btell application \"(?:mail|messages|microsoft outlook|slack)\".*\bsend\b", text, re.DOTALL):
        yield call.make_effect("message.send", possible=True)
    if re.search(r"(?i)\b(?:keystroke|key code)\b", text):
        yield call.make_effect("code.unknown", possible=True, note="types for the person")
    if re.search(r"(?i)\b(?:shut down|restart|log out)\b", text) and re.search(
        r"(?i)system events|finder|loginwindow", text
    ):
        yield call.make_effect("sys.power")
