"""Propose exceptions for what people always let run."""

from verdikt.report.activity.activity import Activity, RuleActivity, Suggestion

MIN_ASKS = 3
"""How often something must have been asked about, and let run every time, before it is proposed."""

MAX_SUGGESTIONS = 6

# A command that an agent wrote can be very long; as an exception it would be read by no person.
_MAX_COMMAND = 160


def propose_exceptions(activity: Activity) -> list[Suggestion]:
    """Return exceptions for what was asked about and let run every time, the most frequent first."""
    proposals = [
        (counts.asked, suggestion)
        for rule in activity.rank_rules()
        for scope, counts in rule.scopes.items()
        if counts.asked >= MIN_ASKS and counts.approved == counts.asked
        # A directory in which one command runs again and again is no reason to open all of it.
        if scope[0] != "path" or counts.has_several_commands
        if (suggestion := _propose_exception(rule, scope, counts.asked)) is not None
    ]
    ranked = sorted(proposals, key=lambda proposal: (-proposal[0], proposal[1].rules, proposal[1].scope))
    return [suggestion for _, suggestion in ranked[:MAX_SUGGESTIONS]]


def _propose_exception(rule: RuleActivity, scope: tuple[str, str], asked: int) -> Suggestion | None:
    kind, value = scope
    if len(value) > _MAX_COMMAND or not value.isprintable():
        return None
    if kind == "path":
        value = f"{value}/**"
    words = {"command": f"the command `{value}`", "path": f"what lies below `{value}`", "tool": f"the tool `{value}`"}
    text = f"`{rule.name}` asked about {words[kind]} {asked} times, and it was let run {asked} times: allow it?"
    return Suggestion(rules=(rule.name,), scope=(kind, value), text=text)
