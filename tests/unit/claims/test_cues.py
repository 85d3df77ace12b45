"""Words are classed by the language of the message, which is told by its script and its commonest words."""

import pytest

from verdikt.claims.cues import LATIN, detect_latin_language, detect_script, get_classes, load_cues
from verdikt.claims.sentences import split_sentences

MAX_CLASSES = 40


def test_number_of_classes_stays_small() -> None:
    """The hand-made part of the features is a fixed, small number of classes."""
    assert len({name for classes in load_cues().values() for name in classes}) <= MAX_CLASSES


@pytest.mark.parametrize(
    ("word", "language", "name"),
    [
        ("no", "en", "NOT"),
        ("no", "pt", "IN"),
        ("he", "en", "THEY"),
        ("he", "es", "HAVE"),
        ("se", "pt", "IF"),
        ("se", "es", "SE"),
        ("a", "en", "THE"),
        ("a", "fr", "HAVE"),
    ],
)
def test_word_of_two_languages_has_the_class_of_its_own(word: str, language: str, name: str) -> None:
    """A word that means two things in two languages is classed by the language it is used in."""
    assert get_classes(language)[word] == name


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("I have fixed the parser and all of its tests pass.", "en"),
        ("Ich habe den Parser korrigiert, und alle Tests laufen durch.", "de"),
        ("J'ai corrigé l'analyseur et tous les tests passent.", "fr"),
        ("He corregido el analizador y todos los tests pasan.", "es"),
        ("Corrigi o analisador e todos os testes passam agora.", "pt"),
        ("Corregido.", "es"),
        ("", "en"),
    ],
)
def test_latin_language_is_told_by_common_words(text: str, language: str) -> None:
    """Languages of the same script are told apart by words and endings; in doubt it is English."""
    assert detect_latin_language(text) == language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("テストは通りました。", "ja"),
        ("測試全部通過", "zh"),
        ("테스트가 통과했습니다.", "ko"),
        ("Тесты проходят.", "ru"),
        ("Tests pass.", ""),
    ],
)
def test_script_tells_the_language(text: str, language: str) -> None:
    """Kana, hangul, ideographs and Cyrillic each belong to one language that the model knows."""
    assert detect_script(text) == language


def test_sentences_of_one_message_share_its_latin_language() -> None:
    """A sentence that is too short to tell takes the language of the message; another script is its own."""
    sentences = split_sentences("Ich habe den Fehler behoben. OK. Тесты проходят.")

    assert [sentence.language for sentence in sentences] == ["de", "de", "ru"]


@pytest.mark.parametrize("language", LATIN)
def test_class_lists_have_no_word_twice(language: str) -> None:
    """A word in two classes of one language would silently belong to the last."""
    words = [word for words in load_cues()[language].values() for word in words]

    assert sorted({word for word in words if words.count(word) > 1}) == []
