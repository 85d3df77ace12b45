"""Find harm in text of any language by what meets in it: for files that no other reader understands.

Three meetings count: a word that deletes and a place outside the project; a secret file, a foreign host and a word that
sends; a foreign address and a word that runs what comes from there. What is found is possible rather than certain.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from posixpath import basename
from typing import TYPE_CHECKING

from verdikt.effects.any_language.exchanges import ExchangeFinder
from verdikt.effects.any_language.losses import LossFinder
from verdikt.effects.any_language.masking import mask_comments, may_be_loaded
from verdikt.effects.any_language.text_reader import Meeting, TextReader, may_name_secret
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.effects.any_language.units import Token
    from verdikt.effects.target import TargetResolver

_MAY_DELETE = compile_lazily(
    r"(?i)delet|remov|\brm|unlink|rimraf|\bdel|erase|wipe|purge|shred|nuke|trunc|clean|clobber|empty|prune|sweep|scrub|clear"
)
_MAY_PLACE = compile_lazily(
    r"(?i)home|~|userprofile|\.\.|parent|dirname|directory|/(?:users|root|etc|usr|bin|lib|boot|system|library)/"
)
_MAY_EVALUATE = compile_lazily(
    r"(?i)eval|include|require|source|execfile|dofile|loadstring|loadfile|runin|exec|import|apply|agent|system|popen"
    r"|spawn|process|dlopen|cdll|loadlibrary|classloader|loadclass|chmod|\bload|launch|shell|command"
)
_MAY_ADDRESS = compile_lazily(r"(?i)://|(?:\d{1,3}\.){3}\d{1,3}|connect|socket|dial|\btcp")
_DATA_SUFFIXES = tuple(".json .csv .txt .md .xml .yml .yaml .gz .zip .html .png .jpg .pdf".split())
_IMPORTING = frozenset("import require require_relative from use using mod export".split())


def find_meeting(path: str, text: str, resolver: TargetResolver, downloads: Collection[str] = ()) -> Meeting | None:
    """Return the first harm that the words of a file show; `downloads` are files that the session did not read."""
    if not may_be_loaded(path):
        return None
    names = {name for name in map(basename, downloads) if name in text and not name.endswith(_DATA_SUFFIXES)}
    if not (_MAY_ADDRESS.search(text) or names or (_MAY_DELETE.search(text) and _MAY_PLACE.search(text))):
        return None
    text = mask_comments(path, text)
    names = {name for name in names if name in text}
    wants_delete = bool(_MAY_DELETE.search(text) and _MAY_PLACE.search(text))
    has_address = _MAY_ADDRESS.search(text) is not None
    wants_send = has_address and may_name_secret(text)
    wants_run = has_address and _MAY_EVALUATE.search(text) is not None
    if not (wants_delete or wants_send or wants_run or names):
        return None
    for name in sorted(names):
        # `-javaagent:lib/x.jar`, `plugins: [./x.js]`
        return Meeting(text.count("\n", 0, text.find(name)) + 1, "code.remote", name)
    return _find_first(TextReader(path, text, resolver), delete=wants_delete, send=wants_send, run=wants_run)


def _find_first(reader: TextReader, *, delete: bool, send: bool, run: bool) -> Meeting | None:
    """Return the first meeting in the order of the text."""
    losses, exchanges = LossFinder(reader), ExchangeFinder(reader)
    for unit in reader.units:
        tokens = reader.gather(unit)
        reader.bind(unit, tokens)
        if _imports(tokens):
            continue
        if delete and (meeting := losses.find(unit, tokens)):
            return meeting
        if (send or run) and (meeting := exchanges.find(tokens, send=send, run=run)):
            return meeting
    return None


def _imports(tokens: Sequence[Token]) -> bool:
    """Return whether a unit only names what the file needs: `import { rm } from "../fs"`."""
    return tokens[0].text in _IMPORTING and not (len(tokens) > 1 and tokens[1].text == "(")
