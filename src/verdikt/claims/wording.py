"""What a sentence says in plain words that a proof depends on, in nine languages. Literal; the model reads the rest.

The model tells that a sentence claims a commit. Whether that is a merge, a tag or a stash, whether all tests are meant
and whether the message names those that were taken out, must not depend on the language either. Pure.
"""

import re
from functools import cache

_TESTS = r"\btest|\bspecs?\b|\bcases?\b|\bsuite\b|\bprueba|тест|テスト|测试|用例|테스트"

WORDINGS: dict[str, tuple[str, ...]] = {
    "commit": (r"\bcommit", r"\bcomit", r"\beingecheckt\b", "коммит", "コミット", "提交", "커밋"),
    "stash": (r"\bstash", "стэш", "スタッシュ", "贮藏", "스태시"),
    "tag": (r"\btag(?:s|ged)?\b", r"\bgetaggt\b", r"\b[ée]tiquet", r"\bтег", "タグ", "标签", "태그"),
    "merge": (
        r"\b(?:merged|rebased|cherry-picked)\b",
        r"\b(?:gemerge?d?t|gerebased?t?|zusammengeführt)\b",
        r"\b(?:fusionn|rebas[ée]|merg[ée]\b)",
        r"\b(?:fusion[ée]|fusionad|mergead|mesclad|rebasead)",
        r"\b(?:слил|влил|влит|смерж|смёрж|ребейз)",
        "マージ|リベース",
        "合并|变基",
        "병합|머지|리베이스",
    ),
    "new_branch": (
        r"\bbranch(?:es)?\b[^.\n]{0,40}\b(?:angelegt|erstellt|erzeugt|criad)|\b(?:cri[ae]i?)\w*\b[^.\n]{0,40}\bbranch",
        r"\bcré[ée]{1,2}s?\b[^.\n]{0,40}\bbranche|\bbranche\b[^.\n]{0,40}\bcréée",
        r"\bcre[éa]\w*\b[^.\n]{0,40}\brama\b|\brama\b[^.\n]{0,40}\bcread",
        r"\bсозда\w*\b[^.\n]{0,40}\bветк|\bветк\w*[^.\n]{0,40}\bсоздан",
        "ブランチを(?:作成|作り|切)",
        "(?:创建|新建)了?[^。\n]{0,20}分支|分支[^。\n]{0,10}(?:已创建|建好)",
        "브랜치를? ?(?:새로 )?(?:만들|생성)",
    ),
    "delete": (
        r"\b(?:delet|remov|dropp|eras|clean|gelöscht|entfernt|supprim|eliminad|elimin[ée]|borr|apag)\w*",
        "удал|削除|消し|删|삭제|지웠",
    ),
    "move": (
        r"\b(?:renam|mov)\w*|\b(?:umbenannt|verschoben|umgezogen)\b|\b(?:renomm|déplac)|\brenom[be]|\bmovid|\bmoví\b",
        "переимен|перен[её]с|перемест|переехал|改名|移動|移し|重命名|移到|挪到|옮겼|이름을",
    ),
    "create": (
        r"\b(?:creat|add|generat|new|made|wrote|copi)\w*|\b(?:angelegt|erstellt|erzeugt)\b|\bcréé|\bcre[éa]|\bcri(?:ei|ad)",
        "созда|作成|追加|新建|创建|만들|생성",
    ),
    "file_work": (
        r"\b(?:created|deleted|renamed|moved|copied)\b(?: (?:the|a|an|new|empty|old|unused|file|directory))*\W{1,3}§",
        r"§\W{1,3}(?:is |was |has been )?(?:created|deleted|renamed|moved)\b",
        r"(?<!\bin )(?<!\ban )(?<!\baus )(?<!\bnach )(?<!\bin `)(?<!\baus `)(?<!\bnach `)"
        r"§[^.\n]{0,50}\b(?:angelegt|erstellt|gelöscht|umbenannt)\b",
        r"\b(?:créé|supprimé|renommé)\w*\W{1,3}(?:(?:le|la|les|un|une|fichier|dossier)\W+)*§",
        r"§\W{1,3}(?:est |a été )?(?:créé|supprimé|renommé)",
        r"\b(?:creé|borré|eliminé|renombré|moví|criei|apaguei|renomeei|movi)\W{1,3}(?:(?:el|la|o|a|archivo|arquivo)\W+)*§",
        r"§\W{1,3}(?:está |foi )?(?:cread|borrad|eliminad|renombrad|criad|apagad|removid|renomead)",
        r"\b(?:создал|удалил|переименовал)а?\W{1,3}(?:файл\W+)?§|§\W{1,3}(?:создан|удал[её]н|переименован)",
        "§[`」]?\\s?を(?:新規)?(?:作成|削除|改名|移動)",
        "(?:新建|创建|删除|删掉)了?\\W{0,3}§|§\\W{0,3}已?(?:改名|重命名|删除)",
        "§`?(?:[를을]|의 이름을)\\s?(?:\\S+\\s)?(?:만들|생성|삭제|지웠|바꿨)",
    ),
    "taken_back": (
        r"\b(?:put|took|taken|rolled|backed|changed|turned|brought)\b[^;\n]{0,40}\b(?:back|out)\b",
        r"\b(?:revert(?:ed|ing)?|undid|undone|restored|discarded)\b",
        r"\b(?:zurückgenommen|zurückgesetzt|zurückgestellt|rückgängig|wiederhergestellt|verworfen)\b",
        r"\b(?:annul|restaur|rétabli|remis)\w*",
        r"\b(?:deshice|deshecho|deshic|revert[íi]|desfiz|desfeit|descart)\w*",
        r"\b(?:откатил|вернул|отменил|возвращ)",
        "元に戻|取り消",
        "还原|撤销|撤回|回滚|改回",
        "되돌|취소했",
    ),
    "all_tests": (
        r"\b(?:all|every|whole|full|entire|complete|everything)(?: of)?(?: the| our| your)?(?: existing| project's|"
        r" unit)? ?(?:tests?|test suite|suite|specs?|test cases)\b|\beverything (?:passes|is green)\b",
        r"^\W*(?:the )?(?:tests?|test suite|suite) (?:are |is )?(?:now |all )?(?:pass\w*|green|succeed\w*)\W*$",
        r"\b(?:alle|sämtliche)n? (?:\w+ )?tests?\b|\b(?:gesamte|ganze|komplette) (?:test)?suite\b",
        r"\btous les tests\b|\btoute la suite\b|\btests? passent tous\b",
        r"\btodas las pruebas\b|\btodos los tests\b|\btoda la (?:suite|batería)\b",
        r"\btodos os testes\b|\btoda a suíte\b",
        r"\bвсе (?:\w+ )?тест|\bвесь набор",
        "(?:すべて|全て|全部)のテスト|全テスト|テスト[はが](?:すべて|全て|全部|全件)",
        "(?:所有|全部)(?:的)?测试|测试(?:已)?(?:全部|都)",
        "(?:모든|전체) 테스트|테스트[가는]? ?(?:모두|전부)",
    ),
    "fewer_tests": (
        r"\bskip(?!\s*ped to)|\bx-?fail|\bexpected (?:to fail|failure)|\bdeselect",
        r"{near:\bdisabl|\bignored?\b|\bquarantin}",
        r"\b(?:remov|delet|dropp|cut|retir|merg|consolidat|collaps)\w*\b[^.\n]{0,60}\b(?:tests?|specs?|cases?)\b",
        r"\b(?:tests?|specs?|cases?)\b[^.\n]{0,40}\b(?:remov|delet|dropp|merg)\w*",
        "{near:übersprung|überspring|deaktivier|ausgelassen|gelöscht|entfernt|zusammengelegt}",
        "{near:ignor|désactiv|saut[ée]|supprim}",
        "{near:omit|saltad|salté|desactiv|elimin|borr}",
        "{near:pulad|pulei|desativ|remov|apag}",
        "{near:пропущ|пропуст|отключ|удал|убра}",
        "{near:スキップ|無効|削除|外しました}",
        "{near:跳过|禁用|删|去掉}",
        "{near:건너|스킵|비활성|삭제|제거|지웠}",
    ),
    "added_test": (
        r"\b(?:add(?:ed|s)?|wrote|written|creat(?:ed|es)|includ(?:ed|es)|with)\s+(?:an? |the |some |two |three |\d+ "
        r"|new |more |regression |unit |integration |failing |corresponding |matching )*"
        r"(?:tests?|specs?|test coverage)\b(?! (?:case|data|fix))",
        r"\b(?:regressions|unit)?-?tests?\b[^.\n,]{0,40}\b(?:ergänzt|hinzugefügt|geschrieben)",
        r"\b(?:ajouté|écrit)\w* (?:un |une |des |deux |le )?(?:nouveaux? )?tests?\b|\btests?\b[^.\n,]{0,40}\bajouté",
        r"\b(?:añadí|añadid|agregu|agregad|escrib)\w* (?:un |una |dos |la )?(?:nuev[ao]s? )?(?:test|prueba)s?\b",
        r"\b(?:adicion|acrescent|escrev)\w* (?:um |uma |dois |o )?(?:nov[oa]s? )?testes?\b",
        r"\b(?:добав|написа)\w* (?:новы\w+ )?(?:\w+ )?тест",
        "テスト[をも](?:\\d+ ?件)?(?:追加|書き|足し)",
        "(?:添加|新增|补|加|写)了[^。\n，]{0,12}测试",
        "테스트[를도]? ?(?:\\d+개를? )?(?:추가|작성)",
    ),
    "passing": (
        r"\bpass|\bgreen\b|\bsucce|\bgrün|\bbestanden|\bdurch\b|\bréussi|\bverts?\b|\bpasan\b|\bverdes?\b|\bcorrect",
        "проход|прошл|зелён|зелен|成功|通り|通って|通过|통과|성공",
    ),
}
"""What is said → patterns, any of which says it.

`{near:…}` is one of these words near a word for tests; `§` stands for the name of a file.
"""


def _expand_pattern(pattern: str) -> str:
    if not pattern.startswith("{near:"):
        return pattern
    words = pattern.removeprefix("{near:").removesuffix("}")
    return f"(?:{words})[^.。\n]{{0,60}}(?:{_TESTS})|(?:{_TESTS})[^.。\n]{{0,60}}(?:{words})"


@cache
def _compile_wording(name: str) -> re.Pattern[str]:
    return re.compile("|".join(map(_expand_pattern, WORDINGS[name])), re.IGNORECASE)


def has_wording(name: str, text: str) -> bool:
    """Return whether a text says, in one of the nine languages, what `WORDINGS` has under a name."""
    return bool(_compile_wording(name).search(text))
