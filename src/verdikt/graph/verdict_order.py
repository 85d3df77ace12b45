"""Which of several verdicts counts, and what it carries of the others."""

from __future__ import annotations

from dataclasses import replace

from verdikt.model.verdict import Verdict, VerdictKind, merge_needs


def strictest_verdict(verdicts: list[Verdict]) -> Verdict:
    """Return the strictest of these verdicts, and of equals the first, ignoring failed observers.

    A block carries the marks of every other block, so that neither a red line nor an error can hide behind another.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    # With failed observers alone there is nothing else to choose from, and each of them is a pass.
    considered = [verdict for verdict in verdicts if not is_failed_observer(verdict)] or verdicts
    return carry_marks(max(considered, key=get_strictness), considered)


def get_strictness(verdict: Verdict) -> VerdictKind:
    """Return the key by which verdicts are sorted."""
    return verdict.kind


def is_failed_observer(verdict: Verdict) -> bool:
    """Return whether this stands for an OBSERVE guard that failed."""
    return verdict.error and verdict.kind is VerdictKind.PASS


def carry_marks(chosen: Verdict, verdicts: list[Verdict]) -> Verdict:
    """Return the chosen verdict with the marks of equally strict ones, so that order does not matter.

    A block gets red lines and errors of the other blocks, an ask the approvals that other asks need.
    """
    if len(verdicts) == 1 or chosen.kind < VerdictKind.ASK:
        return chosen
    if chosen.kind is VerdictKind.ASK:
        needs = merge_needs([verdict.approvals for verdict in verdicts if verdict.kind is VerdictKind.ASK])
        return chosen if needs == chosen.approvals else replace(chosen, approvals=needs)
    blocks = [verdict for verdict in verdicts if verdict.kind is VerdictKind.BLOCK]
    red_line = any(verdict.red_line for verdict in blocks)
    error = any(verdict.error for verdict in blocks)
    if (red_line, error) == (chosen.red_line, chosen.error):
        return chosen
    return replace(chosen, red_line=red_line, error=error)
