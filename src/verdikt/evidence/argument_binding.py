"""Whether the arguments of an explicit validation name something that the contract names. Pure."""

import re

from verdikt.evidence.validator import Arguments, Validator
from verdikt.prompts.contract import Contract
from verdikt.turns.turn import is_same_path


def find_binding_fault(validator: Validator, arguments: Arguments, contract: Contract) -> str:
    """Return why these arguments prove nothing about this contract; empty when they do."""
    if not validator.needs:
        return ""
    values = {name: value.strip() for name, value in arguments.items() if name in validator.needs and value.strip()}
    if not values:
        return f"`{validator.name}` needs one of the arguments: {', '.join(validator.needs)}"
    for name, value in values.items():
        # `/` or `*` would match every target.
        if len(value.strip("/.*~ ")) < 2:
            return f"validator arg {name}={value} is too short to mean anything"
    if contract.has_no_targets or validator.binds == ("keywords",):
        # The request names nothing in particular, or the validator looks for words: one shared word suffices.
        objective_words = set(re.findall(r"[\w./-]{2,}", contract.objective.lower()))
        # The contract's own keywords too: `billing` is one where the objective has `billing-server`.
        objective_words |= {word.lower() for word in contract.target_fields.get("keywords", ())}
        if any(set(re.findall(r"[\w./-]{2,}", value.lower())) & objective_words for value in values.values()):
            return ""
        return "no argument shares a word with the objective"
    named = contract.get_targets(*validator.binds)
    for value in values.values():
        if any(matches_target(value.partition("::")[0], target) for target in named):
            return ""
    name, value = next(iter(values.items()))
    return f"validator arg {name}={value} does not match any contract.target_fields entry"


def matches_target(value: str, target: str) -> bool:
    """Return whether an argument names a target: the same path by segments, or the same words in the same order."""
    if ("/" in value or "/" in target or "." in value) and is_same_path(value, target) and len(value.strip("/.")) > 1:
        return True
    mine, theirs = value.lower().split(), target.lower().split()
    return bool(mine) and any(theirs[start : start + len(mine)] == mine for start in range(len(theirs) - len(mine) + 1))
