"""Find secrets that go to a foreign host, and text from a foreign host that is run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from posixpath import basename
from typing import TYPE_CHECKING

from verdikt.effects.any_language.text_reader import MAX_DISTANCE, Meeting, starts_program
from verdikt.effects.any_language.word_families import (
    CERTIFICATE_ENDINGS,
    DATA_READERS,
    DEFINING,
    LOADING,
    Family,
    find_families,
    split_words,
)
from verdikt.effects.secret_issuers import ISSUER_DOMAINS
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.any_language.text_reader import TextReader
    from verdikt.effects.any_language.units import Token
    from verdikt.effects.any_language.values import Value

MAX_DIRECT_DISTANCE = 4
"""Number of tokens between a word and an address that it runs: `apply(from = "https://…")`."""
_WHOLE_ADDRESS = compile_lazily(r"\w+://\S+")


class ExchangeFinder:
    """Finds what the units of one text send to foreign hosts, and run from there."""

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader

    def find(self, tokens: Sequence[Token], *, send: bool, run: bool) -> Meeting | None:
        """Return what a unit sends or runs."""
        if not self._reader.fetched_files and not self._reader.may_reach_host(tokens):
            return None
        value = self._reader.complete(self._reader.evaluator.evaluate(tokens), tokens)
        if value.has_environment and starts_program(tokens):
            value.has_environment = False
        if send and value.hosts and value.sends and (value.files or value.has_environment):
            host = self._find_receiver(value, tokens)
            if host:
                return Meeting(self._reader.count_line(_find_address(tokens)), "cred.send", host)
        if run and (meeting := self._find_run(tokens)):
            return meeting
        return None

    def _find_receiver(self, value: Value, tokens: Sequence[Token]) -> str:
        """Return the host that a secret goes to; empty where the secret is used for what it is made for."""
        uses = any(token.kind == "name" and Family.KEY_USE in find_families(token.text) for token in tokens)
        files = [
            file
            for file in value.files
            if not (uses and (".ssh/" in file or ".kube/" in file or file.endswith(CERTIFICATE_ENDINGS)))
        ]
        if not files and not value.has_environment:
            return ""
        issuers = [
            domain for name, domains in ISSUER_DOMAINS.items() for domain in domains if any(name in f for f in files)
        ]
        return next((name for name in value.hosts if not name.endswith(tuple(issuers) or "\0")), "")

    def _find_run(self, tokens: Sequence[Token]) -> Meeting | None:
        for index, token in enumerate(tokens):
            if token.kind != "name":
                continue
            families = find_families(token.text) & {Family.EVALUATE, Family.START}
            is_load = token.text in LOADING and (index == 0 or tokens[index - 1].text == "(")
            if not (families or is_load) or _reads_data(tokens, index) or tokens[0].text in DEFINING:
                continue
            if token.text == "System" and index + 1 < len(tokens) and tokens[index + 1].text == ".":
                continue  # the name of a library
            is_start = Family.EVALUATE not in families and not is_load
            if host := self._find_fetched(_list_arguments(tokens, index), is_start=is_start):
                return Meeting(self._reader.count_line(token), "code.remote", host)
        return None

    def _find_fetched(self, tokens: Sequence[Token], *, is_start: bool) -> str:
        """Return the host from which comes what the tokens of a call stand for."""
        value = self._reader.evaluator.evaluate(tokens)
        written = [token.content for token in tokens if token.kind in ("string", "path")]
        for name in map(basename, (*written, *value.places, *value.parts)):
            if name in self._reader.fetched_files:
                return self._reader.fetched_files[name]
        if not value.hosts or is_start:
            return ""  # a program that is given an address, or data from there, does not run it
        addresses = [index for index, token in enumerate(tokens) if "://" in token.text]
        if not addresses:
            return value.hosts[0] if value.is_fetched else ""
        names = [token.text for token in tokens[: addresses[0]] if token.kind == "name"]
        is_fetched = any(Family.FETCH in find_families(name) for name in names)
        is_direct = addresses[0] <= MAX_DIRECT_DISTANCE and _WHOLE_ADDRESS.fullmatch(tokens[addresses[0]].content)
        return value.hosts[0] if is_fetched or is_direct else ""


def _reads_data(tokens: Sequence[Token], index: int) -> bool:
    return any(not DATA_READERS.isdisjoint(split_words(token.text)) for token in tokens[max(0, index - 2) : index + 1])


def _list_arguments(tokens: Sequence[Token], index: int) -> Sequence[Token]:
    """Return what a word is applied to: the brackets that follow it, or else the rest of its unit or form."""
    after = tokens[index + 1 : index + MAX_DISTANCE]
    depth = tokens[index].depth
    if after and after[0].text == "(":
        end = next((i for i, token in enumerate(after) if token.text == ")" and token.depth == depth), len(after))
        return after[:end]
    return list(takewhile(lambda token: token.depth >= depth, after))


def _find_address(tokens: Sequence[Token]) -> Token:
    return next((token for token in tokens if "://" in token.text), tokens[0])
