"""SARIF 2.1.0 as findings: what a scanner says, in the words that reviewers use."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from verdikt.errors import FindingError
from verdikt.model.canonical import digest
from verdikt.model.finding import FINGERPRINT, Evidence, Finding, Level, build_finding

LEVELS = {"error": Level.HIGH, "warning": Level.MEDIUM, "note": Level.LOW, "none": Level.LOW}
SCORES = ((9.0, Level.CRITICAL), (7.0, Level.HIGH), (4.0, Level.MEDIUM), (0.0, Level.LOW))
"""A `security-severity` of at least this is of this level, as code hosts read it."""

_PASSED = ("pass", "notApplicable", "informational")
_TITLE = 200
_ABOUT = 300


def from_sarif(document: Mapping[str, Any], *, agent: str = "", root: str = "") -> list[Finding]:
    """The findings of a SARIF document, in its order; paths below `root` become relative to it.

    What a scanner suppressed, or says is gone, is no finding; a scanner that says it failed is one.
    """
    runs = document.get("runs")
    if not isinstance(runs, list):
        raise FindingError("expected SARIF with a list of runs, found something else")
    found: list[Finding] = []
    for run in _mappings(runs):
        found += _Run(run, agent, root).findings()
    return found


class _Run:
    """One run of one tool."""

    def __init__(self, run: Mapping[str, Any], agent: str, root: str) -> None:
        driver = _mapping(_mapping(run.get("tool")).get("driver"))
        self._run = run
        self._rules = _mappings(driver.get("rules"))
        self._artifacts = _list(run.get("artifacts"))
        self._root = root
        self._agent = agent or _text(driver.get("name"))
        self._seen: Counter[str] = Counter()

    def findings(self) -> Iterator[Finding]:
        for invocation in _mappings(self._run.get("invocations")):
            if invocation.get("executionSuccessful") is False:
                notes = _mappings(invocation.get("toolExecutionNotifications"))
                said = "; ".join(filter(None, (_message(note) for note in notes)))
                title = f"{self._agent or 'the scanner'} did not run to its end"
                yield build_finding(level="HIGH", title=title, agent=self._agent, rationale=said)
        for result in _mappings(self._run.get("results")):
            if not _dismissed(result):
                yield self._finding(result)

    def _finding(self, result: Mapping[str, Any]) -> Finding:
        rule = self._rule(result)
        evidence = [place for place in map(self._place, _mappings(result.get("locations"))) if place.file]
        name = _text(result.get("ruleId")) or _text(_mapping(result.get("rule")).get("id")) or _text(rule.get("id"))
        said = _message(result) or _text(_mapping(rule.get("shortDescription")).get("text")) or name or "no message"
        own = _text(_mapping(result.get("partialFingerprints")).get(FINGERPRINT))
        title = said if own or not name else f"{name}: {said}"
        first = title if own else (title.splitlines() or [title])[0][:_TITLE]
        why = "" if first == title else said
        about = next((text for key in ("fullDescription", "help") if (text := _described(rule, key))), "")
        return build_finding(
            level=_level(result, rule).name,
            title=first,
            agent=self._agent,
            evidence=evidence,
            rationale=about if own else why or _first_paragraph(about, said),
            id=own or self._id(result, name, said, evidence),
        )

    def _id(self, result: Mapping[str, Any], name: str, said: str, evidence: Sequence[Evidence]) -> str:
        """Made without the line, so that it stays when lines above are added; the second of two alike gets another."""
        prints = _mapping(result.get("fingerprints")) or _mapping(result.get("partialFingerprints"))
        where = evidence[0].file if evidence else ""
        stable = {str(key): str(value) for key, value in prints.items()} or {"message": said}
        made = digest({"agent": self._agent, "rule": name, "file": _plain(where), "print": _plain(str(stable))})[:12]
        self._seen[made] += 1
        again = self._seen[made]
        return made if again == 1 else digest({"same": made, "number": again})[:12]

    def _rule(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        index = result.get("ruleIndex", _mapping(result.get("rule")).get("index"))
        if isinstance(index, int) and 0 <= index < len(self._rules):
            return self._rules[index]
        return next((rule for rule in self._rules if rule.get("id") == result.get("ruleId")), {})

    def _place(self, location: Mapping[str, Any]) -> Evidence:
        physical = _mapping(location.get("physicalLocation"))
        artifact = _mapping(physical.get("artifactLocation"))
        index = artifact.get("index")
        if not artifact.get("uri") and isinstance(index, int) and 0 <= index < len(self._artifacts):
            artifact = _mapping(_mapping(self._artifacts[index]).get("location"))
        line = _mapping(physical.get("region")).get("startLine")
        whole = isinstance(line, int) and not isinstance(line, bool) and line > 0
        return Evidence(self._path(_text(artifact.get("uri"))), line if whole else None, _message(location))

    def _path(self, uri: str) -> str:
        try:
            parts = urlsplit(uri)
        except ValueError:
            return uri
        if parts.scheme not in ("", "file"):
            return uri
        path = unquote(parts.path if parts.scheme else uri)
        return path.removeprefix(self._root.rstrip("/") + "/") if self._root else path


def _dismissed(result: Mapping[str, Any]) -> bool:
    suppressed = any(item.get("status", "accepted") == "accepted" for item in _mappings(result.get("suppressions")))
    return suppressed or result.get("kind") in _PASSED or result.get("baselineState") == "absent"


def _level(result: Mapping[str, Any], rule: Mapping[str, Any]) -> Level:
    for properties in (_mapping(result.get("properties")), _mapping(rule.get("properties"))):
        try:
            score = float(properties["security-severity"])
        except (KeyError, TypeError, ValueError, OverflowError):
            continue
        return next((level for least, level in SCORES if score >= least), Level.LOW)
    word = result.get("level") or _mapping(rule.get("defaultConfiguration")).get("level") or "warning"
    return LEVELS.get(str(word), Level.MEDIUM)


def _message(holder: Mapping[str, Any]) -> str:
    message = _mapping(holder.get("message"))
    return _text(message.get("text")) or _text(message.get("markdown"))


def _described(rule: Mapping[str, Any], key: str) -> str:
    return _text(_mapping(rule.get(key)).get("text"))


def _first_paragraph(text: str, said: str) -> str:
    """The beginning of a rule's description, which can be a whole page; nothing when it only says the message again."""
    for paragraph in text.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if not line.lstrip().startswith("#")]
        words = " ".join(" ".join(lines).split())
        if words and words != said:
            return words if len(words) <= _ABOUT else words[: _ABOUT - 1] + "…"
    return ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in _list(value) if isinstance(item, Mapping)]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _plain(text: str) -> str:
    """The text with what has no canonical bytes replaced."""
    return text.encode("utf-8", "backslashreplace").decode()
