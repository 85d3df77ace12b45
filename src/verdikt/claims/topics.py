"""What a sentence is certainly about, by the names in it. Small and literal; the model reads everything else. Pure."""

import re
from collections.abc import Sequence
from dataclasses import replace

from verdikt.claims.named_objects import find_directory_names, find_file_names
from verdikt.claims.reader import CHECK_TOPICS, COMMAND_TOPICS, SentenceClaim
from verdikt.claims.wording import find_wording, has_wording
from verdikt.model.lazy_regex import compile_lazily

_GOOD = r"[^.;,\n]{0,30}\b(?:clean|pass\w*|green|ok|happy|content|no (?:errors|issues|problems|warnings))\b"
_SUBJECT = r"(?:^\W*|\bI(?:['’]ve| have)? |\bwe(?:['’]ve| have)? |\band |, )(?:also |now |then )?"
"""What stands before the verb of a sentence about the agent's own work."""

_LETTERS = r"e-?mails?|messages?|newsletters?|reports?|summar(?:y|ies)|invoices?|notifications?|invitations?"

_CHECK_NAME = compile_lazily(
    r"\b(?:(?P<types>mypy|pyright|tsc|type[- ]?check\w*)|(?P<lint>ruff|eslint|flake8|pylint|clippy|lint\w*)"
    rf"|(?P<build>(?:cargo|go) (?:build|check)))(?={_GOOD})",
    re.IGNORECASE,
)
"""Names of checks that are said to be clean; `cargo check` compiles, and is no linter."""

_ADDED_TOPICS = (
    (
        "change",
        compile_lazily(
            rf"{_SUBJECT}(?:fixed|added|implemented|changed|updated|refactored|rewrote|removed|renamed|moved|deleted"
            r"|created|cleaned up|tidied)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "deploy",
        compile_lazily(
            rf"{_SUBJECT}(?:sent|e-?mailed|posted|(?:the |your |our |all )*(?:\w+ )?(?:{_LETTERS})"
            r" (?:(?:was|were|(?:has|have) been|is|are) (?:sent|e-?mailed|posted)|went out)"
            r"|migrated (?:the |our |your |all )*(?:\w+ )?(?:database|db|schema|tables|data)"
            r"|(?:ran|applied) (?:the |all |both )*(?:\w+ )?migrations?)\b",
            re.IGNORECASE,
        ),
    ),
)
"""Topic → words that make it certain in a sentence that claims something done."""

_NOUN_USE = compile_lazily(
    r"\b(install\w*|deploy\w*|release|build|push|commit|test|tests|lint)[- ](?:section|script|steps?|docs?|guide"
    r"|command"
    r"|instructions?|config\w*|files?|workflow|job|target|notes?|page|button|hooks?|message|template|pipeline|directory"
    r"|folder|data|fixtures?|helpers?|dependenc\w+|setup)\b",
    re.IGNORECASE,
)
"""`an install section`, `the build script`: a thing that was written, not something that was done."""

_TOPIC_STEMS = {name: name for name in ("install", "deploy", "release", "build", "push", "commit", "lint")}
_HISTORY_WORDS = ("commit", "tag", "merge", "new_branch", "stash")
_CODE = compile_lazily(r"`[^`\n]*`")


_SMALL_TALK = compile_lazily(
    r"^\W*(?:hello|hi|hey|ok(?:ay)?|yes|no|sure|thanks?|thank you|good (?:morning|evening|afternoon)|great|perfect"
    r"|got it|understood|you(?:['’]re| are) welcome)\W*$",
    re.IGNORECASE,
)
_TICK = compile_lazily(r"(?:\[[xX]\]|✅|☑|✔️?)\s*$")


def refine_claims(claims: Sequence[SentenceClaim], message: str = "") -> tuple[SentenceClaim, ...]:
    """Return the claims with the topics that their names make certain, and with plain words of admission heeded."""
    refined: list[SentenceClaim] = []
    admitted = {claim.start for claim in claims if claim.act == "admission"}
    for claim in claims:
        if _SMALL_TALK.match(claim.text):
            continue
        # A tick is a claim, whatever stands beside it.
        if claim.act == "none" and _TICK.search(message[max(0, claim.start - 8) : claim.start]):
            claim = replace(claim, act="done", topics=("change",))  # noqa: PLW2901
        refined.append(replace(claim, topics=_refine_topics(claim)) if claim.act == "done" else claim)
        # A refusal tells the agent to say that it is not verified, so these words must count.
        if claim.start not in admitted and has_wording("unverified", _CODE.sub("", claim.text)):
            admitted.add(claim.start)
            refined.append(replace(claim, act="admission", topics=()))
    return tuple(refined)


def reports_change(text: str) -> bool:
    """Return whether a sentence says in plain words that something was changed."""
    return any(topic == "change" and words.search(text) for topic, words in _ADDED_TOPICS)


def _refine_topics(claim: SentenceClaim) -> tuple[str, ...]:
    names = (*find_file_names(claim.text), *find_directory_names(claim.text))
    text = _mask_names(claim.text, names)
    text = _NOUN_USE.sub("§", _CODE.sub("§", text)) if names or _NOUN_USE.search(text) else text
    topics = [topic for topic in claim.topics if topic not in _TOPIC_STEMS or _is_named(topic, claim.text, text)]
    # `Created config.yaml`: a file as a whole, in whichever language.
    if (
        "change" in topics
        and "file_operation" not in topics
        and has_wording("file_work", _mask_names(claim.text, names))
    ):
        topics.append("file_operation")
    topics += [match.lastgroup or "" for match in _CHECK_NAME.finditer(claim.text)]
    topics += [topic for topic, words in _ADDED_TOPICS if topic not in topics and words.search(claim.text)]
    # `J'ai ajouté deux tests`, in whichever language.
    if "tests" in topics and "change" not in topics and has_wording("added_test", claim.text):
        topics.append("change")
    # `merged feature into main`: what is reported is what a command did, not a change of the agent's own.
    is_report = (
        COMMAND_TOPICS & set(topics) and has_wording("command_report", claim.text) and not reports_change(claim.text)
    )
    if "change" in topics and ("file_operation" in topics or is_report):
        topics.remove("change")
    # `构建成功，产物在 dist/ 目录`: a directory that is only where the output lies.
    if {"build", "file_operation"} <= set(topics) and not find_file_names(claim.text) and not _names_file_work(text):
        topics.remove("file_operation")
    # `v5.1.0 is published` names a version, and no commit.
    if {"commit", "release"} <= set(topics) and not any(has_wording(what, claim.text) for what in _HISTORY_WORDS):
        topics.remove("commit")
    # `the build is green` is about no test.
    if {"tests", "build"} <= set(topics) and has_wording("build", text) and not has_wording("test", text):
        topics.remove("tests")
    # `changed it, untested` and `it fails without the change too` say nothing good about the tests that they name.
    if (_reports_failure(text) or has_wording("unverified", text)) and not has_wording("passing", text):
        topics = [topic for topic in topics if topic not in CHECK_TOPICS]
    return tuple(dict.fromkeys(topics)) or ("change",)


def _names_file_work(text: str) -> bool:
    return any(has_wording(what, text) for what in ("create", "move", "delete"))


def _reports_failure(text: str) -> bool:
    """Return whether a sentence says that something fails, and not that nothing does."""
    failing = find_wording("failing", text)
    before = text[: text.index(failing)]
    return bool(failing) and not has_wording("denied", before) and not re.search(r"\b0\b", before)


def _mask_names(text: str, names: tuple[str, ...]) -> str:
    for name in names:
        text = text.replace(name, "§")
    return text


def _is_named(topic: str, sentence: str, masked: str) -> bool:
    """Return whether a topic is about more than a name that contains its word (`build.js`, `an install section`)."""
    stem = _TOPIC_STEMS[topic]
    # `the lint job passes` is about what the job did.
    if topic == "lint" and has_wording("passing", sentence):
        return True
    return stem not in sentence.lower() or stem in masked.lower() or (topic == "build" and "built" in masked.lower())
