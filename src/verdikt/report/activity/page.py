"""The activity report as one HTML file: no script, no network, light and dark, every number linked to its list."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from verdikt.report.activity.activity import LISTS, Activity, RuleActivity, Suggestion
from verdikt.report.activity.block_outcome import OUTCOMES
from verdikt.report.activity.chart import Column, draw_bar, draw_columns
from verdikt.report.activity.markup import Markup, build_element, embed_stylesheet, join_markup
from verdikt.report.activity.occurrence import Occurrence, OccurrenceList
from verdikt.report.activity.style import STYLESHEET
from verdikt.report.counted_noun import format_count
from verdikt.report.entry_line import shorten_session

FormatTime = Callable[[float], str]
"""Seconds since the epoch → a date and a time for people."""

# Even if an escape were forgotten, a browser runs nothing and loads nothing from this page.
_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

_MAX_WHOLE_WORD = 24
_MAX_SHOWN = 3
"""Examples that are shown at once; the others are in the list."""


def render_page(activity: Activity, format_time: FormatTime) -> str:
    """Return the whole HTML document."""
    return _PageRenderer(activity, format_time).render()


class _PageRenderer:
    """Renders the parts of one page."""

    def __init__(self, activity: Activity, format_time: FormatTime) -> None:
        self.activity = activity
        self.format_time = format_time

    def render(self) -> str:
        """Return the document."""
        sections = [
            self._render_summary(),
            self._render_timeline(),
            self._render_suggestions(),
            self._render_rules(),
            self._render_outcomes(),
            self._render_asks(),
            self._render_turns(),
            self._render_slowest(),
            self._render_exemptions(),
            self._render_lists(),
        ]
        head = build_element(
            "head",
            build_element("meta", charset="utf-8"),
            build_element("meta", http_equiv="Content-Security-Policy", content=_SECURITY_POLICY),
            build_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            build_element("meta", name="color-scheme", content="light dark"),
            build_element("title", f"verdikt report, {self._describe_range()}"),
            embed_stylesheet(STYLESHEET),
        )
        body = build_element("body", self._render_header(), build_element("main", *sections))
        return "<!doctype html>\n" + build_element("html", head, body, lang="en") + "\n"

    def _describe_range(self) -> str:
        since, until = (
            self.format_time(seconds)[:10] for seconds in (self.activity.range.since, self.activity.range.until)
        )
        return since if since == until else f"{since} to {until}"

    def _render_header(self) -> Markup:
        filters = [f"{name} {value}" for name, value in self.activity.range.filters.items() if value]
        hosts = ", ".join(name for name, _ in self.activity.hosts.most_common(6))
        return build_element(
            "header",
            build_element("h1", "verdikt report"),
            build_element("p", " · ".join([self._describe_range() + " (UTC)", *filters]), class_="range"),
            build_element("p", f"Hosts: {hosts}", class_="range") if hosts else "",
        )

    def _render_summary(self) -> Markup:
        activity = self.activity
        tiles = [
            self._render_tile(activity.decisions, "calls decided", "passes", "pass"),
            self._render_tile(activity.count("asks"), "asked about", "asks", "ask"),
            self._render_tile(activity.count("blocks"), "blocked", "blocks", "block"),
            self._render_tile(activity.count("unproven"), "unproven turns", "unproven", "other"),
        ]
        if activity.approval_rate is not None:
            tiles.append(self._render_tile(f"{activity.approval_rate:.0%}", "of asks let run", "approved", "pass"))
        if activity.count("operator"):
            tiles.append(self._render_tile(activity.count("operator"), "exceptions, pauses", "operator", "other"))
        stopped = activity.count("asks") + activity.count("blocks")
        share = 1 - stopped / activity.decisions if activity.decisions else 1
        sentence = build_element(
            "p",
            self._link_list(format_count(activity.decisions, "call"), "passes"),
            " in ",
            self._link_list(format_count(activity.count("sessions"), "session"), "sessions"),
            "; ",
            self._link_list(f"{share:.1%}", "passes"),
            " ran without a question.",
            class_="lead",
        )
        return build_element("section", sentence, build_element("nav", *tiles, class_="tiles"))

    def _render_timeline(self) -> Markup:
        periods = self.activity.periods
        calls, stopped = [], []
        for index, period in enumerate(periods):
            passed = period.verdicts["pass"] + period.verdicts["warn"]
            asks, blocks = period.verdicts["ask"], period.verdicts["block"]
            title = f"{period.label}: {passed} passed, {asks} asked, {blocks} blocked"
            link = f"#period-{index}" if period.stopped.total else "#list-passes" if passed else ""
            calls.append(Column((("pass", passed), ("ask", asks), ("block", blocks)), link, title))
            stopped.append(Column((("ask", asks), ("block", blocks)), link, title))
        labels = [periods[0].label, periods[len(periods) // 2].label, periods[-1].label]
        return _render_section(
            "Over time",
            _render_chart_caption("All calls", calls, self.activity.range.period_name),
            draw_columns(calls, "All calls over time"),
            _render_chart_caption("Asked and blocked", stopped, self.activity.range.period_name),
            draw_columns(stopped, "Asks and blocks over time"),
            build_element("p", *(build_element("span", label) for label in labels), class_="axis"),
            _render_legend([("pass", "passed"), ("ask", "asked"), ("block", "blocked")]),
        )

    def _render_suggestions(self) -> Markup:
        links = {rule.name: f"#rule-{index}" for index, rule in enumerate(self.activity.rank_rules())}
        cards = [_render_suggestion(each, links.get(each.rules[0], "#list-asks")) for each in self.activity.suggestions]
        none = build_element("p", "None: nothing was asked about and let run every time.", class_="empty")
        return _render_section("Suggestions", *(cards or [none]))

    def _render_rules(self) -> Markup:
        rules = self.activity.rank_rules()
        scale = max((rule.stopped_count for rule in rules), default=0)
        rows = [self._render_rule(index, rule, scale) for index, rule in enumerate(rules)]
        return _render_section("Rules that stopped something", *(rows or [_render_nothing("Nothing was stopped.")]))

    def _render_rule(self, index: int, rule: RuleActivity, scale: int) -> Markup:
        asks, blocks = rule.verdicts["ask"], rule.verdicts["block"]
        counts = _link(_join_counts([(asks, "asked"), (blocks, "blocked")]), f"#rule-{index}")
        return build_element(
            "article",
            build_element("h3", build_element("code", rule.name), " ", counts),
            draw_bar((("ask", asks), ("block", blocks)), f"{rule.name}: {asks} asked, {blocks} blocked", scale=scale),
            *_render_examples(rule),
            _render_rule_outcomes(rule),
            self._render_details(f"rule-{index}", "All of them", rule.examples),
        )

    def _render_outcomes(self) -> Markup:
        counts = [(name, self.activity.count(name)) for name in OUTCOMES]
        if not any(count for _, count in counts):
            return _render_section("After a block", _render_nothing("Nothing was blocked."))
        label = ", ".join(f"{OUTCOMES[name]} {count}" for name, count in counts)
        items = [
            build_element(
                "li",
                build_element("span", class_=f"key {name}"),
                self._link_list(f"{count:,} {OUTCOMES[name]}", name),
            )
            for name, count in counts
        ]
        return _render_section(
            "After a block",
            draw_bar([(name, count) for name, count in counts], label),
            build_element("ul", *items, class_="legend"),
        )

    def _render_asks(self) -> Markup:
        activity = self.activity
        approved, not_run = activity.count("approved"), activity.count("not_run")
        if not approved + not_run:
            return _render_section("Answers", _render_nothing("Nothing was asked."))
        times = activity.answer_seconds
        median, slow = times.find_percentile(0.5), times.find_percentile(0.9)
        timed = f"Half of the {times.total:,} timed answers came within {median:g} s, nine in ten within {slow:g} s."
        untimed = "No host told how long the calls themselves took, so the time of an answer is not known."
        items = [
            build_element(
                "li",
                build_element("span", class_="key followed_fix"),
                self._link_list(f"{approved:,} let run", "approved"),
            ),
            build_element(
                "li",
                build_element("span", class_="key gave_up"),
                self._link_list(f"{not_run:,} did not run", "not_run"),
            ),
        ]
        return _render_section(
            "Answers",
            draw_bar((("followed_fix", approved), ("gave_up", not_run)), f"{approved} let run, {not_run} did not run"),
            build_element("ul", *items, class_="legend"),
            build_element("p", self._link_list(timed, "approved") if times.total else untimed, class_="caption"),
        )

    def _render_turns(self) -> Markup:
        activity = self.activity
        unproven = self._link_list(f"{activity.count('unproven'):,} of {activity.turns:,}", "unproven")
        refused = self._link_list(f"{activity.count('refused'):,}", "refused")
        text = build_element("p", unproven, " turns ended unproven; ", refused, " stops were refused first.")
        return _render_section("Turns", text, self._render_first("unproven"))

    def _render_slowest(self) -> Markup:
        times = self.activity.decision_milliseconds
        if not times.total:
            return _render_section("Slowest decisions", _render_nothing("No decision was timed."))
        p50, p99 = times.find_percentile(0.5), times.find_percentile(0.99)
        text = f"Half of {times.total:,} decisions took at most {p50:g} ms, all but one in a hundred {p99:g} ms."
        link = build_element("p", self._link_list(text, "slowest"))
        return _render_section("Slowest decisions", link, self._render_first("slowest"))

    def _render_exemptions(self) -> Markup:
        parts = [
            self._link_list(f"{format_count(self.activity.count(name), *nouns)} {words}", name)
            for name, nouns, words in (
                ("operator", ("entry", "entries"), "of operators"),
                ("granted", ("call",), "let through by a grant"),
                ("paused", ("call",), "let through during a pause"),
            )
        ]
        text = build_element("p", parts[0], ", ", parts[1], ", ", parts[2], ".")
        return _render_section("Exceptions and pauses", text, self._render_first("operator"))

    def _render_tile(self, number: int | str, label: str, name: str, kind: str) -> Markup:
        shown = f"{number:,}" if isinstance(number, int) else number
        parts = build_element("strong", shown), build_element("span", label)
        if not self.activity.count(name):
            return build_element("div", *parts, class_=f"tile {kind}")
        return build_element("a", *parts, href=f"#list-{name}", class_=f"tile {kind}")

    def _link_list(self, text: str, name: str) -> Markup:
        """Return a text that leads to a list; the text alone when there is nothing to list."""
        return _link(text, f"#list-{name}") if self.activity.count(name) else build_element("span", text)

    def _render_lists(self) -> Markup:
        lists = [
            self._render_details(f"list-{name}", title, self.activity.lists[name])
            for name, title in LISTS.items()
            if self.activity.count(name)
        ]
        periods = [
            self._render_details(f"period-{index}", f"{period.label}: asked and blocked", period.stopped)
            for index, period in enumerate(self.activity.periods)
            if period.stopped.total
        ]
        by_time = [build_element("h3", "By time"), *periods] if periods else []
        return _render_section("Lists", *lists, *by_time)

    def _render_details(self, id: str, title: str, occurrences: OccurrenceList) -> Markup:
        """Return a list that opens; a link to its inner element opens it, too."""
        listed, total = occurrences.total - occurrences.omitted_count, occurrences.total
        summary = build_element("summary", f"{title} ({f'{listed} of {total:,}' if listed < total else total})")
        inner: list[Markup] = [self._render_items(occurrences)]
        if occurrences.omitted_count:
            omitted = f"{occurrences.omitted_count:,} more are in the log: `verdikt ledger tail --since 7d` shows them."
            inner.append(build_element("p", _render_prose(omitted), class_="caption"))
        return build_element("details", summary, build_element("div", *inner, id=id))

    def _render_first(self, name: str) -> Markup:
        first = [occurrence for _, occurrence in zip(range(_MAX_SHOWN), self.activity.lists[name], strict=False)]
        return self._render_items(first) if first else join_markup()

    def _render_items(self, occurrences: Iterable[Occurrence]) -> Markup:
        return build_element("ol", *(self._render_occurrence(occurrence) for occurrence in occurrences), class_="list")

    def _render_occurrence(self, occurrence: Occurrence) -> Markup:
        return build_element("li", *self._render_parts(occurrence))

    def _render_parts(self, occurrence: Occurrence) -> Iterator[Markup]:
        badges = [(occurrence.verdict, _get_class(occurrence.verdict))] if occurrence.verdict else []
        badges += [(f"{occurrence.milliseconds:.3g} ms", "other")] if occurrence.milliseconds else []
        spans = [build_element("span", text, class_=f"badge {name}") for text, name in badges]
        yield build_element("p", *spans, build_element("code", occurrence.what), class_="what")
        rule = occurrence.rule if occurrence.verdict != "pass" else ""
        reason = ": ".join(filter(None, (rule, occurrence.reason)))
        for text in filter(None, (reason, occurrence.note)):
            yield build_element("p", _render_prose(text), class_="why")
        number = f" #{occurrence.seq}" if occurrence.seq else ""
        place = f"{self.format_time(occurrence.seconds)} · {shorten_session(occurrence.session)}{number}"
        yield build_element("p", place, class_="caption")


def _get_class(verdict: str) -> str:
    """Return the class of a verdict; an unknown word from the log must not choose one of its own."""
    return verdict if verdict in ("pass", "warn", "ask", "block") else "other"


def _render_section(title: str, *children: str) -> Markup:
    return build_element("section", build_element("h2", title), *children)


def _render_nothing(text: str) -> Markup:
    return build_element("p", text, class_="empty")


def _render_suggestion(suggestion: Suggestion, link: str) -> Markup:
    return build_element(
        "article",
        build_element("p", _render_prose(suggestion.text)),
        *(_render_command(command) for command in suggestion.commands),
        build_element("p", _render_prose(suggestion.proof), " ", _link("The calls", link), class_="caption"),
        class_="card",
    )


def _render_command(command: str) -> Markup:
    """Return a command to copy, in which no short word is broken: a browser breaks a line after every dash."""
    words: list[str] = []
    for word in command.split(" "):
        words += [" ", build_element("span", word, class_="word") if len(word) <= _MAX_WHOLE_WORD else word]
    return build_element("pre", *words[1:])


def _render_chart_caption(text: str, columns: Sequence[Column], period: str) -> Markup:
    """Return what a chart shows, and its highest column with the way to its list."""
    highest = max(columns, key=lambda column: sum(number for _, number in column.parts))
    most = sum(number for _, number in highest.parts)
    number = _link(f"{most:,}", highest.link) if most else build_element("span", "0")
    return build_element("p", f"{text}, at most ", number, f" in {period}", class_="caption")


def _render_examples(rule: RuleActivity) -> Iterator[Markup]:
    """Yield why a rule stopped its newest call, and the newest commands that it stopped, each once."""
    # A name alone says little to a reader who has not seen the rule.
    if reason := next((occurrence.reason for occurrence in rule.examples if occurrence.reason), ""):
        yield build_element("p", _render_prose(reason), class_="why")
    for text in list(dict.fromkeys(occurrence.what for occurrence in rule.examples))[:_MAX_SHOWN]:
        yield build_element("p", build_element("code", text), class_="example")


def _render_rule_outcomes(rule: RuleActivity) -> Markup:
    words = {**OUTCOMES, "approved": "let run", "not_run": "not run"}
    links = [_link(f"{count:,} {words[name]}", f"#list-{name}") for name, count in rule.outcomes.most_common()]
    separated = [part for link in links for part in (", ", link)][1:]
    return build_element("p", "Then: ", *separated, class_="caption") if links else join_markup()


def _render_prose(text: str) -> Markup:
    """Return a text in which what stands between backticks is code."""
    parts = text.split("`")
    # An odd backtick at the end of a shortened text opens nothing.
    return join_markup(
        *(
            build_element("code", part) if index % 2 and index < len(parts) - 1 else part
            for index, part in enumerate(parts)
        )
    )


def _render_legend(items: Iterable[tuple[str, str]]) -> Markup:
    entries = [build_element("li", build_element("span", class_=f"key {name}"), text) for name, text in items]
    return build_element("ul", *entries, class_="legend")


def _link(text: str, target: str) -> Markup:
    return build_element("a", text, href=target)


def _join_counts(counts: Iterable[tuple[int, str]]) -> str:
    return ", ".join(f"{count:,} {word}" for count, word in counts if count)
