"""What a connected service's tool is for, by the verb and the noun in its name: money, messages, merges, rights, secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping

from verdikt.effects.argument import words
from verdikt.model.regex import regex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_WORDS = regex(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_LOOKS = words(
    "get list read search find query fetch view describe show count check status lookup preview download plan validate diff log logs inspect explain test ping analyze resolve"
)
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
_MANY = words("bulk batch many all everything mass")
_KEEPERS = words("1password onepassword bitwarden lastpass keepass dashlane keychain vault")
_INFRASTRUCTURE = words(
    "terraform tofu pulumi aws gcp gcloud azure cloudflare kubernetes k8s heroku fly netlify vercel digitalocean linode hetzner openstack proxmox datadog okta auth0"
)
_OWN = words("file files directory image")


def spoken(tool: str) -> list[str]:
    """The words of a tool's name in lower case, without the name of the service that has it."""
    name = tool.rsplit("__", maxsplit=1)[-1] if "__" in tool else tool.rsplit(":", 1)[-1].rsplit("/", 1)[-1]
    return [word.lower() for word in _WORDS.findall(name)]


def _service(tool: str) -> set[str]:
    """The words of the name of the service that has the tool."""
    name = tool.removeprefix("mcp__").rpartition("__")[0]
    return {word.lower() for word in re.findall(r"[A-Za-z0-9]+", name)}


def purposes(tool: str, payload: Any) -> Iterator[tuple[str, str]]:
    """The effects that a tool's name and arguments tell besides its verb: name and note of each."""
    said = spoken(tool)
    if not said:
        return
    given = payload if isinstance(payload, Mapping) else {}
    nouns, service = set(said), _service(tool)
    verb = said[0] if said[0] not in ("git", "github", "gitlab", "slack", "gmail") else (said[1:] or [""])[0]
    keeper = bool(service & _KEEPERS) and bool(nouns & {"item", "entry", "login", "note"})
    if (nouns & _SECRETS or keeper) and verb in ("get", "read", "fetch", "show", "reveal", "retrieve"):
        yield "cred.read", "shows a secret"
    if verb in _LOOKS:
        return
    if given.get("private") is False or given.get("public") is True or given.get("visibility") == "public":
        yield "repo.expose", "everybody could see it"
    yield from _meant(verb, nouns, service)
    if verb == "push" or (nouns & {"file", "files", "commit"} and service & {"github", "gitlab", "bitbucket"}):
        yield from _pushed(given)


def _meant(verb: str, nouns: set[str], service: set[str]) -> Iterator[tuple[str, str]]:
    """What a verb and its nouns come to: the first of these that fits."""
    speaks = verb in _SPEAKS and (nouns & _TO_PEOPLE or verb in ("tweet", "email", "notify", "dm", "invite"))
    changes = verb in _CHANGES
    fits: tuple[tuple[Any, str, str], ...] = (
        (verb == "move" and nouns & {"trash", "bin"}, "mcp.delete", ""),
        (nouns & _MONEY and not nouns & _OWN, "mcp.pay", "moves money, or promises to"),
        (speaks, "message.send", ""),
        (verb == "share", "cloud.open", "lets others see it"),
        (verb == "merge" and nouns & {"pull", "request", "pr", "mr", "branch"}, "repo.merge", ""),
        (verb in _LAUNCHES, "cloud.write", "others get it at once"),
        (changes and nouns & _RIGHTS, "repo.admin", "changes who may do what"),
        (changes and "release" in nouns, "repo.release", ""),
        (nouns & _MANY and verb not in ("create", "add", "insert"), "db.write.live", "many at once"),
        (service & _INFRASTRUCTURE, "cloud.write", "changes infrastructure"),
    )
    yield from [(what, note) for fit, what, note in fits if fit][:1]


def _pushed(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    forced = any(given.get(key) is True for key in ("force", "forced", "force_push", "forcePush", "overwrite"))
    branch = next((given[key] for key in ("branch", "ref", "target") if isinstance(given.get(key), str)), "")
    if forced:
        yield "git.push.force", "with force"
    elif branch.removeprefix("refs/heads/") in _SHARED:
        yield "repo.merge", "straight to a branch that others work with"
