"""Which prompts make a contract, whatever their words, and what kind of request they are."""

import pytest

from verdikt.prompts.contract import Contract, extend_contract, read_contract

INTENTS = {
    "Fix the discount in cart.py": "actionable",
    "Can you fix it?": "actionable",
    "Why is it slow? Fix it.": "actionable",
    "We need the login to be changed.": "actionable",
    "Find the bug in the parser": "inquiry",
    "Look into the failing CI": "inquiry",
    "Check why the login fails": "inquiry",
    "Investigate the memory leak": "inquiry",
    "Review src/app.py": "inquiry",
    "Search for usages of foo": "inquiry",
    "Summarise the README": "inquiry",
    "Have a look at cart.py": "inquiry",
    "Could you check the logs?": "inquiry",
    "Take care of the flaky test": "report",
    "the login is broken": "report",
    "The tests are red since yesterday.": "report",
    "cart.py raises a KeyError": "report",
    "Hi! The login is broken again.": "report",
    "ok now cart.py": "report",
    "Behebe den Fehler in cart.py": "report",
    "Corrige le bug dans cart.py": "report",
    "Kannst du den Fehler beheben?": "report",
    "ログインを直してください。": "report",
    "修复登录": "report",
    "`make test`": "report",
    "Look at the log. The server is down.": "report",
    "": "",
    "   ": "",
    "Hello!": "",
    "Thanks, great work": "",
    "thanks a lot for that!": "",
    "ok": "",
    "yes": "",
    "Danke!": "",
    "ありがとうございます": "",
    "Hi, how are you?": "",
    "What does cart.py do?": "",
    "Why is the build broken?": "",
    "Is the login broken?": "",
    "How do I add a test?": "",
    "Warum ist der Login kaputt?": "",
    "ログインはなぜ壊れていますか？": "",
    "Explain the parser": "",
}


@pytest.mark.parametrize(("text", "intent"), INTENTS.items())
def test_every_request_makes_a_contract_whatever_its_verb(text: str, intent: str) -> None:
    """Only small talk and questions make none."""
    contract = read_contract(text)

    assert (contract.intent if contract else "") == intent


@pytest.mark.parametrize("first", ["actionable", "report", "inquiry"])
def test_extended_contract_asks_for_the_most_that_was_asked(first: str) -> None:
    """A look at a file, and then a fix of it, is a fix."""
    extended = extend_contract(Contract("x", intent=first), Contract("y", intent="inquiry"))

    assert extended.intent == first
    assert Contract.from_record(extended.record()) == Contract.from_record(extended.record() | {"more": 1})


def test_unknown_intent_in_a_record_is_a_request_for_work() -> None:
    """A log of another version never makes the gate more lenient."""
    assert Contract.from_record({"objective": "x", "intent": "whatever"}).asks_for_work
