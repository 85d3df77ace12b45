"""The activity report for a terminal: sparklines and bars, or plain numbers where the output is a pipe."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap

from verdikt.report.activity.activity import Activity, RuleActivity
from verdikt.report.activity.block_outcome import OUTCOMES
from verdikt.report.activity.occurrence import Occurrence
from verdikt.report.counted_noun import format_count
from verdikt.report.entry_line import shorten_session
from verdikt.report.explanation import Paint

_SPARKS = "▁▂▃▄▅▆▇█"
_BAR_WIDTH = 24
_MAX_RULES = 12
_MAX_EXAMPLES = 3


def render_terminal(
    activity: Activity, format_time: Callable[[float], str], paint: Paint, *, width: int = 0
) -> Iterator[str]:
    """Yield the report line by line: drawn for a terminal of a width, or numbers and whole texts without one."""
    yield from _TerminalRenderer(activity, format_time, paint, width).iter_lines()


class _TerminalRenderer:
    """Renders the parts of one report."""

    def __init__(self, activity: Activity, format_time: Callable[[float], str], paint: Paint, width: int) -> None:
        self.activity = activity
        self.format_time = format_time
        self.paint = paint
        self.width = width
        self.is_drawn = width > 0

    def iter_lines(self) -> Iterator[str]:
        """Yield every part."""
        activity = self.activity
        since, until = (self.format_time(seconds)[:16] for seconds in (activity.range.since, activity.range.until))
        filters = "".join(f", {name} {value}" for name, value in activity.range.filters.items() if value)
        yield self.paint(f"{since} to {until} UTC{filters}", "command")
        stopped = activity.count("asks") + activity.count("blocks")
        share = f", {1 - stopped / activity.decisions:.1%} without a question" if activity.decisions else ""
        yield (
            f"{format_count(activity.decisions, 'call')} in {format_count(activity.count('sessions'), 'session')}:"
            f" {activity.count('asks')} asked,"
            f" {activity.count('blocks')} blocked{share}"
        )
        yield from self._render_timeline()
        yield from self._render_rules()
        yield from self._render_outcomes()
        yield from self._render_answers()
        yield from self._render_turns()
        yield from self._render_slowest()
        yield from self._render_exemptions()
        yield from self._render_suggestions()

    def _title(self, text: str) -> Iterator[str]:
        yield ""
        yield self.paint(text, "command")

    def _render_timeline(self) -> Iterator[str]:
        periods = self.activity.periods
        rows = {
            "calls": [sum(period.verdicts.values()) for period in periods],
            "asked": [period.verdicts["ask"] for period in periods],
            "blocked": [period.verdicts["block"] for period in periods],
        }
        roles = {"asked": "ask", "blocked": "block"}
        yield from self._title(f"Over time, from {periods[0].label} to {periods[-1].label}")
        for name, numbers in rows.items():
            drawn = self.paint(draw_sparkline(numbers), roles.get(name, "pass")) if self.is_drawn else _join(numbers)
            most = f"  at most {max(numbers)} in {self.activity.range.period_name}" if self.is_drawn else ""
            yield f"  {name:<9}{drawn}{most}"

    def _render_rules(self) -> Iterator[str]:
        rules = self.activity.rank_rules()
        yield from self._title("Rules that stopped something" if rules else "No rule stopped anything")
        width = max((len(rule.name) for rule in rules[:_MAX_RULES]), default=0)
        scale = max((rule.stopped_count for rule in rules), default=1)
        for rule in rules[:_MAX_RULES]:
            counts = f"{rule.verdicts['ask']} asked, {rule.verdicts['block']} blocked"
            bar = f"{self._draw_rule(rule, scale)}  " if self.is_drawn else ""
            yield f"  {rule.name:<{width}}  {bar}{counts}"
            for text in list(dict.fromkeys(occurrence.what for occurrence in rule.examples))[:_MAX_EXAMPLES]:
                yield "      " + self.paint(self._fit(text, 6), "dim")
        if len(rules) > _MAX_RULES:
            yield f"  … and {format_count(len(rules) - _MAX_RULES, 'more rule')}"

    def _draw_rule(self, rule: RuleActivity, scale: int) -> str:
        asks, blocks = (round(rule.verdicts[name] / scale * _BAR_WIDTH) for name in ("ask", "block"))
        padding = " " * max(0, _BAR_WIDTH - asks - blocks)
        return self.paint("█" * asks, "ask") + self.paint("█" * blocks, "block") + padding

    def _render_outcomes(self) -> Iterator[str]:
        if self.activity.count("blocks"):
            yield from self._title("After a block")
            yield from self._render_bars((title, self.activity.count(name)) for name, title in OUTCOMES.items())

    def _render_bars(self, rows: Iterable[tuple[str, int]]) -> Iterator[str]:
        counted = list(rows)
        width = max(len(title) for title, _ in counted)
        scale = max(count for _, count in counted) or 1
        for title, count in counted:
            bar = "█" * round(count / scale * _BAR_WIDTH) if self.is_drawn else ""
            yield f"  {title:<{width}}  {count:>4}  {self.paint(bar, 'effect') if bar else ''}".rstrip()

    def _render_answers(self) -> Iterator[str]:
        activity = self.activity
        rate = activity.approval_rate
        if rate is None:
            return
        yield from self._title("Answers")
        yield f"  {activity.count('approved')} let run, {activity.count('not_run')} did not run: {rate:.0%} approved"
        times = activity.answer_seconds
        if times.total:
            median, slow = times.find_percentile(0.5), times.find_percentile(0.9)
            yield f"  half of {times.total} timed answers within {median:g} s, nine in ten within {slow:g} s"

    def _render_turns(self) -> Iterator[str]:
        activity = self.activity
        if activity.turns or activity.count("refused"):
            yield from self._title("Turns")
            yield (
                f"  {activity.count('unproven')} of {format_count(activity.turns, 'turn')} ended unproven,"
                f" {format_count(activity.count('refused'), 'stop')} refused before"
            )
            yield from self._render_first("unproven")

    def _render_slowest(self) -> Iterator[str]:
        times = self.activity.decision_milliseconds
        if times.total:
            p50, p99 = times.find_percentile(0.5), times.find_percentile(0.99)
            yield from self._title(f"Slowest decisions (half within {p50:g} ms, all but one in a hundred {p99:g} ms)")
            yield from self._render_first("slowest")

    def _render_exemptions(self) -> Iterator[str]:
        activity = self.activity
        if any(activity.count(name) for name in ("operator", "granted", "paused")):
            yield from self._title("Exceptions and pauses")
            granted = format_count(activity.count("granted"), "call")
            yield f"  {granted} let through by a grant, {activity.count('paused')} by a pause"
            yield from self._render_first("operator")

    def _render_first(self, name: str) -> Iterator[str]:
        for _, occurrence in zip(range(_MAX_EXAMPLES), self.activity.lists[name], strict=False):
            yield from self._render_occurrence(occurrence)

    def _render_occurrence(self, occurrence: Occurrence) -> Iterator[str]:
        took = f"{occurrence.milliseconds:.3g} ms  " if occurrence.milliseconds else ""
        place = f"{self.format_time(occurrence.seconds)[:16]} {shorten_session(occurrence.session)} #{occurrence.seq}"
        yield f"  {took}{self._fit(occurrence.what, len(took) + len(place) + 4)}  {self.paint(place, 'dim')}"
        if occurrence.reason and not took:
            yield "      " + self.paint(self._fit(occurrence.reason, 6), "dim")

    def _fit(self, text: str, taken: int) -> str:
        """Return a text cut to what is left of the line; whole where there is no width."""
        room = max(20, self.width - taken)
        return text if not self.width or len(text) <= room else text[: room - 1] + "…"

    def _wrap(self, text: str, indent: str) -> Iterator[str]:
        yield from (
            wrap(text, max(40, self.width), initial_indent=indent, subsequent_indent=indent)
            if self.width
            else (indent + text,)
        )

    def _render_suggestions(self) -> Iterator[str]:
        if self.activity.suggestions:
            yield from self._title("Suggestions")
        for suggestion in self.activity.suggestions:
            yield from self._wrap(suggestion.text, "  ")
            # Never cut: they are there to be copied.
            yield from ("      " + self.paint(command, "pass") for command in suggestion.commands)
            yield from (self.paint(line, "dim") for line in self._wrap(suggestion.proof, "      "))


def draw_sparkline(numbers: Sequence[int]) -> str:
    """Return one character for each number, the higher the greater; a space for zero."""
    highest = max(numbers, default=0)
    return "".join(_SPARKS[-(-number * len(_SPARKS) // highest) - 1] if number else " " for number in numbers)


def _join(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))
