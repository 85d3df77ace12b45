"""What a connected service's tool is for, by the verb and the noun in its name: money, messages, merges, rights, secrets."""

from __future__ import annotations

from collections.abc import Mapping

from verdikt.effects.argument import words
from verdikt.model.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_WORDS = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_LOOKS = words("get list read search find query fetch view describe show count check status lookup preview download")
_MONEY = words(
    "refund refunds charge charges payment payments payout payouts transfer transfers invoice invoices purchase order trade swap withdraw withdrawal"
)
_SPEAKS = words("send post reply publish tweet share invite notify email forward broadcast dm call text message")
_TO_PEOPLE = words(
    "message messages email emails mail sms chat dm tweet thread channel invite invitation invitations notification notifications whatsapp telegram discord slack call voicemail newsletter"
)
_RIGHTS = words(
    "protection permission permissions role roles policy policies secret secrets token tokens key keys member members collaborator collaborators webhook webhooks visibility access acl iam user users team ruleset credential credentials firewall deploykey"
)
_CHANGES = words(
    "create update set add put patch edit modify grant assign enable disable change rotate make write upsert invite attach"
)
_SECRETS = words("secret secrets password passwords credential credentials apikey token tokens")
_LAUNCHES = words("deploy release publish promote rollout redeploy")
_SHARED = words("main master trunk production prod release stable develop")
_OWN = words("file files directory image")


def spoken(tool: str) -> list[str]:
    """The words of a tool's name in lower case, without the name of the service that has it."""
    name = tool.rsplit("__", maxsplit=1)[-1] if "__" in tool else tool.rsplit(":", 1)[-1].rsplit("/", 1)[-1]
    return [word.lower() for word in _WORDS.findall(name)]


def purposes(tool: str, payload: Any) -> Iterator[tuple[str, str]]:
    """The effects that a tool's name and arguments tell besides its verb: name and note of each."""
    said = spoken(tool)
    if not said:
        return
    given = payload if isinstance(payload, Mapping) else {}
    nouns = set(said)
    verb = said[0] if said[0] not in ("git", "github", "gitlab", "slack", "gmail") else (said[1:] or [""])[0]
    if nouns & _SECRETS and verb in ("get", "read", "fetch", "show", "reveal", "retrieve"):
        yield "cred.read", "shows a secret"
    if verb in _LOOKS:
        return
    if nouns & _MONEY and not nouns & _OWN:
        yield "mcp.pay", "moves money, or promises to"
    elif verb in _SPEAKS and (nouns & _TO_PEOPLE or verb in ("tweet", "email", "notify", "dm", "invite")):
        yield "message.send", ""
    elif verb == "share":
        yield "cloud.open", "lets others see it"
    elif verb == "merge" and nouns & {"pull", "request", "pr", "mr", "branch"}:
        yield "repo.merge", ""
    elif verb in _LAUNCHES:
        yield "cloud.write", "others get it at once"
    elif verb in _CHANGES and nouns & _RIGHTS:
        yield "repo.admin", "changes who may do what"
    if verb == "push":
        yield from _pushed(given)


def _pushed(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    forced = any(given.get(key) is True for key in ("force", "forced", "force_push", "forcePush", "overwrite"))
    branch = next((given[key] for key in ("branch", "ref", "target") if isinstance(given.get(key), str)), "")
    if forced:
        yield "git.push.force", "with force"
    elif branch.removeprefix("refs/heads/") in _SHARED:
        yield "repo.merge", "straight to a branch that others work with"
