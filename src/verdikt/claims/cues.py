"""Classes of words that carry grammar and mood, shared by the languages of the claim model.

`will`, `werde`, `vais`, `буду` and `予定` are one class, so that what the model learns of plans in one language holds
in the others. A class decides nothing by itself: its sequences are features. `benchmarks/claims.py` prints what they
are worth.
"""

from verdikt.model.lazy_regex import compile_lazily

EASTERN = "\u1100"
"""The first character of the scripts whose words do not stand apart or carry their grammar as syllables."""

CLASSES = {
    # past tenses and participles without a telling ending; a word that is in a later class too belongs to that one
    "D": "made built wrote written ran got took sent kept brought mis remis pris repris fait refait défait écrit "
    "réécrit réduit introduit traduit construit reconstruit produit ouvert couvert rendu revu résolu reçu étendu "
    "converti fini rétabli établi fourni extrait inclus découpé venu hecho rehecho deshecho puesto escrito reescrito "
    "resuelto abierto cubierto visto vuelto hice deshice puse traje reduje introduje produje feito refeito desfeito "
    "posto aberto coberto fiz refiz desfiz pus trouxe corrigi escrevi reescrevi converti mexi cobri reverti "
    "restringi abri subi defini incluí introduzi reduzi protegi inverti resolvi смог нашёл вынес перенёс свёл учёл "
    "внёс ввёл завёл привёл перевёл помог ました 済み 完了 なりました 已 了 完毕 搞定 好了 完成 通过 했습니다 "
    "됐습니다 되었습니다 했어요",
    # who acts
    "I": "i we i've we've ich wir je j nous yo nosotros eu nós я мы",
    "YOU": "you your you'd you'll you're du dein deine deinem deinen sie ihr ihnen tu ton ta tes vous votre vos toi "
    "tú usted tus su você seu sua vocês вы ты вам вас ваш ваша вашу ваши тебе",
    "THEY": "he she they them their someone others people users user customers maintainers author team er ihm jemand "
    "andere nutzer kollege kollegin il elle ils elles quelqu'un collègue équipe él ella ellos alguien compañero "
    "equipo ele ela eles alguém colega equipe он она они кто-то коллега пользователь さんが チームが 同僚 同事 团队 "
    "他 她 他们 동료 팀에서 대리 담당자",
    "ME": "me mir mich moi mim мне меня",
    # when
    "NOW": "now jetzt nun maintenant désormais ahora ya agora já теперь уже 現在 ようにな 现在 如今 이제",
    "AGAIN": "again anymore longer wieder mehr plus nouveau nuevo más mais novamente снова больше なくなり 不再 "
    "더_이상 다시 再び",
    "PAST": "yesterday ago previously earlier originally formerly last gestern letzte letzten letzter letztes damals "
    "früher vorher hier dernier dernière auparavant avant ayer pasado pasada anterior antes ontem passado passada "
    "вчера прошлой прошлом раньше ранее назад 昨日 先週 以前 前回 年前 月に 昨天 上周 之前 上次 年前 当时 어제 지난 "
    "이전 년_전 예전",
    "LATER": "tomorrow later soon next then afterwards morgen später bald nächste nächsten nächster danach "
    "anschließend demain bientôt ensuite prochain prochaine après mañana luego pronto próximo próxima después amanhã "
    "depois logo завтра потом позже затем далее скоро",
    "STILL": "still yet noch encore todavía aún ainda ещё еще пока まだ 未だ 还没 尚未 仍 仍然 아직 여전히 未",
    # mood
    "IF": "if when whenever once unless until till assuming suppose supposing provided wenn falls sobald sofern "
    "angenommen solange bevor si quand lorsque s cuando mientras se quando caso enquanto если когда пока もし 場合 "
    "たら れば なら 如果 若 一旦 假如 假设 要是 的话 只要 等 之后 만약 경우 다면 하면 되면 으면",
    "WILL": "will i'll we'll it'll he'll they'll going werde wird werden wirst vais vas va allons allez vont voy "
    "vamos van vou irá irão буду будет будем будут собираюсь планирую 予定 つもり これから 次に します する。 将 会 "
    "接下来 准备 打算 我来 稍后 예정 겠습니다 할게요 려고 계획",
    "WOULD": "would could should might i'd we'd you'd würde würden könnte könnten sollte sollten müsste müssten wäre "
    "wären hätte pourrait pourrais pourrions devrait devrais faudrait serait aurait podría podrías podríamos debería "
    "deberías sería habría poderia deveria seria teria бы べき でしょう かもしれ ほうが 推奨 お勧め 应该 建议 不如 "
    "最好 해야 좋겠 추천 되어야",
    "CAN": "can may must need needs have-to ought kann kannst können muss müssen soll sollen darf peut peux peuvent "
    "doit dois faut puede pueden puedes debe deben pode podem deve precisa можно нужно надо следует должен должна "
    "должны может можете できます 必要 可以 需要 能 수_있 필요 가능",
    "LET": "let lets let's lass lasst",
    "PLEASE": "please kindly bitte plaît merci favor пожалуйста прошу ください いただけ お願い もらえ 请 麻烦 能否 "
    "帮我 劳烦 주세요 주시 부탁 줄래",
    "SHALL": "shall want like soll möchtest möchten willst veux voulez souhaites souhaitez quieres quiere desea quer "
    "gostaria хотите хочешь ましょうか よろしい いかが 要不要 需要我 要我 드릴까요 원하시",
    "MAYBE": "maybe perhaps probably possibly hope wish expect assume guess seems seem appears suspect think "
    "vielleicht wahrscheinlich vermutlich hoffe vermute scheint glaube denke peut-être probablement espère semble "
    "pense crois quizá quizás probablemente espero parece creo talvez provavelmente acho возможно наверное надеюсь "
    "кажется похоже думаю вероятно おそらく たぶん はず 思います 可能 也许 估计 大概 希望 应该是 아마 것_같 듯",
    "SAYS": "said says say wrote writes according claims claimed told mentioned mentions reported reports states "
    "sagt sagte schrieb schreibt laut meint meinte behauptet dit écrit selon indique affirme dice dijo según "
    "escribió indica afirma diz disse segundo escreveu сказал сказала пишет написал согласно говорит によると と言 "
    "とのこと そうです と書かれ 根据 据 说 表示 提到 写着 라고 따르면 다고 했다고 적혀",
    "ASK": "how why what which whether where who wie warum wieso ob welche welcher welches was wo wer comment "
    "pourquoi quel quelle quels où cómo qué cuál dónde quién qual quais onde как почему какой какая какие где зачем "
    "か？ ですか ますか でしょうか なぜ どう どの 吗 ？ 是否 为什么 怎么 什么 哪 나요 까요 는지 왜 어떻게",
    "ALWAYS": "each every always usually typically default jede jeder jedes jedem immer standardmäßig normalerweise "
    "üblicherweise chaque toujours généralement défaut cada siempre normalmente defecto sempre geralmente padrão "
    "всегда обычно каждый каждая умолчанию 毎 たびに 自動 通常 デフォルト 每 自动 默认 通常 总是 매 자동 기본 항상 "
    "마다",
    # polarity and extent
    "NOT": "not no never none nothing neither nor don't doesn't didn't isn't aren't wasn't weren't haven't hasn't "
    "hadn't won't wouldn't shouldn't nicht kein keine keinen keiner keinem nie nichts ne n pas aucun aucune jamais "
    "rien non nunca nada ningún ninguna ninguno não nenhum nenhuma не нет ни ничего никто ません ない なかった なし "
    "没 不 无 않 못 없 안 되지",
    "CANT": "can't cannot couldn't unable blocked stuck denied lack lacks impossible blockiert unmöglich verweigert "
    "bloqué bloquée refusé bloqueado bloqueada imposible denegado impossível negado невозможно заблокирован отказано "
    "удалось できません できない できなかった 進めません 拒否 権限がな 无法 不能 没法 拒绝 没有权限 卡住 할_수_없 "
    "수가_없 권한이_없 거부 막혔",
    "WITHOUT": "without zero 0-errors ohne sans sin sem без",
    "BUT": "but though although however except aber jedoch allerdings obwohl mais cependant toutefois pero aunque "
    "sin-embargo mas porém embora но однако хотя が、 しかし ただし ものの 但 不过 然而 可是 지만 하지만 는데 다만",
    "BECAUSE": "because since so therefore weil da denn deshalb daher car parce donc porque ya-que pois então потому "
    "поэтому так",
    "ONLY": "only almost nearly partly partially half most just-part nur fast teilweise halb bisher seulement "
    "presque partiellement moitié solo sólo casi parcialmente mitad apenas só quase metade только почти частично "
    "половина だけ のみ 一部 半分 途中 只 仅 一半 部分 일부 만 절반",
    "ALL": "all everything both entire full whole alle alles sämtliche ganze gesamte tous toutes tout toute todo "
    "todos toda todas tudo все всё весь вся すべて 全て 全部 全 所有 均 都 모두 전부 모든",
    # what is claimed
    "HAVE": "have has had 've habe haben hat hatte hatten ai avons a ont as he hemos ha han hube tenho temos",
    "BE": "is are am be it's that's there's ist sind bin c'est est sont es está están son é são estão",
    "WAS": "was were been being wurde wurden worden war waren été était étaient fue fueron sido era estaba foi foram "
    "был была было были",
    "GOOD": "done fixed complete completed finished ready works working green clean pass passes passed passing "
    "resolved solved success successfully implemented fertig erledigt abgeschlossen behoben grün sauber gelöst "
    "bereit erfolgreich funktioniert umgesetzt bestanden läuft laufen durch terminé terminée terminés corrigé "
    "corrigée corrigés fini fait prêt prête résolu résolue fonctionne passent vert verts réussi réussis listo lista "
    "hecho completado completada terminado terminada funciona corregido corregida resuelto resuelta arreglado "
    "arreglada pasan verde pronto pronta feito concluído concluída corrigido corrigida resolvido resolvida passam "
    "готово исправлено исправлен исправлена работает завершено завершена решено сделано проходят пройдены 成功 パス "
    "通り 動作 問題なく 直り 修复 正常 没问题 干净 통과 성공 정상 해결 문제없이",
    "BAD": "fail fails failed failing broken red missing untested unverified error errors fehlt fehlen "
    "fehlgeschlagen schlägt fehl kaputt rot ungetestet offen échoue échouent échoué manque cassé rouge falla fallan "
    "falló falta faltan roto rojo falha falham falhou quebrado vermelho падает падают упал ошибка ошибки сломан 失敗 "
    "エラー 失败 报错 错误 실패 오류 에러",
    "LOOK": "looked read reviewed analyzed analysed investigated found traced noticed compared checked angesehen "
    "gelesen analysiert gefunden untersucht angeschaut regardé lu analysé trouvé examiné revisé leído analizado "
    "encontré revisado mirado analisei li encontrei olhei посмотрел посмотрела прочитал проанализировал нашёл нашел "
    "изучил 確認し 調べ 調査 読み 看了 查看 检查 分析 读了 살펴 분석 읽어 검토",
    "TRY": "started starting began trying tried working-on beginne begonnen angefangen versuche versucht arbeite "
    "commencé commence essayé essaie empecé empezado intenté intentado comecei tentei начал начала пытаюсь "
    "попробовал пробовал 試し ています 開始 中です 正在 尝试 开始 试了 시도 시작 중입니다",
    "THE": "the a an this that these those its der die das den dem des ein eine einen einem einer diese dieser "
    "dieses le la les l un une du ce cette ces el los las una este esta estos o os as um uma",
    "IN": "in on at of to for from with by into über auf an im am zum zur für von vom mit bei dans sur à au aux de "
    "pour avec par en por para con al del do da no na em com в на с для по из к от",
    "AND": "and or und oder et ou y e и или",
}
_CLASS_OF_CUE = {cue.replace("_", " "): name for name, cues in CLASSES.items() for cue in cues.split()}

CLASS_OF_WORD = {cue: name for cue, name in _CLASS_OF_CUE.items() if cue[0] < EASTERN}
"""The class of a word; the last one where a word means two things in two languages."""

CLASS_OF_PIECE = {cue: name for cue, name in _CLASS_OF_CUE.items() if cue[0] >= EASTERN}
"""The class of a piece of a text in Japanese, Chinese or Korean, where words are not apart or carry their grammar."""

PAST_ENDINGS = tuple(
    "ed iert ado ido ados idos ada adas ida idas é ée és ées ei í ил ал ял ел ёл ила ала или али лся лась лись ен ена"
    " ено ены ён ан ана ано аны ян ул ула ули рыт рыта рыто рыты нят нята нято няты тён тена тено тены".split()
)
"""Endings of past tenses and participles: English, German, Spanish and Portuguese, French, Russian."""

GERMAN_PARTICIPLE = compile_lazily(
    r"(?:ab|an|auf|aus|bei|bereit|da|durch|ein|fest|frei|heraus|hin|hinzu|hoch|los|mit|nach|um|vor|weg|weiter|wieder"
    r"|wiederher|zu|zurück|zusammen)?ge[a-zäöüß]{2,16}(?:t|en)"
    r"|(?:um|an|auf|nach|vor|aus|ein)?(?:be|er|ent|ver|zer|über)[a-zäöüß]{3,16}(?:t|oben|nannt)"
)
