"""Properties of the reader of any language: it never raises, masking keeps lines, units are bounded."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.effects.test_cases import ROOT, make_world
from verdikt.effects.any_language.masking import mask_comments
from verdikt.effects.any_language.meetings import find_meeting
from verdikt.effects.any_language.units import MAX_UNIT_TOKENS, UnitReader
from verdikt.effects.target import TargetResolver
from verdikt.model.facts import Facts

ENDINGS = "kts clj swift jl R dart php lua hs ml xml toml yaml json cmake mk vb erl py ts tcl zig".split()
WORDS = r"""delete remove( rm -rf clean: true emptyOutDir ~/x ../y $HOME ${HOME} "user.home" 'HOME' homedir()
.parents[ 2 ] dirname(__DIR__, 9) http://198.51.100.1/a "https://a.example/" eval( include source '.env'
~/.ssh/id_rsa post Socket
= := <- += : ; , . | -> => { } ( ) [ ] < > </x> <delete> " ' ` ''' \" \\ /* */ // # -- ;; <!-- --> %( {- -} it _ for
in of as def let set import environ process.env .. / ~ $ # @ \0 é""".split()
PIECES = st.sampled_from([*WORDS, "\n", "\n  ", "\t", " "])
TEXTS = st.lists(PIECES, max_size=60).map(" ".join) | st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=200)
RESOLVER = TargetResolver(Facts(make_world({})))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ENDINGS), TEXTS)
def test_any_text_is_read_without_an_error(ending: str, text: str) -> None:
    """A meeting, where there is one, is at a line of the text."""
    meeting = find_meeting(f"{ROOT}/a.{ending}", text, RESOLVER, [f"{ROOT}/x.jar"])

    assert meeting is None or 1 <= meeting.line <= text.count("\n") + 1


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ENDINGS), TEXTS)
def test_masking_keeps_the_number_of_lines(ending: str, text: str) -> None:
    """What stands after a comment keeps its line, and nothing is added."""
    masked = mask_comments(f"{ROOT}/a.{ending}", text)

    assert masked.count("\n") == text.count("\n")
    assert len(masked) <= len(text)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_units_hold_each_token_once_and_are_bounded(text: str) -> None:
    """No token is read twice, however brackets are nested."""
    units = UnitReader().read(text)
    positions = [token.position for unit in units for token in unit.tokens]

    assert len(positions) == len(set(positions))
    assert all(0 < len(unit.tokens) <= MAX_UNIT_TOKENS for unit in units)
