"""What a sentence says in plain words that a proof depends on, in nine languages. Literal; the model reads the rest.

The model tells that a sentence claims a commit. Whether that is a merge, a tag or a stash, whether all tests are meant
and whether the message names those that were taken out, must not depend on the language either. Pure.
"""

import re
from functools import cache
from typing import NamedTuple


class Words(NamedTuple):
    """Words any of which says something, or says it only near one of some others.

    A word stands for all that begin with it, and with a dot at its end for itself alone; `_` is a space; ideographs and
    syllables may stand anywhere. `gap` is the largest number of characters between the two, `gap_back` where the others
    come first.
    """

    words: str
    near: str = ""
    gap: int = 0
    gap_back: int = 0


_TESTS = "test spec. specs. case. cases. suite. testsuite prueba тест テスト 测试 用例 테스트"
_FILLERS = (
    r"(?:(?:an?|the|some|two|three|\d+|new|more|regression|unit|integration|failing|corresponding|matching|une?|des|deux"
    r"|la|le|nouveaux?|una|dos|nuev[ao]s?|uma?|dois|o|nov[oa]s?|новы\w+|\w+ый) )*"
)
"""What may stand between `added` and `test`, so that `added a retry, tests pass` adds none."""

_MADE = (
    "(?:created|deleted|renamed|moved|copied|créé|supprimé|renommé|creé|cread[oa]|borr(?:é|ad[oa])|elimin(?:é|ad[oa])"
    "|renombr(?:é|ad[oa])|moví|criei|criad[oa]|apag(?:uei|ad[oa])|renome(?:ei|ad[oa])|removid[oa]|movi|создал|создан"
    "|удалил|удал[её]н|переименовал|переименован)"
)

WORDINGS: dict[str, tuple[Words | str, ...]] = {
    "commit": (Words("commit comit eingecheckt. коммит закомми コミット 提交 커밋"),),
    "whole_commit": (
        Words(
            "everything. alles. tout. todo. tudo. всё. すべて 全て 全部 모두 전부",
            "commit comit eingecheckt. коммит закомми コミット 提交 커밋",
            14,
            14,
        ),
    ),
    "push": (Words("push poussé hochgeladen. subid subí enviad envié envoyé отправ запуш プッシュ 推送 푸시"),),
    "stash": (Words("stash стэш スタッシュ 贮藏 스태시"),),
    "unstash": (
        Words(
            "pop appl drop clear empt restor recover unstash out. back. angew geholt. geleert. verworfen. wiederher"
            " appliqu récup vid aplic recuper sacad vaci tirei restaur esvazi применил вернул достал очи 取り出 戻 適用"
            " 破棄 弹出 恢复 取出 清空 应用 꺼냈 적용 비웠 복원"
        ),
    ),
    "denied": (
        Words(
            "not. n't. nothing. never. without. nicht. kein pas. sans. no. sin. não. sem. не. без. ない"
            " ません 没 未 不 않 안"
        ),
    ),
    "tag": (Words("tag. tags. tagged. getaggt. étiquet etiquet тег タグ 标签 태그"),),
    "merge": (
        Words(
            "merged. rebased. cherry-picked. gemerg gerebase zusammengeführt. fusionn rebasé mergé fusioné fusionad"
            " mergead mesclad rebasead слил влил влит смерж смёрж ребейз マージ リベース 合并 变基 병합 머지 리베이스"
        ),
    ),
    "branch": (Words("branch. branches. branched."),),
    "new_branch": (
        Words(
            "angelegt. erstellt. erzeugt. criad criei créé creé creado. creada. создал создан 作成 作り 切 建好"
            " 创建 新建 만들 생성",
            "branch. branches. branche. rama. ветк ブランチ 分支 브랜치",
            40,
            40,
        ),
    ),
    "delete": (
        Words("delet remov dropp eras clean gelöscht entfernt supprim elimin borr apag удал 削除 消し 删 삭제 지웠"),
    ),
    "move": (
        Words(
            "renam mov umbenannt. verschoben. umgezogen. renomm déplac renomb renome переимен перенес перенёс перемест"
            " переехал 改名 移動 移し 重命名 移到 挪到 옮겼 이름을"
        ),
    ),
    "create": (
        Words(
            "creat add generat new made wrote copi angelegt. erstellt. erzeugt. créé creé crea criei criad созда 作成"
            " 追加 新建 创建 만들 생성"
        ),
    ),
    "file_work": (
        rf"\b{_MADE}e?s?\W{{1,3}}(?:(?:the|an?|new|empty|old|unused|file|directory|le|la|les|une?|fichier|dossier|el|o"
        r"|archivo|arquivo|файл)\W+)*§",
        rf"§\W{{1,3}}(?:(?:is|was|has been|est|a été|está|foi) )?{_MADE}",
        r"(?<!\bin )(?<!\ban )(?<!\baus )(?<!\bnach )(?<!\bin `)(?<!\baus `)(?<!\bnach `)"
        r"§[^.\n]{0,50}\b(?:angelegt|erstellt|gelöscht|umbenannt)\b",
        "§[`」]?\\s?(?:を(?:新規)?(?:作成|削除|改名|移動)"
        "|(?:[를을]|의 이름을)\\s?(?:\\S+\\s)?(?:만들|생성|삭제|지웠|바꿨))",
        "(?:新建|创建|删除|删掉)了?\\W{0,3}§|§\\W{0,3}已?(?:改名|重命名|删除)",
    ),
    "taken_back": (
        Words("put. took. taken. rolled. backed. changed. turned. brought.", "back. out.", 40),
        Words(
            "revert undid. undone. restored. discarded. zurückgenommen. zurückgesetzt. zurückgestellt. rückgängig."
            " wiederhergestellt. verworfen. annul restaur rétabli remis deshice deshecho deshic desfiz desfeit descart"
            " откатил вернул отменил возвращ 元に戻 取り消 还原 撤销 撤回 回滚 改回 되돌 취소했"
        ),
    ),
    "own": (
        Words(
            "my. meine. meinen. ma. mes. mon. mi. mis. meu. minha. meus. minhas. мои. мою. свои. свою. 自分の 私の"
            " 我的 自己的 내_ 제_"
        ),
    ),
    "convert": (Words("convert export translat transform render compil"),),
    "all_tests": (
        Words(
            "all. every. whole. full. entire. complete. everything. alle. allen. sämtliche gesamte. ganze. komplette."
            " tous. toute. todas. todos. toda. все. весь. すべて 全て 全部 全件 全 所有 都 모든 전체 모두",
            f"{_TESTS} набор",
            22,
            3,
        ),
        Words("everything_passes. everything_is_green."),
        # Without a word before them that says which: `…, and the tests pass`.
        r"(?:^|[,;:.(–—]|\b(?:and|und|et|y|e|и)\b)\W*(?:the |die |les |las |los |os )?"
        r"(?:tests?|test suite|suite|pruebas|testes|тесты) "
        r"(?:(?:are|is|now|all|still|sind|sont|están|são|ya|wieder|jetzt|alle) )*"
        r"(?:pass\w*|green|succeed\w*|grün|laufen|passent|verts?|pasan|verdes?|passam|проходят|зел[её]ные)\b"
        r"(?!\W+(?:in|for|of|für|von|de|para|в|для)\b)"
        "|(?:^|[、，。；,;]) ?(?:テスト[はがも]?(?:通|成功|パス|グリーン)|测试[也都]?已?通过"
        "|테스트[가는도]? ?(?:통과|성공))",
    ),
    "fewer_tests": (
        Words("skip. skips. skipping. skipped. xfail x-fail deselect expected_to_fail expected_failure"),
        Words(
            "disabl ignor quarantin remov delet dropp cut. retir merg consolidat collaps übersprung überspring"
            " deaktivier ausgelassen. gelöscht. entfernt. zusammengelegt. désactiv saut supprim omit saltad salté"
            " desactiv elimin borr pulad pulei desativ apag пропущ пропуст отключ удал убра スキップ 無効"
            " 削除 外しました 跳过 禁用 删 去掉 건너 스킵 비활성 삭제 제거 지웠",
            _TESTS,
            60,
            60,
        ),
    ),
    "added_test": (
        rf"\b(?:add(?:ed|s)?|wrote|written|created|creates|included|includes|with|(?:ajouté|écrit|añadí|añadid|agregu"
        rf"|agregad|escrib|adicion|acrescent|escrev|добав|написа)\w*) {_FILLERS}(?:teste?s?|pruebas?|specs?"
        r"|test coverage|тест\w*)\b(?! (?:case|data|fix))",
        r"\b(?:regressions|unit)?-?tests?\b[^.\n,]{0,40}\b(?:ergänzt|hinzugefügt|geschrieben|ajouté)",
        "テスト[をも](?:\\d+ ?件)?(?:追加|書き|足し)|테스트[를도]? ?(?:\\d+개를? )?(?:추가|작성)"
        "|(?:添加|新增|补|加|写)了[^。\n，]{0,12}测试",
    ),
    "test": (
        Words("test. tests. tested. spec. specs. suite. pytest. jest. vitest. unittest. prueba teste тест"),
        Words("テスト 测试 用例 테스트"),
    ),
    "build": (Words("build built. compil"),),
    "lint": (Words("lint format type-check type_check typecheck mypy. ruff. eslint."),),
    "history_work": (Words("commit. push."),),
    "image": (Words("image. container. docker"),),
    "repair": (
        Words(
            "fix repair correct implement behob korrigier repariert corrig répar arregl implément исправ починил реализ"
            " 修正 修复 修好 実装 实现 고쳤 수정 구현"
        ),
    ),
    "layout": (
        Words(
            "format layout indent blank white_space whitespace space comment typo spelling lint style wording kommentar"
            " commentaire comentario comentário комментари コメント 注释 주석"
        ),
    ),
    "outside_work": (
        Words(
            "instal reinstal upgrad einger releas deploy redeploy publi republi ship upload migr post mail email send"
            " sent hochgel veröff ausgel déploy despleg implant lanz lanç выпу опубл развер установ мигр отправ"
            " インストール 導入 公開 リリース デプロイ 移行 送信 安装 发布 部署 迁移 发送"
            " 설치 배포 게시 출시 마이그레이션 전송 보냈"
        ),
    ),
    "todo_test": (Words("test.todo. it.todo. 1_todo 2_todo 3_todo 4_todo 5_todo 6_todo 7_todo 8_todo 9_todo"),),
    "and": (
        Words("and. as_well_as. und. sowie. et. y. e. и. its. the. also. die. das. le. la. el. o. と 和 및 와 과"),
    ),
    "into": (Words("to. into. as. nach. zu. en. vers. à. a. para. в. を に ろ 为 到 으로"),),
    "in": (Words("in. dans. em."),),
    "code_work": (Words("fix bug. implement refactor function. method. class. code. module. test. tests. renam rewr"),),
    "edit": (Words("chang updat edit modif replac rewor adjust correct"),),
    "write": (Words("add creat writ wrote remov delet mov set bump switch insert appl tid clean"),),
    "look": (
        Words(
            "review analys analyz inspect investigat audit compar look examin explor search trac list summaris summariz"
            " check explain describ answer identif verif confirm research read. found. went_through."
        ),
    ),
    "command_report": (
        Words(
            "commit. committed. pushed. merged. rebased. stashed. tagged. install deploy releas publish sent. emailed."
            " e-mailed. posted. migrat went_out."
        ),
    ),
    "unverified": (
        Words(
            "unverified. untested. unchecked. not_verified. not_yet_verified. not_tested. not_yet_tested."
            " without_running. without_testing. without_verifying."
        ),
    ),
    "failing": (
        Words(
            "fail. fails. failing. fehlschl schlägt. schlagen. échou falla. fallan. falha. falham. падает падают"
            " 失敗 失败 실패"
        ),
    ),
    "passing": (
        Words(
            "pass green. clean. compiles. builds. succe grün bestanden durch. réussi vert. verts. pasan. verde. verdes."
            " correct проход прошл"
            " зелён зелен 成功 通り 通って 通过 통과 성공"
        ),
    ),
}
"""What is said → words or patterns, any of which says it; `§` stands for the name of a file."""


def _build_words(words: str) -> str:
    phrases = [word.replace("_", " ") for word in words.split()]
    latin = [word for word in phrases if word[0] < "\u1100"]
    pieces = [re.escape(word) for word in phrases if word[0] >= "\u1100"]
    whole = "|".join(re.escape(word[:-1]) for word in latin if word.endswith("."))
    stems = "|".join(re.escape(word) for word in latin if not word.endswith("."))
    return "|".join(filter(None, (whole and rf"\b(?:{whole})\b", stems and rf"\b(?:{stems})\w*", *pieces)))


def _build_pattern(way: Words | str) -> str:
    if isinstance(way, str):
        return way
    words, near = _build_words(way.words), _build_words(way.near)
    if not near:
        return words
    # The dot in the name of a file ends no sentence.
    between = r"(?:[^.;\n。；]|\.(?=\w))"
    forward = f"(?:{words}){between}{{0,{way.gap}}}(?:{near})"
    back = f"(?:{near}){between}{{0,{way.gap_back}}}(?:{words})"
    return f"{forward}|{back}" if way.gap_back else forward


@cache
def _compile_wording(name: str) -> re.Pattern[str]:
    return re.compile("|".join(map(_build_pattern, WORDINGS[name])), re.IGNORECASE)


def has_wording(name: str, text: str) -> bool:
    """Return whether a text says, in one of the nine languages, what `WORDINGS` has under a name."""
    return bool(_compile_wording(name).search(text))


def has_only_wordings(names: tuple[str, ...], text: str, marks: str) -> bool:
    """Return whether a text is made of words of these wordings and of marks alone, and is not empty."""
    remaining = text
    for name in names:
        remaining = _compile_wording(name).sub(" ", remaining)
    return not remaining.strip(f"{marks} ") and bool(text.strip())


def find_wording(name: str, text: str) -> str:
    """Return the first words of a text that say it; empty where none do."""
    match = _compile_wording(name).search(text)
    return match[0] if match else ""
