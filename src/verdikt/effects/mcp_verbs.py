"""What a connected service's tool is for, by the verb and the noun in its name: money, messages, merges, rights, secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from verdikt.effects.argv import word_set
from verdikt.model.lazy_regex import compile_lazily

_NAME_WORD = compile_lazily(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_READ_VERBS = word_set(
    "get list read search find query fetch view describe show count check status lookup preview download plan validate diff log logs inspect explain test ping analyze resolve"
)
_MONEY_NOUNS = word_set(
    "refund refunds charge charges payment payments payout payouts transfer transfers invoice invoices purchase order trade swap withdraw withdrawal"
)
_MESSAGE_VERBS = word_set(
    "send post reply publish tweet share invite notify email forward broadcast dm call text message"
)
_MESSAGE_NOUNS = word_set(
    "message messages email emails mail sms chat dm tweet thread channel invite invitation invitations notification notifications whatsapp telegram discord slack call voicemail newsletter"
)
_ACCESS_NOUNS = word_set(
    "protection permission permissions role roles policy policies secret secrets token tokens key keys member members collaborator collaborators webhook webhooks visibility access acl iam user users team ruleset credential credentials firewall deploykey"
)
_CHANGE_VERBS = word_set(
    "create update set add put patch edit modify grant assign enable disable change rotate make write upsert invite attach"
)
_SECRET_NOUNS = word_set("secret secrets password passwords credential credentials apikey token tokens")
_DEPLOY_VERBS = word_set("deploy release publish promote rollout redeploy")
_SHARED_BRANCHES = word_set("main master trunk production prod release stable develop")
_BULK_WORDS = word_set("bulk batch many all everything mass")
_PASSWORD_MANAGERS = word_set("1password onepassword bitwarden lastpass keepass dashlane keychain vault")
_INFRASTRUCTURE_SERVICES = word_set(
    "terraform tofu pulumi aws gcp gcloud azure cloudflare kubernetes k8s heroku fly netlify vercel digitalocean linode hetzner openstack proxmox datadog okta auth0"
)
_FILE_NOUNS = word_set("file files directory image")


def split_tool_name(tool: str) -> list[str]:
    """The words of a tool's name in lower case, without the name of the service that has it."""
    name = tool.rsplit("__", maxsplit=1)[-1] if "__" in tool else tool.rsplit(":", 1)[-1].rsplit("/", 1)[-1]
    return [word.lower() for word in _NAME_WORD.findall(name)]


def _split_service_name(tool: str) -> set[str]:
    """The words of the name of the service that has the tool."""
    name = tool.removeprefix("mcp__").rpartition("__")[0]
    return {word.lower() for word in re.findall(r"[A-Za-z0-9]+", name)}


def infer_effects(tool: str, payload: Any) -> Iterator[tuple[str, str]]:
    """The effects that a tool's name and arguments tell besides its verb: name and note of each."""
    said = split_tool_name(tool)
    if not said:
        return
    given = payload if isinstance(payload, Mapping) else {}
    nouns, service = set(said), _split_service_name(tool)
    verb = said[0] if said[0] not in ("git", "github", "gitlab", "slack", "gmail") else (said[1:] or [""])[0]
    keeper = bool(service & _PASSWORD_MANAGERS) and bool(nouns & {"item", "entry", "login", "note"})
    if (nouns & _SECRET_NOUNS or keeper) and verb in ("get", "read", "fetch", "show", "reveal", "retrieve"):
        yield "cred.read", "shows a secret"
    if verb in _READ_VERBS:
        return
    if given.get("private") is False or given.get("public") is True or given.get("visibility") == "public":
        yield "repo.expose", "everybody could see it"
    yield from _match_verb(verb, nouns, service)
    if verb == "push" or (nouns & {"file", "files", "commit"} and service & {"github", "gitlab", "bitbucket"}):
        yield from _classify_push(given)


def _match_verb(verb: str, nouns: set[str], service: set[str]) -> Iterator[tuple[str, str]]:
    """What a verb and its nouns come to: the first of these that fits."""
    speaks = verb in _MESSAGE_VERBS and (nouns & _MESSAGE_NOUNS or verb in ("tweet", "email", "notify", "dm", "invite"))
    changes = verb in _CHANGE_VERBS
    fits: tuple[tuple[Any, str, str], ...] = (
        (verb == "move" and nouns & {"trash", "bin"}, "mcp.delete", ""),
        (nouns & _MONEY_NOUNS and not nouns & _FILE_NOUNS, "mcp.pay", "moves money, or promises to"),
        (speaks, "message.send", ""),
        (verb == "share", "cloud.open", "lets others see it"),
        (verb == "merge" and nouns & {"pull", "request", "pr", "mr", "branch"}, "repo.merge", ""),
        (verb in _DEPLOY_VERBS, "cloud.write", "others get it at once"),
        (changes and nouns & _ACCESS_NOUNS, "repo.admin", "changes who may do what"),
        (changes and "release" in nouns, "repo.release", ""),
        (nouns & _BULK_WORDS and verb not in ("create", "add", "insert"), "db.write.live", "many at once"),
        (service & _INFRASTRUCTURE_SERVICES, "cloud.write", "changes infrastructure"),
    )
    yield from [(what, note) for fit, what, note in fits if fit][:1]


def _classify_push(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    forced = any(arguments.get(key) is True for key in ("force", "forced", "force_push", "forcePush", "overwrite"))
    branch = next((arguments[key] for key in ("branch", "ref", "target") if isinstance(arguments.get(key), str)), "")
    if forced:
        yield "git.push.force", "with force"
    elif branch.removeprefix("refs/heads/") in _SHARED_BRANCHES:
        yield "repo.merge", "straight to a branch that others work with"
