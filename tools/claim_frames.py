"""Expand the sentence frames of a language into labelled messages, the same ones every time.

A file `data/claims/<language>/frames.txt` lists work items (`fix the bug | fixed the bug | the bug | fixed | change`)
and, for each act, frames to put them in (`I have {part}.`, `Should I {inf}?`). The same words in a report, a plan, a
question and a condition teach the model what grammar tells apart, which a few hundred messages alone cannot.

    [items] names of the columns      then one item per line
    [done], [none], [admission] …     then one frame per line; `t|…` is a sentence as it stands, about tests
    [titles done] template            then titles; the template makes the items of the list below each
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

TOPIC_LETTERS = {
    "c": "change",
    "t": "tests",
    "b": "build",
    "l": "lint",
    "y": "types",
    "m": "commit",
    "p": "push",
    "r": "release",
    "e": "deploy",
    "i": "install",
    "f": "file_operation",
}
ITEMS_PER_FRAME = 12
"""Number of items that each frame is filled with: enough to show that the item does not matter."""

MESSAGE_SIZES = (1, 2, 1, 3)
"""Numbers of sentences in a message, in turn."""

Label = tuple[str, str, tuple[str, ...]]
"""A piece of a message, its act and its topics."""


@dataclass(slots=True)
class Frames:
    """The contents of one file."""

    items: list[dict[str, str]] = field(default_factory=list)
    frames: list[tuple[str, str]] = field(default_factory=list)
    titles: list[tuple[str, str, str]] = field(default_factory=list)


def read_frames(path: Path) -> Frames:
    """Return items, frames and titles of a file."""
    found = Frames()
    section, rest = "", ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"\[([a-z ]+)\]\s*(.*)", line):
            section, rest = match[1], match[2]
        elif not line.strip():
            continue
        elif section == "items":
            columns = [name.strip() for name in rest.split("|")]
            cells = [cell.strip() for cell in line.split("|")]
            found.items.append(dict(zip(columns, cells, strict=True)))
        elif section.startswith("titles "):
            found.titles.append((section.removeprefix("titles "), line, rest))
        else:
            found.frames.append((section, line))
    return found


def fill_frame(frame: str, item: dict[str, str]) -> str:
    """Return a frame with the words of an item; `{Subj}` is `{subj}` with a capital letter."""
    capitals = {name.capitalize(): words[:1].upper() + words[1:] for name, words in item.items()}
    return frame.format(**item, **capitals)


def list_sentences(found: Frames) -> Iterator[Label]:
    """Yield each frame with some of the items, and the sentences that stand as they are."""
    for number, (act, frame) in enumerate(found.frames):
        literal = re.match(r"([a-z]{0,4})\|(.*)", frame)
        if literal:
            topics = tuple(TOPIC_LETTERS[letter] for letter in literal[1] if act != "none")
            yield literal[2], act, topics
            continue
        for step in range(ITEMS_PER_FRAME):
            # Neither step nor start divides the number of items, so that frames meet different items.
            item = found.items[(number * 5 + step * 7) % len(found.items)]
            topics = (item["topics"],) if act not in ("none", "delegation") else ()
            yield fill_frame(frame, item), act, topics


def expand_frames(path: Path) -> Iterator[tuple[str, list[Label]]]:
    """Yield messages with the labels of their pieces: single sentences, short texts, and lists under titles."""
    found = read_frames(path)
    sentences = sorted(list_sentences(found), key=lambda label: crc32(label[0].encode()))
    number = 0
    while sentences:
        size = MESSAGE_SIZES[number % len(MESSAGE_SIZES)]
        pieces, sentences = sentences[:size], sentences[size:]
        # Every third text has a line for each sentence, as agents that are short of words write.
        yield ("\n" if number % 3 == 2 else " ").join(piece[0] for piece in pieces), pieces
        number += 1
    for number, (act, title, template) in enumerate(found.titles):
        for step in range(ITEMS_PER_FRAME // 2):
            items = [found.items[(number * 5 + step * 11 + place * 7) % len(found.items)] for place in range(3)]
            labels: list[Label] = [(title, "none", ())]
            labels += [(fill_frame(template, item), act, (item["topics"],) if act != "none" else ()) for item in items]
            head = title if title.endswith((":", "：")) else f"## {title}"
            yield "\n".join([head, *(f"- {label[0]}" for label in labels[1:])]), labels
