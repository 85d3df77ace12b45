"""Expand the sentence frames of a language into labelled messages, the same ones every time.

A file `data/claims/<language>/frames.txt` lists work items (`fix the bug | fixed the bug | the bug | fixed | change`)
and, for each act, frames to put them in (`I have {part}.`, `Should I {inf}?`). The same words in a report, a plan, a
question and a condition teach the model what grammar tells apart, which a few hundred messages alone cannot.

    [items] names of the columns      then one item per line; a frame takes the items that have its columns
    [done], [none], [admission] …     then one frame per line; `t|…` is a sentence as it stands, about tests
    [titles done] template            then titles; the template makes the items of the list below each
    [titles claiming] template        the same, with titles that claim by themselves (`Two bugs fixed:`)
    [verbs done], [verbs none]        then verbs of work (`adjusted`) and of looking (`inspected`), several in a line
    [verb frames], [objects]          then what the verbs stand in (`I {verb} {object}.`): the verb alone tells the act
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Formatter
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

SENTENCES_PER_VERB = 5
"""Number of frames that each verb is put in: what occurs in fewer sentences gets no weight."""

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
    verbs: list[tuple[str, str]] = field(default_factory=list)
    verb_frames: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)


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
        elif section.startswith("verbs "):
            found.verbs += [(section.removeprefix("verbs "), verb.strip()) for verb in line.split("|")]
        elif section == "verb frames":
            found.verb_frames.append(line)
        elif section == "objects":
            found.objects += [words.strip() for words in line.split("|")]
        else:
            found.frames.append((section, line))
    return found


def fill_frame(frame: str, item: dict[str, str]) -> str:
    """Return a frame with the words of an item; `{Subj}` is `{subj}` with a capital letter."""
    capitals = {name.capitalize(): words[:1].upper() + words[1:] for name, words in item.items()}
    return frame.format(**item, **capitals)


def choose_items(items: Sequence[dict[str, str]], frame: str) -> list[dict[str, str]]:
    """Return the items that have all words a frame asks for, in an order that differs from frame to frame."""
    names = {name.lower() for _, name, _, _ in Formatter().parse(frame) if name}
    fitting = [item for item in items if names <= item.keys()]
    return sorted(fitting, key=lambda item: crc32(f"{frame} {item}".encode()))


def list_sentences(found: Frames) -> Iterator[Label]:
    """Yield each frame with some of the items, and the sentences that stand as they are."""
    for act, frame in found.frames:
        literal = re.match(r"([a-z]{0,4})\|(.*)", frame)
        if literal:
            topics = tuple(TOPIC_LETTERS[letter] for letter in literal[1] if act != "none")
            yield literal[2], act, topics
            continue
        for item in choose_items(found.items, frame)[:ITEMS_PER_FRAME]:
            topics = (item["topics"],) if act not in ("none", "delegation") else ()
            yield fill_frame(frame, item), act, topics
    for act, verb in found.verbs:
        for step in range(SENTENCES_PER_VERB):
            place = crc32(f"{verb} {step}".encode())
            frame = found.verb_frames[(place + step) % len(found.verb_frames)]
            item = {"verb": verb, "object": found.objects[place // 64 % len(found.objects)]}
            yield fill_frame(frame, item), act, ("change",) if act == "done" else ()


def expand_frames(path: Path) -> Iterator[tuple[str, list[Label]]]:
    """Yield messages with the labels of their pieces: single sentences, short texts, and lists under titles."""
    found = read_frames(path)
    sentences = sorted(list_sentences(found), key=lambda label: crc32(label[0].encode()))
    number = 0
    while sentences:
        size = MESSAGE_SIZES[number % len(MESSAGE_SIZES)]
        pieces, sentences = sentences[:size], sentences[size:]
        # Every third text has a line for each sentence, as agents that are short of words write. A piece without a
        # full stop is a paragraph, or it would run into the next one.
        is_in_lines = number % 3 == 2
        ends = ["\n\n" if piece[0][-1].isalnum() else "\n" if is_in_lines else " " for piece in pieces]
        yield "".join(piece[0] + end for piece, end in zip(pieces, ends, strict=True)).rstrip(), pieces
        number += 1
    for kind, title, template in found.titles:
        for step in range(ITEMS_PER_FRAME // 2):
            items = choose_items(found.items, f"{title} {step} {template}")[:3]
            labels: list[Label] = [(title, "done", ("change",)) if kind == "claiming" else (title, "none", ())]
            act = "done" if kind == "claiming" else kind
            labels += [(fill_frame(template, item), act, (item["topics"],) if act != "none" else ()) for item in items]
            head = title if title.endswith((":", "：")) else f"## {title}"
            yield "\n".join([head, *(f"- {label[0]}" for label in labels[1:])]), labels
