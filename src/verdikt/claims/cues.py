"""Classes of words that carry grammar and mood, language by language; what a class means is the same in all of them.

`will`, `werde`, `vais`, `буду` and `予定` are one class, so that what the model learns of plans in one language holds
in the others. A class decides nothing by itself: its sequences are features. `benchmarks/claims.py` prints what they
are worth. Each language has a list of its own because words collide: `no` denies in English and is `in the` in
Portuguese, `he` is a person in English and `have` in Spanish.
"""

import re
from functools import cache, lru_cache

from verdikt.model.lazy_regex import compile_lazily

EASTERN = "\u1100"
"""The first character of the scripts whose words do not stand apart or carry their grammar as syllables."""

CUES: dict[str, dict[str, str]] = {
    "en": {
        "D": "made built wrote written ran got took sent kept brought put set cut split went came did found held left",
        "I": "i we i've we've",
        "YOU": "you your you'd you'll you're yours",
        "THEY": "he she they them their his her someone somebody others people users user customers maintainers author"
        " team upstream vendor colleague colleagues bot reviewer"
        " provider maintainer",
        "ME": "me us",
        "NOW": "now finally henceforth",
        "AGAIN": "again anymore longer",
        "PAST": "yesterday ago previously earlier originally formerly last monday tuesday wednesday thursday friday"
        " before"
        " january february march april june july august september october november december",
        "LATER": "tomorrow later soon next then afterwards after",
        "STILL": "still yet",
        "IF": "if when whenever once unless until till assuming suppose supposing provided",
        "WILL": "will i'll we'll it'll he'll they'll going",
        "WOULD": "would could should might i'd we'd",
        "CAN": "can may must need needs ought",
        "LET": "let lets let's",
        "PLEASE": "please kindly",
        "SHALL": "shall want like",
        "MAYBE": "maybe perhaps probably possibly hope wish expect assume guess seems seem appears suspect think",
        "SAYS": "said says say writes according claims claimed told mentioned mentions reported reports states",
        "ASK": "how why what which whether where who",
        "ALWAYS": "each every always usually typically default nightly daily weekly automatically",
        "NOT": "not no never none nothing neither nor don't doesn't didn't isn't aren't wasn't weren't haven't hasn't"
        " hadn't won't wouldn't shouldn't",
        "CANT": "can't cannot couldn't unable blocked stuck denied lack lacks impossible",
        "WITHOUT": "without zero",
        "BUT": "but though although however except",
        "BECAUSE": "because since so therefore",
        "ONLY": "only almost nearly partly partially half most",
        "ALL": "all everything both entire full whole",
        "HAVE": "have has had 've",
        "BE": "is are am be it's that's there's",
        "WAS": "was were been being",
        "GOOD": "done fixed complete completed finished ready works working green clean pass passes passed passing"
        " resolved solved success successfully implemented",
        "BAD": "fail fails failed failing broken red missing untested unverified error errors failure failures"
        " warnings",
        "LOOK": "looked read reviewed analyzed analysed investigated traced noticed compared checked reproduced"
        " inspected profiled reread skimmed scanned studied examined audited followed measured timed"
        " counted explored researched searched grepped queried debugged watched weighed considered"
        " discussed browsed located identified understood noted",
        "TRY": "started starting began trying tried",
        "THE": "the a an this that these those its it",
        "IN": "in on at of to for from with by into as",
        "AND": "and or",
    },
    "de": {
        "D": "lief ging kam hab entfällt",
        "I": "ich wir",
        "YOU": "du dein deine deinem deinen sie ihr ihnen dir dich",
        "THEY": "er ihm jemand andere nutzer kollege kollegin kollegen autor team maintainer bot anbieter maintainerin",
        "ME": "mir mich",
        "NOW": "jetzt nun sofort nunmehr endlich diesmal",
        "AGAIN": "wieder mehr erneut",
        "PAST": "gestern letzte letzten letzter letztes damals früher vorher montag dienstag freitag vor"
        " januar februar märz april mai juni juli august september oktober november dezember",
        "LATER": "morgen später bald nächste nächsten nächster nächstes danach anschließend gleich",
        "STILL": "noch weiterhin immer",
        "IF": "wenn falls sobald sofern angenommen solange bevor bis",
        "WILL": "werde wird werden wirst",
        "WOULD": "würde würden könnte könnten sollte sollten müsste müssten wäre wären hätte ließe",
        "CAN": "kann kannst können muss müssen soll sollen darf lässt lassen",
        "LET": "lass lasst",
        "PLEASE": "bitte",
        "SHALL": "möchtest möchten willst magst",
        "MAYBE": "vielleicht wahrscheinlich vermutlich hoffe vermute scheint glaube denke hoffentlich",
        "SAYS": "sagt sagte schrieb schreibt laut meint meinte behauptet meldet steht",
        "ASK": "wie warum wieso ob welche welcher welches was wo wer",
        "ALWAYS": "jede jeder jedes jedem jeden standardmäßig normalerweise üblicherweise nachts täglich automatisch",
        "NOT": "nicht kein keine keinen keiner keinem nie nichts niemand",
        "CANT": "blockiert unmöglich verweigert konnte",
        "WITHOUT": "ohne null",
        "BUT": "aber jedoch allerdings obwohl",
        "BECAUSE": "weil da denn deshalb daher",
        "ONLY": "nur fast teilweise halb bisher erst",
        "ALL": "alle alles sämtliche ganze gesamte beide beiden allen",
        "HAVE": "habe haben hat hatte hatten",
        "BE": "ist sind bin sei",
        "WAS": "wurde wurden worden war waren",
        "GOOD": "fertig erledigt abgeschlossen behoben grün sauber gelöst bereit erfolgreich funktioniert umgesetzt"
        " bestanden läuft laufen durch klappt passt stimmt",
        "BAD": "fehlt fehlen fehlgeschlagen schlägt fehl kaputt rot ungetestet offen fehler fehlschlag fehlschläge"
        " warnungen",
        "LOOK": "angesehen gelesen analysiert gefunden untersucht angeschaut verglichen geschaut nachgestellt"
        " verfolgt durchgesehen durchgelesen überflogen geprüft begutachtet nachvollzogen gemessen"
        " gezählt nachgeprüft erkundet recherchiert durchsucht abgefragt reproduziert debuggt beobachtet"
        " abgewogen erwogen durchforstet entdeckt bemerkt verstanden profiliert ausgewertet betrachtet"
        " gesichtet durchgegangen studiert",
        "TRY": "beginne begonnen angefangen versuche versucht arbeite gerade probiert",
        "THE": "der die das den dem des ein eine einen einem einer diese dieser dieses es",
        "IN": "über auf an im am zum zur für von vom mit bei in aus nach zu",
        "AND": "und oder",
    },
    "fr": {
        "D": "mis remis pris repris fait refait défait écrit réécrit réduit introduit traduit construit reconstruit"
        " produit ouvert couvert rendu revu résolu reçu étendu converti fini rétabli établi fourni extrait inclus"
        " découpé venu réussi mise mises prises faite faites écrite écrites réduite ouverte résolue résolues",
        "I": "je j nous on",
        "YOU": "tu ton ta tes vous votre vos toi te",
        "THEY": "il elle ils elles quelqu'un collègue équipe auteur mainteneurs utilisateur utilisateurs bot"
        " fournisseur prestataire",
        "ME": "me moi m",
        "NOW": "maintenant désormais dorénavant présent enfin",
        "AGAIN": "plus nouveau",
        "PAST": "hier dernier dernière auparavant avant lundi mardi vendredi ans"
        " janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "LATER": "demain bientôt ensuite prochain prochaine après puis",
        "STILL": "encore toujours",
        "IF": "si quand lorsque s fois",
        "WILL": "vais vas va allons allez vont",
        "WOULD": "pourrait pourrais pourrions devrait devrais faudrait serait seraient aurait vaudrait",
        "CAN": "peut peux peuvent doit dois faut pouvez",
        "LET": "laissez laisse",
        "PLEASE": "plaît merci veuillez",
        "SHALL": "veux voulez souhaites souhaitez dois-je",
        "MAYBE": "peut-être probablement espère semble pense crois imagine",
        "SAYS": "dit selon indique affirme signale d'après",
        "ASK": "comment pourquoi quel quelle quels où qui est-ce",
        "ALWAYS": "chaque généralement défaut normalement automatiquement",
        "NOT": "ne n pas aucun aucune jamais rien non ni",
        "CANT": "bloqué bloquée refusé impossible",
        "WITHOUT": "sans zéro",
        "BUT": "mais cependant toutefois",
        "BECAUSE": "car parce donc puisque",
        "ONLY": "seulement presque partiellement moitié",
        "ALL": "tous toutes tout toute",
        "HAVE": "ai avons a ont as avez",
        "BE": "c'est est sont suis soit",
        "WAS": "été était étaient",
        "GOOD": "terminé terminée terminés corrigé corrigée corrigés corrigées prêt prête fonctionne fonctionnent"
        " passent vert verts verte réussis marche propre",
        "BAD": "échoue échouent échoué manque cassé rouge échec échecs erreur erreurs avertissement avertissements",
        "LOOK": "regardé lu analysé trouvé examiné parcouru comparé relu remarqué suivi inspecté profilé survolé"
        " étudié audité mesuré compté vérifié exploré cherché interrogé reproduit débogué observé"
        " envisagé réfléchi fouillé épluché localisé identifié compris consulté décortiqué constaté",
        "TRY": "commencé commence essayé essaie essaye",
        "THE": "le la les l un une du ce cette ces des",
        "IN": "dans sur à au aux de d pour avec par en",
        "AND": "et ou",
    },
    "es": {
        "D": "hecho rehecho deshecho puesto escrito reescrito abierto cubierto vuelto hice deshice puse traje reduje"
        " introduje produje hicieron quedó quedaron",
        "I": "yo nosotros",
        "YOU": "tú usted tus su tu te ti",
        "THEY": "él ella ellos alguien compañero compañera equipo autor usuario usuarios mantenedores proveedor"
        " mantenedor",
        "ME": "me mí",
        "NOW": "ahora ya finalmente",
        "AGAIN": "nuevo más vez vuelve vuelven",
        "PAST": "ayer pasado pasada anterior antes lunes martes viernes hace"
        " enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "LATER": "mañana luego pronto próximo próxima después siguiente",
        "STILL": "todavía aún sigue siguen",
        "IF": "si cuando mientras cuanto",
        "WILL": "voy vamos van vas",
        "WOULD": "podría podrías podríamos debería deberías sería habría",
        "CAN": "puede pueden puedes debe deben hay-que puedo",
        "LET": "deja dejemos",
        "PLEASE": "favor",
        "SHALL": "quieres quiere desea",
        "MAYBE": "quizá quizás probablemente espero parece creo supongo imagino ojalá",
        "SAYS": "dice dijo según escribió indica afirma informa",
        "ASK": "cómo qué cuál dónde quién",
        "ALWAYS": "cada siempre normalmente defecto suele automáticamente",
        "NOT": "no nunca nada ningún ninguna ninguno ni",
        "CANT": "bloqueado bloqueada imposible denegado pude",
        "WITHOUT": "sin cero",
        "BUT": "pero aunque sin-embargo",
        "BECAUSE": "porque pues",
        "ONLY": "solo sólo casi parcialmente mitad",
        "ALL": "todo todos toda todas ambos ambas",
        "HAVE": "he hemos ha han hube había",
        "BE": "es está están son",
        "WAS": "fue fueron sido era estaba",
        "GOOD": "listo lista completado completada terminado terminada funciona funcionan corregido corregida resuelto"
        " resuelta arreglado arreglada pasan verde limpio correctos bien",
        "BAD": "falla fallan falló falta faltan roto rojo fallo fallos error errores avisos",
        "LOOK": "revisé leído leí analizado encontré revisado mirado miré comparé seguí repasé reproduje"
        " inspeccioné perfilé recorrí releí estudié examiné audité rastreé medí conté verifiqué comprobé"
        " exploré investigué analicé busqué consulté observé sopesé consideré localicé identifiqué noté"
        " entendí comparado medido repasado inspeccionado estudiado comprobado",
        "TRY": "empecé empezado intenté intentado probé",
        "THE": "el la los las un una este esta estos lo",
        "IN": "de en por para con al del a",
        "AND": "y e o u",
        "SE": "se",
    },
    "pt": {
        "D": "feito refeito desfeito posto aberto coberto fiz refiz desfiz pus trouxe corrigi escrevi reescrevi"
        " converti mexi cobri reverti restringi abri subi defini incluí introduzi reduzi protegi inverti resolvi"
        " virou viraram ficou ficaram feita feitas feitos escrito",
        "I": "eu nós",
        "YOU": "você seu sua vocês te",
        "THEY": "ele ela eles alguém colega equipe time autor usuário usuários mantenedores provedor"
        " fornecedor mantenedor",
        "ME": "me mim",
        "NOW": "agora já passa passou passaram finalmente enfim",
        "AGAIN": "mais novamente novo voltou voltaram volta",
        "PAST": "ontem passado passada anterior antes segunda terça sexta há"
        " janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "LATER": "amanhã depois logo próximo próxima seguida seguir",
        "STILL": "ainda continua continuam",
        "IF": "se quando caso enquanto assim-que",
        "WILL": "vou vai vamos irá irão vão",
        "WOULD": "poderia deveria seria teria daria",
        "CAN": "pode podem deve devem precisa dá posso",
        "LET": "deixe deixa",
        "PLEASE": "favor",
        "SHALL": "quer gostaria devo",
        "MAYBE": "talvez provavelmente espero parece acho imagino suponho",
        "SAYS": "diz disse segundo escreveu indica afirma informa",
        "ASK": "como qual quais onde quem que",
        "ALWAYS": "cada sempre normalmente geralmente padrão costuma automaticamente toda",
        "NOT": "não nunca nada nenhum nenhuma nem",
        "CANT": "bloqueado bloqueada impossível negado travado consegui consigo",
        "WITHOUT": "sem zero",
        "BUT": "mas porém embora",
        "BECAUSE": "porque pois então",
        "ONLY": "só apenas somente quase parcialmente metade",
        "ALL": "tudo todos todas todo ambos",
        "HAVE": "tenho temos tem têm",
        "BE": "é está são estão",
        "WAS": "foi foram sido era estava",
        "GOOD": "pronto pronta concluído concluída concluídos terminado corrigido corrigida corrigidos resolvido"
        " resolvida funciona funcionam passam verde verdes limpo certo sucesso",
        "BAD": "falha falham falhou quebrado vermelho falta faltam erro erros falhas avisos",
        "LOOK": "analisei li encontrei olhei revisei comparei conferi percorri segui notei medi reproduzi"
        " inspecionei perfilei reli estudei examinei auditei rastreei contei verifiquei explorei"
        " investiguei procurei consultei depurei observei considerei repassei vasculhei localizei"
        " identifiquei entendi constatei avaliei chequei",
        "TRY": "comecei tentei começo",
        "THE": "o a os as um uma este esta esse essa",
        "IN": "de do da no na em com para por dos das nos nas ao pelo pela",
        "AND": "e ou",
    },
    "ru": {
        "D": "смог нашёл вынес перенёс свёл учёл внёс ввёл завёл привёл перевёл помог",
        "I": "я мы",
        "YOU": "вы ты вам вас ваш ваша вашу ваши тебе",
        "THEY": "он она они кто-то коллега пользователь автор мейнтейнеры бот поставщик мейнтейнер",
        "ME": "мне меня",
        "NOW": "теперь уже отныне наконец",
        "AGAIN": "снова больше",
        "PAST": "вчера прошлой прошлом раньше ранее назад понедельник вторник пятницу"
        " январе феврале марте апреле мае июне июле августе сентябре октябре ноябре декабре",
        "LATER": "завтра потом позже затем далее скоро дальше сейчас",
        "STILL": "ещё еще пока",
        "IF": "если когда",
        "WILL": "буду будет будем будут собираюсь планирую",
        "WOULD": "бы",
        "CAN": "можно нужно надо следует должен должна должны должно может можете могу",
        "LET": "давайте пусть",
        "PLEASE": "пожалуйста прошу",
        "SHALL": "хотите хочешь",
        "MAYBE": "возможно наверное надеюсь кажется похоже думаю вероятно",
        "SAYS": "сказал сказала пишет написал согласно говорит судя сообщает утверждает",
        "ASK": "как почему какой какая какие где зачем кто",
        "ALWAYS": "всегда обычно каждый каждая каждую умолчанию автоматически",
        "NOT": "не нет ни ничего никто",
        "CANT": "невозможно заблокирован отказано",
        "WITHOUT": "без ноль",
        "BUT": "но однако хотя",
        "BECAUSE": "потому поэтому так",
        "ONLY": "только почти частично половина",
        "ALL": "все всё весь вся оба обе",
        "BE": "есть это",
        "WAS": "был была было были",
        "GOOD": "готово исправлено исправлен исправлена работает работают завершено завершена решено сделано проходят"
        " пройдены готов готова готовы зелёный зелёные зелёная",
        "BAD": "падает падают упал упало ошибка ошибки ошибок сломан падений красный",
        "LOOK": "посмотрел посмотрела прочитал проанализировал нашел изучил сравнил проследил заметил замерил"
        " просмотрел осмотрел прочёл перечитал исследовал рассмотрел проверил отследил сопоставил измерил"
        " посчитал перепроверил поискал воспроизвёл понаблюдал взвесил обдумал обсудил обнаружил понял"
        " оценил разобрал глянул изучила прочитала проверила сравнила нашла измерила просмотрела"
        " проанализировала",
        "TRY": "начал начала пытаюсь попробовал пробовал начинаю",
        "IN": "в на с для по из к от у за",
        "AND": "и или",
    },
    "ja": {
        "D": "ました 済み 完了 なりました てあります した。",
        "THEY": "さんが チームが 同僚 作者 誰か メンテナー 業者",
        "NOW": "現在 ようにな これで ようやく やっと 今後",
        "AGAIN": "なくなり 再び もう",
        "PAST": "昨日 先週 以前 前回 年前 月に 当時 昨年 昨夜",
        "STILL": "まだ 未だ 未",
        "IF": "もし 場合 たら れば なら",
        "WILL": "予定 つもり これから 次に します する。 ましょう",
        "WOULD": "べき でしょう かもしれ ほうが 推奨 お勧め",
        "CAN": "できます 必要",
        "PLEASE": "ください いただけ お願い もらえ",
        "SHALL": "ましょうか よろしい いかが",
        "MAYBE": "おそらく たぶん はず 思います",
        "SAYS": "によると と言 とのこと そうです と書かれ によれば",
        "ASK": "か？ ですか ますか でしょうか ましたか なぜ どう どの",
        "ALWAYS": "毎 たびに 自動 通常 デフォルト 既定 普通",
        "NOT": "ません ない なかった なし",
        "CANT": "できません できない できなかった 進めません 拒否 権限がな 手詰まり",
        "BUT": "が、 しかし ただし ものの",
        "ONLY": "だけ のみ 一部 半分 途中 しか",
        "ALL": "すべて 全て 全部 全",
        "WAS": "でした されました",
        "BE": "です。 います。 あります。 います ています れています てい",
        "GOOD": "成功 パス 通り 動作 問題なく 直り 解消 解決 緑",
        "BAD": "失敗 エラー 落ち 赤",
        "LOOK": "確認し 調べ 調査 読み 見つけ 比べ 目を通し 把握 気づ 再現 見ました 見てみ 眺め 追い"
        " たどり 計測し 測り 数え 分析し 検索し 観察 洗い出 評価し 拝見 精査 突き合わせ",
        "TRY": "試し 開始 中です ところです",
    },
    "zh": {
        "D": "已 了 完毕 搞定 好了 完成 通过 已经",
        "I": "我",
        "YOU": "你 您",
        "THEY": "同事 团队 他 她 他们 作者 有人 维护者 供应商 上游 机器人",
        "NOW": "现在 如今 终于",
        "AGAIN": "不再 又 重新 恢复",
        "PAST": "昨天 上周 月份 之前 上次 年前 当时 去年 昨晚 周五 周一 周二",
        "LATER": "之后 然后 接着 马上",
        "STILL": "还没 尚未 仍 仍然 未 还在 还剩",
        "IF": "如果 若 一旦 假如 假设 要是 的话 只要 等",
        "WILL": "将 会 接下来 准备 打算 我来 稍后",
        "WOULD": "应该 建议 不如 最好",
        "CAN": "可以 需要 能 必须",
        "PLEASE": "请 麻烦 能否 帮我 劳烦",
        "SHALL": "要不要 需要我 要我",
        "MAYBE": "可能 也许 估计 大概 希望 应该是 我猜",
        "SAYS": "根据 据 说 表示 提到 写着 提示",
        "ASK": "吗 ？ 是否 为什么 怎么 什么 哪 谁",
        "ALWAYS": "每 自动 默认 通常 总是 一般",
        "NOT": "没 不 无 没有",
        "CANT": "无法 不能 没法 拒绝 没有权限 卡住",
        "BUT": "但 不过 然而 可是",
        "ONLY": "只 仅 一半 部分",
        "ALL": "全部 所有 均 都 全",
        "BE": "是 在 有",
        "GOOD": "修复 正常 没问题 干净 成功 绿",
        "BAD": "失败 报错 错误 红",
        "LOOK": "看了 查看 检查 分析 读了 发现 对比 注意到 翻了 找到了 复现 浏览 阅读 研究 审查 审阅"
        " 追踪 测量 统计 核对 调查 搜索 观察 排查 定位 评估 通读 过了一遍 梳理 查阅",
        "TRY": "正在 尝试 开始 试了",
    },
    "ko": {
        "D": "했습니다 됐습니다 되었습니다 했어요 완료",
        "I": "제가 저는",
        "THEY": "동료 팀에서 대리 담당자 누군가 작성자 메인테이너 업체",
        "NOW": "이제 드디어 이제부터",
        "AGAIN": "더_이상 다시 더는",
        "PAST": "어제 지난 월에 이전 년_전 예전 작년 어젯밤 금요일 월요일",
        "LATER": "그다음 이어서 곧 다음",
        "STILL": "아직 여전히 계속",
        "IF": "만약 경우 다면 하면 되면 으면",
        "WILL": "예정 겠습니다 할게요 려고 계획 ㄹ게요",
        "WOULD": "해야 좋겠 추천 되어야 낫습니다",
        "CAN": "수_있 필요 가능",
        "PLEASE": "주세요 주시 부탁 줄래 하세요",
        "SHALL": "드릴까요 원하시 할까요 까요",
        "MAYBE": "아마 것_같 듯 겁니다 텐데",
        "SAYS": "라고 따르면 다고 했다고 적혀 합니다고",
        "ASK": "나요 는지 왜 어떻게 어느",
        "ALWAYS": "매 자동 기본 항상 마다 보통",
        "NOT": "않 못 없 안 되지",
        "CANT": "할_수_없 수가_없 권한이_없 거부 막혔 불가능",
        "BUT": "지만 하지만 는데 다만",
        "ONLY": "일부 만 절반",
        "ALL": "모두 전부 모든",
        "BE": "입니다 있습니다 됩니다 합니다",
        "GOOD": "통과 성공 정상 해결 문제없이 초록불",
        "BAD": "실패 오류 에러 빨간불",
        "LOOK": "살펴 분석 읽어 검토 읽었 찾았 비교 훑 파악 알아 봤습니다 들여다 조사했 점검했 추적했"
        " 측정했 세어 검색했 조회했 관찰했 발견했 대조했 평가했",
        "TRY": "시도 시작 중입니다",
    },
}
"""Language → class → words, or pieces of words in Japanese, Chinese and Korean; `_` stands for a space."""

PAST_ENDINGS = {
    "en": ("ed",),
    "de": ("iert",),
    "fr": ("é", "ée", "és", "ées", "ié", "iée"),
    "es": tuple("ado ido ados idos ada adas ida idas é í ó ió aron ieron".split()),
    "pt": tuple("ado ido ados idos ada adas ida idas ei í ou aram eram iram".split()),
    "ru": tuple(
        "ил ал ял ел ёл ила ала яла или али лся лась лось лись ен ена ено ены ён ан ана ано аны ян яна яно ул ула ули"
        " рыт рыта рыто рыты нят нята нято няты тён тена тено тены".split()
    ),
}
"""Language → endings of past tenses and participles."""

PROGRESSIVE_ENDINGS = {"en": ("ing",), "es": ("ando", "iendo"), "pt": ("ando", "endo", "indo"), "fr": ("ant",)}

CONDITIONAL_ENDINGS = {
    "fr": ("rais", "rait", "raient", "rions", "riez"),
    "es": ("aría", "ería", "iría", "arías", "aríamos", "arían", "erían", "irían"),
    "pt": ("aria", "eria", "iria", "ariam", "eriam", "iriam", "aríamos"),
}
"""Language → endings of the conditional, which English and German say with a word of its own."""

GERMAN_PARTICIPLE = compile_lazily(
    r"(?:ab|an|auf|aus|bei|bereit|da|durch|ein|fest|frei|heraus|hin|hinzu|hoch|los|mit|nach|um|vor|weg|weiter|wieder"
    r"|wiederher|zu|zurück|zusammen)?ge[a-zäöüß]{2,16}(?:t|en)"
    r"|(?:um|an|auf|nach|vor|aus|ein)?(?:be|er|ent|ver|zer|über)[a-zäöüß]{3,16}(?:t|oben|nannt|ndet)"
)

_DETECTED = 600
"""Number of characters from which the language of a message is told."""

LATIN = ("en", "de", "fr", "es", "pt")
_SCRIPTS = compile_lazily("([\u3040-\u30ff])|([\uac00-\ud7a3])|([\u3400-\u9fff])|([\u0400-\u04ff])")
_LANGUAGES_OF_SCRIPTS = ("ja", "ko", "zh", "ru")
_LETTERS = {"de": "äöüß", "fr": "œèêëîïûù", "es": "ñ¿¡", "pt": "ãõâôç"}
_TELLING_ENDINGS = {
    "en": ("ing", "ed", "ly", "th", "ck"),
    "de": ("ung", "en", "iert", "lich", "keit", "cht", "tz"),
    "fr": ("ée", "és", "eur", "eux", "aux", "ois", "que", "oir"),
    "es": ("ción", "dad", "ado", "ada", "ados", "adas", "jo", "ues", "illa", "ero", "é"),
    "pt": ("ão", "ões", "dade", "ado", "ada", "ados", "adas", "agem", "ou", "ei", "lho", "lha", "nha", "inho"),
}
_LATIN_WORD = compile_lazily(r"[a-zà-ÿœ]+(?:'[a-z]+)?")


@cache
def get_classes(language: str) -> dict[str, str]:
    """Return word → class of one language."""
    return {word.replace("_", " "): name for name, words in CUES[language].items() for word in words.split()}


@cache
def get_piece_pattern(language: str) -> re.Pattern[str]:
    """Return the pattern of a language's pieces; longer ones first: `できません` before `ません`."""
    return re.compile("|".join(sorted(map(re.escape, get_classes(language)), key=len, reverse=True)))


def detect_script(text: str) -> str:
    """Return the language whose script a text has letters of, though most may be Latin; empty without one."""
    if text.isascii():
        return ""
    # Kana decide over ideographs, which Japanese has as well.
    scripts = {match.lastindex or 0 for match in _SCRIPTS.finditer(text)}
    return _LANGUAGES_OF_SCRIPTS[min(scripts) - 1] if scripts else ""


def detect_latin_language(text: str) -> str:
    """Return the likeliest language of a text in Latin script, by its commonest words; English in doubt."""
    text = text[:_DETECTED].lower()
    words = _LATIN_WORD.findall(text)
    votes = [sum(column) for column in zip((0.0,) * len(LATIN), *map(_list_votes, words), strict=True)]
    for place, language in enumerate(LATIN):
        votes[place] += 2 * sum(map(text.count, _LETTERS.get(language, "")))
    return LATIN[votes.index(max(votes))]


@lru_cache(maxsize=4_096)
def _list_votes(word: str) -> tuple[float, ...]:
    """Return how much a word speaks for each language in Latin script."""
    return tuple((word in get_classes(name)) + word.endswith(_TELLING_ENDINGS[name]) / 2 for name in LATIN)
