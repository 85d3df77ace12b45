"""Durations as people type them: a whole number and a unit."""

import re

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def parse_duration(text: str, units: str) -> int | None:
    """Return the seconds of a text such as `10m`; None unless it is a number followed by one of `units`."""
    # At most six digits: far more than any command accepts, and no overflow in what is computed from it.
    match = re.fullmatch(rf"([0-9]{{1,6}})([{units}])", text)
    return int(match[1]) * _UNIT_SECONDS[match[2]] if match else None
