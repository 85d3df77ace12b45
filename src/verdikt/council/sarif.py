"""Convert SARIF 2.1.0, the output of scanners, to findings."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from verdikt.errors import FindingError
from verdikt.model.canonical_json import hash_canonical
from verdikt.model.finding import SARIF_FINGERPRINT, Evidence, Finding, Level, build_finding

LEVEL_BY_NAME = {"error": Level.HIGH, "warning": Level.MEDIUM, "note": Level.LOW, "none": Level.LOW}
LEVEL_BY_SCORE = ((9.0, Level.CRITICAL), (7.0, Level.HIGH), (4.0, Level.MEDIUM), (0.0, Level.LOW))
"""The level of a `security-severity` of at least this score, as code hosts read it."""

_PASSED_KINDS = ("pass", "notApplicable", "informational")
_MAX_TITLE = 200
_MAX_RATIONALE = 300


def from_sarif(document: Mapping[str, Any], *, agent: str = "", root: str = "") -> list[Finding]:
    """Return the findings of a SARIF document, in its order; paths below `root` become relative to it.

    Suppressed and absent results are left out; a failed execution of the scanner is a finding.
    """
    runs = document.get("runs")
    if not isinstance(runs, list):
        raise FindingError("expected SARIF with a list of runs, found something else")
    findings: list[Finding] = []
    for run in _as_mappings(runs):
        findings += _SarifRun(run, agent, root).iter_findings()
    return findings


class _SarifRun:
    """One run of one tool."""

    def __init__(self, run: Mapping[str, Any], agent: str, root: str) -> None:
        driver = _as_mapping(_as_mapping(run.get("tool")).get("driver"))
        self._run = run
        self._rules = _as_mappings(driver.get("rules"))
        # The first rule of an id counts.
        self._rules_by_id: dict[str, Mapping[str, Any]] = {
            _as_text(rule.get("id")): rule for rule in reversed(self._rules)
        }
        self._artifacts = _as_list(run.get("artifacts"))
        self._root = root
        self._agent = agent or _as_text(driver.get("name"))
        self._id_counts: Counter[str] = Counter()

    def iter_findings(self) -> Iterator[Finding]:
        for invocation in _as_mappings(self._run.get("invocations")):
            # Half a scan with no results would otherwise look like a clean one.
            if invocation.get("executionSuccessful") is False:
                notes = _as_mappings(invocation.get("toolExecutionNotifications"))
                reasons = "; ".join(filter(None, (_read_message(note) for note in notes)))
                title = f"{self._agent or 'the scanner'} did not run to its end"
                yield build_finding(level="HIGH", title=title, agent=self._agent, rationale=reasons)
        for result in _as_mappings(self._run.get("results")):
            if not _is_dismissed(result):
                yield self._build_finding(result)

    def _build_finding(self, result: Mapping[str, Any]) -> Finding:
        rule = self._find_rule(result)
        evidence = [place for place in map(self._build_evidence, _as_mappings(result.get("locations"))) if place.file]
        name = (
            _as_text(result.get("ruleId"))
            or _as_text(_as_mapping(result.get("rule")).get("id"))
            or _as_text(rule.get("id"))
        )
        message = (
            _read_message(result)
            or _as_text(_as_mapping(rule.get("shortDescription")).get("text"))
            or name
            or "no message"
        )
        # Our own export carries the finding's id: it comes back as it was, without rule name or shortening.
        own_id = _as_text(_as_mapping(result.get("partialFingerprints")).get(SARIF_FINGERPRINT))
        full_title = message if own_id or not name else f"{name}: {message}"
        title = full_title if own_id else (full_title.splitlines() or [full_title])[0][:_MAX_TITLE]
        remainder = "" if title == full_title else message
        description = next((text for key in ("fullDescription", "help") if (text := _read_description(rule, key))), "")
        return build_finding(
            level=_read_level(result, rule).name,
            title=title,
            agent=self._agent,
            evidence=evidence,
            rationale=description if own_id else remainder or _first_paragraph(description, message),
            id=own_id or self._compute_id(result, name, message, evidence),
        )

    def _compute_id(self, result: Mapping[str, Any], name: str, message: str, evidence: Sequence[Evidence]) -> str:
        """Return an id that stays the same when lines above are added; equal results get different ids."""
        prints = _as_mapping(result.get("fingerprints")) or _as_mapping(result.get("partialFingerprints"))
        where = evidence[0].file if evidence else ""
        stable = {str(key): str(value) for key, value in prints.items()} or {"message": message}
        computed = hash_canonical(
            {
                "agent": self._agent,
                "rule": name,
                "file": _replace_surrogates(where),
                "print": _replace_surrogates(str(stable)),
            }
        )[:12]
        self._id_counts[computed] += 1
        number = self._id_counts[computed]
        return computed if number == 1 else hash_canonical({"same": computed, "number": number})[:12]

    def _find_rule(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        index = result.get("ruleIndex", _as_mapping(result.get("rule")).get("index"))
        if isinstance(index, int) and 0 <= index < len(self._rules):
            return self._rules[index]
        rule: Mapping[str, Any] = self._rules_by_id.get(_as_text(result.get("ruleId")), {})
        return rule

    def _build_evidence(self, location: Mapping[str, Any]) -> Evidence:
        physical = _as_mapping(location.get("physicalLocation"))
        artifact = _as_mapping(physical.get("artifactLocation"))
        index = artifact.get("index")
        if not artifact.get("uri") and isinstance(index, int) and 0 <= index < len(self._artifacts):
            artifact = _as_mapping(_as_mapping(self._artifacts[index]).get("location"))
        line = _as_mapping(physical.get("region")).get("startLine")
        is_number = isinstance(line, int) and not isinstance(line, bool) and line > 0
        file = self._relative_path(_as_text(artifact.get("uri")))
        return Evidence(file, line if is_number else None, _read_message(location))

    def _relative_path(self, uri: str) -> str:
        try:
            parts = urlsplit(uri)
        except ValueError:
            return uri
        # Not a path here, such as a source archive: shown as it is.
        if parts.scheme not in ("", "file"):
            return uri
        path = unquote(parts.path if parts.scheme else uri)
        return path.removeprefix(self._root.rstrip("/") + "/") if self._root else path


def _is_dismissed(result: Mapping[str, Any]) -> bool:
    suppressed = any(item.get("status", "accepted") == "accepted" for item in _as_mappings(result.get("suppressions")))
    return suppressed or result.get("kind") in _PASSED_KINDS or result.get("baselineState") == "absent"


def _read_level(result: Mapping[str, Any], rule: Mapping[str, Any]) -> Level:
    for properties in (_as_mapping(result.get("properties")), _as_mapping(rule.get("properties"))):
        if "security-severity" in properties:
            return _read_score(properties["security-severity"])
    # SARIF's own default is "warning". A word that SARIF does not know may mean anything, so it counts as the worst.
    words = (result.get("level"), _as_mapping(rule.get("defaultConfiguration")).get("level"), "warning")
    return LEVEL_BY_NAME.get(str(next(word for word in words if word is not None)), Level.CRITICAL)


def _read_score(value: Any) -> Level:
    """Return the level of a `security-severity`; one that is no number from 0 to 10 counts as the worst."""
    try:
        score = float(value)
    except (TypeError, ValueError, OverflowError):
        return Level.CRITICAL
    # NaN is neither less nor greater than any score: without this it would fall through to the mildest level.
    if isinstance(value, bool) or not 0.0 <= score <= 10.0:
        return Level.CRITICAL
    return next(level for least, level in LEVEL_BY_SCORE if score >= least)


def _read_message(holder: Mapping[str, Any]) -> str:
    message = _as_mapping(holder.get("message"))
    return _as_text(message.get("text")) or _as_text(message.get("markdown"))


def _read_description(rule: Mapping[str, Any], key: str) -> str:
    return _as_text(_as_mapping(rule.get(key)).get("text"))


def _first_paragraph(text: str, message: str) -> str:
    """Return the first paragraph of a rule's description that is not the message; empty when there is none."""
    for paragraph in text.split("\n\n"):
        lines = [line for line in paragraph.splitlines() if not line.lstrip().startswith("#")]
        words = " ".join(" ".join(lines).split())
        if words and words != message:
            return words if len(words) <= _MAX_RATIONALE else words[: _MAX_RATIONALE - 1] + "…"
    return ""


def _as_mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _as_mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in _as_list(value) if isinstance(item, Mapping)]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _replace_surrogates(text: str) -> str:
    """Return the text with lone surrogates escaped, which have no canonical bytes."""
    return text.encode("utf-8", "backslashreplace").decode()
