"""What a sentence says in plain words that a proof depends on, in nine languages."""

import ast
import re
from pathlib import Path

import pytest

import verdikt
from verdikt.claims.named_objects import read_test_count
from verdikt.claims.wording import WORDINGS, has_wording
from verdikt.prompts.override import _PHRASES

PACKAGE = Path(verdikt.__file__).parent
MAX_PATTERNS = 40
MAX_REQUEST_PATTERNS = 22

SAID = {
    "commit": (
        "Committed.",
        "Ist committet.",
        "C'est commité.",
        "Hice commit.",
        "Fiz o commit.",
        "Закоммитил.",
        "コミットしました。",
        "已提交。",
        "커밋했습니다.",
    ),
    "whole_commit": (
        "Everything is committed.",
        "Alles ist committet.",
        "Tout est commité.",
        "Todo está en el commit.",
        "Tudo foi commitado.",
        "Всё закоммичено.",
        "すべてコミットしました。",
        "全部已提交。",
        "모두 커밋했습니다.",
    ),
    "merge": (
        "Rebased onto main.",
        "Der Branch ist gemergt.",
        "La branche est fusionnée.",
        "Fusioné la rama.",
        "A branch foi mesclada.",
        "Ветку влил в main.",
        "main にマージしました。",
        "分支已合并。",
        "브랜치를 병합했습니다.",
    ),
    "fewer_tests": (
        "I skipped test_two.",
        "Den Test `test_two` habe ich gelöscht.",
        "`test_two` est désactivé.",
        "Eliminé la prueba antigua.",
        "O teste lento está desativado.",
        "Один тест пропущен.",
        "このテストはスキップしています。",
        "跳过了一个测试。",
        "테스트 하나를 건너뛰었습니다.",
    ),
    "added_test": (
        "I added a test.",
        "Einen Test habe ich ergänzt.",
        "J'ai ajouté un test.",
        "Añadí una prueba.",
        "Adicionei um teste.",
        "Добавил тест.",
        "テストを追加しました。",
        "补了一个测试。",
        "테스트를 추가했습니다.",
    ),
    "taken_back": (
        "I put cart.py back.",
        "Die Änderung habe ich zurückgenommen.",
        "J'ai annulé la modification.",
        "Deshice el cambio.",
        "Desfiz a mudança.",
        "Изменение откатил.",
        "変更は元に戻しました。",
        "改动已撤销。",
        "변경을 되돌렸습니다.",
    ),
}
"""What is said → a sentence that says it, in each language."""

NOT_SAID = (
    ("fewer_tests", "La recherche ignore désormais la casse."),
    ("fewer_tests", "Die Suche überspringt leere Zeilen."),
    ("commit", "Fixed the parser."),
    ("whole_commit", "Everything works, and the fix of the parser is committed."),
    ("added_test", "All tests pass."),
    ("taken_back", "I fixed the discount."),
    ("new_branch", "改动已提交到 feature 分支。"),
)


@pytest.mark.parametrize(("what", "text"), [(what, text) for what, texts in SAID.items() for text in texts])
def test_wording_is_read_in_each_language(what: str, text: str) -> None:
    """A proof does not depend on the language in which something is said."""
    assert has_wording(what, text)


@pytest.mark.parametrize(("what", "text"), NOT_SAID)
def test_other_sentence_does_not_say_it(what: str, text: str) -> None:
    """A word that has another sense here excuses nothing."""
    assert not has_wording(what, text)


@pytest.mark.parametrize(
    "text",
    [
        "All tests pass.",
        "Alle Tests sind grün.",
        "Tous les tests passent.",
        "Todas las pruebas pasan.",
        "Todos os testes passam.",
        "Все тесты проходят.",
        "テストはすべて通りました。",
        "所有测试通过。",
        "모든 테스트가 통과합니다.",
    ],
)
def test_all_tests_are_meant_in_each_language(text: str) -> None:
    """A part of the tests is not all of them, in whichever language all are claimed."""
    assert read_test_count(text) == {"whole": "yes"}


@pytest.mark.parametrize(
    "text",
    [
        "12 tests pass.",
        "12 Tests sind grün.",
        "12 тестов прошло.",
        "12 个测试通过。",
        "テスト 12 件が成功。",
        "테스트 12개 통과.",
    ],
)
def test_number_of_tests_is_read_in_each_language(text: str) -> None:
    """A number that is claimed is compared with the number that ran."""
    assert read_test_count(text) == {"number": "12"}


def test_number_of_tests_that_were_added_is_no_number_that_passed() -> None:
    """`Two tests added` says nothing about how many ran."""
    assert read_test_count("新增了 2 个测试。") == {}


@pytest.mark.parametrize("what", WORDINGS)
def test_wordings_compile(what: str) -> None:
    """Every pattern is a regular expression."""
    assert isinstance(has_wording(what, ""), bool)


def list_word_patterns(*packages: str) -> list[str]:
    """Return where the modules of some packages search a text for words by a pattern, inline ones included.

    A pattern without a word of three letters (a tokenizer, the mark of a list) reads no meaning. One that is put
    together elsewhere counts as well.
    """
    found = []
    for path in [path for package in packages for path in sorted((PACKAGE / package).glob("*.py"))]:
        for node in ast.walk(ast.parse(path.read_text())):
            name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if name != "compile_lazily" and not re.fullmatch(r"re\.(?!escape)\w+", name):
                continue
            parts = [part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)]
            text = re.sub(r"\[\^?\]?[^\]]*\]|\\[a-zA-Z]|\{[^}]*\}", " ", "".join(map(str, parts)))
            if not parts or re.search(r"[^\W\d_]{3,}|[\u3040-\u9fff\uac00-\ud7a3]", text):
                found.append(f"{path.name}:{node.lineno}")
    return found


def test_number_of_patterns_stays_small() -> None:
    """What the model does not read is read by word lists and at most forty patterns."""
    ways = [way for ways in WORDINGS.values() for way in ways]
    structured = sum(isinstance(way, str) or bool(way.near) for way in ways)
    patterns = [place for place in list_word_patterns("claims", "evidence") if not place.startswith("wording.py")]

    assert structured + len(patterns) <= MAX_PATTERNS, patterns


def test_number_of_patterns_that_read_requests_stays_small() -> None:
    """Requests are read by patterns, attempts to get past a check by one for each kind."""
    patterns = list_word_patterns("prompts")

    assert len(patterns) + len(_PHRASES) - 1 <= MAX_REQUEST_PATTERNS, patterns
