"""Plays of Ansible that only write, make and delete files on this machine which the project can make again.

A play with anything else in it counts as a change of infrastructure.
"""

from __future__ import annotations

import re
from posixpath import dirname
from typing import TYPE_CHECKING

from verdikt.model.effect import Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import Word

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation

_COMMENT = compile_lazily(r"(?m)(?:^|\s)#.*$")
_KEY = compile_lazily(r"(?m)(?:^|[\s{,-])([A-Za-z_][\w.]*):(?=\s|$)")
_HOSTS = compile_lazily(r"(?m)^\s*-?\s*hosts:[ \t]*(.*)$")
_PLACE = compile_lazily(r"(?m)(?:^|[\s{,-])(?:path|dest):[ \t]*([\"']?)((?:\{\{[^}\n]*\}\}|[^\"'\n,}])+)\1")
_FIELD = compile_lazily(r"\{\{\s*(\w+)\s*\}\}")
_LOOP = compile_lazily(r"loop:[ \t]*[\"']?\{\{\s*(\w+)\s*\}\}")
_SETTING = compile_lazily(r"(?m)^(\w+):[ \t]*(.*)$((?:\n[ \t]*-[ \t]+.*)*)")
_ITEM = compile_lazily(r"(?m)^[ \t]*-[ \t]+[\"']?([^\"'\n]+)")
_KEYWORDS = frozenset(
    """
    hosts connection gather_facts name tasks handlers tags when loop loop_control label register changed_when
    failed_when ignore_errors notify listen check_mode no_log run_once block rescue always pre_tasks post_tasks
    path dest src state mode content msg that var line regexp insertafter insertbefore create force recurse backup
    replace marker block patterns file_type
    """.split()
)
_MODULES = frozenset(
    "file copy template lineinfile blockinfile replace debug assert set_fact stat find fail meta pause".split()
)
"""Modules that only look, or work on the files that they name."""
_LOST_WHERE = ("ignored", "own", "absent")
_LOCAL_INVENTORIES = {"localhost,", "127.0.0.1,"}
_MAX_PASSES = 4


def is_local_play(word: Word, call: Invocation) -> bool:
    """Return whether a play works on this machine alone, and deletes nothing but what the project can make again."""
    path = call.resolve_path(word).path
    text = call.facts.text(path) if path else None
    if text is None or len(call.args.operands) != 1 or call.args.has_flag("-b --become -K --ask-become-pass"):
        return False
    text = _COMMENT.sub("", text)
    inventories = {inventory.text for inventory in call.args.get_values("-i --inventory")}
    extra_variables = [variables.text for variables in call.args.get_values("-e --extra-vars")]
    is_here = inventories <= _LOCAL_INVENTORIES or "connection: local" in text
    if not is_here or any(variables[:1] != "@" for variables in extra_variables):
        return False
    hosts = [name.strip(" \"'") for name in _HOSTS.findall(text)]
    keys = {key.rpartition(".")[2] for key in _KEY.findall(text)}
    if not hosts or not set(hosts) <= {"localhost", "127.0.0.1"} or not keys <= _KEYWORDS | _MODULES:
        return False
    places = [place for _, written in _PLACE.findall(text) for place in _fill(written, text, call, dirname(path))]
    targets = [call.resolve_path(Word(place), with_state=True) for place in places]
    is_loss = "absent" in text
    return all(
        target.zone is Zone.TEMP or (target.zone is Zone.PROJECT and (not is_loss or target.state in _LOST_WHERE))
        for target in targets
    )


def _fill(written: str, text: str, call: Invocation, directory: str) -> list[str]:
    """Return the paths that a value stands for; one that is not known stays a field, which lies outside."""
    values = {"playbook_dir": [directory], **_read_variables(call)}
    loop = _LOOP.search(text)
    values["item"] = values.get(loop[1], ["/"]) if loop else ["/"]
    places = [written.strip()]
    for _ in range(_MAX_PASSES):
        filled = [
            place.replace(match[0], value)
            for place in places
            if (match := _FIELD.search(place)) is not None
            for value in values.get(match[1], ["/"])
        ]
        places = filled + [place for place in places if _FIELD.search(place) is None]
    return ["/" if "{{" in place else place for place in places]


def _read_variables(call: Invocation) -> dict[str, list[str]]:
    """Return the variables of the files that are given with `-e @x.yml`: a value, or those of a list."""
    values: dict[str, list[str]] = {}
    for word in call.args.get_values("-e --extra-vars"):
        place = call.resolve_path(Word(word.text.removeprefix("@"))).path if word.text[:1] == "@" else ""
        for name, value, items in _SETTING.findall(call.facts.text(place) or "" if place else ""):
            values[name] = _ITEM.findall(items) if items else [re.sub(r"^[\"']|[\"']$", "", value.strip())]
    return values
