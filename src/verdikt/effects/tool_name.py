"""Read what the name of a connected service's tool says about it: the words, the verb, what both mean together.

A general tool counts under the name of the operation that it is told to do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from verdikt.effects.arguments import word_set
from verdikt.model.lazy_regex import compile_lazily

if TYPE_CHECKING:
    from verdikt.model.action import Action

_NAME_WORD = compile_lazily(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# In the order in which they are tried: the more dangerous reading of a name comes first.
_VERB_EFFECTS: tuple[tuple[str, frozenset[str]], ...] = (
    (
        "mcp.delete",
        word_set(
            "delete remove drop destroy purge truncate wipe terminate erase clear revoke uninstall prune reset flush "
            "unpublish archive cancel kill"
        ),
    ),
    (
        "mcp.run",
        word_set(
            "run execute exec eval evaluate invoke shell bash terminal command script deploy trigger apply restart "
            "rollback start stop spawn install"
        ),
    ),
    (
        "mcp.send",
        word_set(
            "send post publish upload push email message reply comment tweet share invite notify merge submit "
            "transfer pay buy order"
        ),
    ),
    (
        "mcp.write",
        word_set(
            "create update write edit set add insert put patch upsert modify rename move copy assign append save new "
            "import enable disable invalidate fork close open label commit replace attach link tag schedule grant "
            "transition checkout stage stash switch restore resume pause toggle click type fill press drag"
        ),
    ),
    (
        "mcp.read",
        word_set(
            "get list read search find query fetch view describe show count check status lookup browse inspect "
            "aggregate analyze explain diff log logs summarize resolve preview validate verify compare select scan "
            "retrieve download extract navigate screenshot snapshot heapsnapshot hover wait think console network help "
            "info whoami ping test stat tree glob grep ask plan resize activate thinking sequentialthinking tabs "
            "handle scroll focus emulate audit"
        ),
    ),
)
_READ_VERBS = word_set(
    "get list read search find query fetch view describe show count check status lookup preview download plan "
    "aggregate validate diff log logs inspect explain test ping analyze resolve"
)
_PLAIN_READ_VERBS = word_set("get list read search find fetch view describe show")
_VIEW_NOUNS = word_set("history schema schemas stats statistics metrics usage top details summary overview")
"""What is only looked at, after the plural of what it belongs to: `pods_top`."""
_PREPOSITIONS = word_set("in of for from by with at on to")
SEARCH_VERBS = word_set("search find lookup ask browse")
_REVEAL_VERBS = ("get", "read", "fetch", "show", "reveal", "retrieve")
_MONEY_NOUNS = word_set(
    "refund refunds charge charges payment payments payout payouts transfer transfers invoice invoices purchase "
    "order trade swap withdraw withdrawal"
)
_MESSAGE_VERBS = word_set(
    "send post reply publish tweet share invite notify email forward broadcast dm call text message"
)
_MESSAGE_NOUNS = word_set(
    "message messages email emails mail sms chat dm tweet thread channel invite invitation invitations notification "
    "notifications whatsapp telegram discord slack phone voicemail newsletter campaign broadcast mailing"
)
_ACCESS_NOUNS = word_set(
    "protection permission permissions role roles policy policies secret secrets token tokens key keys member "
    "members collaborator collaborators webhook webhooks visibility access acl iam user users team ruleset "
    "credential credentials firewall deploykey"
)
_CHANGE_VERBS = word_set(
    "create update set add put patch edit modify grant assign enable disable change rotate make write upsert invite "
    "attach"
)
_CHAT_VERBS = word_set("add create write")
_CHAT_NOUNS = word_set("message messages dm sms")
_SECRET_NOUNS = word_set("secret secrets password passwords credential credentials apikey token tokens")
_DEPLOY_VERBS = word_set("deploy release publish promote rollout redeploy")
_ACTING_VERBS = _CHANGE_VERBS | _DEPLOY_VERBS | _MESSAGE_VERBS | {"move", "merge", "push"}
_VERBS_AND_NOUNS = _MESSAGE_NOUNS | word_set("text post share release change set patch forward message")
"""Words that are the verb after a noun only at the end of a name: `roles_set`, but not `post_reactions`."""
INFRASTRUCTURE_NOTE = "changes infrastructure"
"""What the name of a service suggests, unless the arguments of its tool tell more."""
_SHARED_BRANCHES = word_set("main master trunk production prod release stable develop")
_BULK_WORDS = word_set("bulk batch many all everything mass")
_PASSWORD_MANAGERS = word_set("1password onepassword bitwarden lastpass keepass dashlane keychain vault")
_INFRASTRUCTURE_SERVICES = word_set(
    "terraform tofu pulumi aws gcp gcloud azure cloudflare kubernetes k8s heroku fly netlify vercel digitalocean "
    "linode hetzner openstack proxmox datadog okta auth0"
)
_FILE_NOUNS = word_set("file files directory image")
_SERVICE_WORDS = ("git", "github", "gitlab", "slack", "gmail")
"""Services that put their own name before the verb: `github_create_issue`."""
_FORCE_KEYS = ("force", "forced", "force_push", "forcePush", "overwrite")
_BRANCH_KEYS = ("branch", "ref", "target")
_OPERATION_KEYS = ("operation", "operation_name", "operationName", "api_name", "action", "tool", "tool_name")
_COMMAND_KEYS = ("command", "cmd")
METHOD_KEYS = ("method", "http_method", "httpMethod")
_READ_METHODS = word_set("GET HEAD OPTIONS")
_OPERATION = compile_lazily(r"[A-Za-z][\w.-]+")
_GENERAL_VERBS = word_set("call invoke execute exec run use do perform request send api proxy")
_GENERAL_WORDS = _GENERAL_VERBS | word_set("tool operation action function method endpoint service rest http")


def list_names(action: Action) -> list[Action]:
    """Return the call under each name that it may have: the tool's own, and that of each operation it is told to do.

    The own name is left out only where it says nothing, as that of `call_api`, and all arguments that say what to do
    are understood: one that the tool may not even read must not lower what its name says.
    """
    words = split_tool_name(action.tool)
    if not words or words[0] not in _GENERAL_VERBS or not isinstance(action.payload, Mapping):
        return [action]
    operations = [action.payload[key] for key in _OPERATION_KEYS if key in action.payload]
    # `{"dropDatabase": 1}`: the verb is a key, and which one must not depend on their order.
    commands = [action.payload[key] for key in _COMMAND_KEYS if isinstance(action.payload.get(key), Mapping)]
    operations += [key for command in commands for key in command]
    service = action.tool.rpartition("__")[0]
    named = [
        replace(action, tool=f"{service}__{operation}")
        for operation in operations
        if isinstance(operation, str) and _OPERATION.fullmatch(operation)
    ]
    named = [call for call in named if infer_verb_effect(call.tool)]
    is_silent = is_general_tool(action.tool)
    is_understood = 0 < len(named) == len(operations) and all(
        action.payload.get(key, "GET") in _READ_METHODS for key in METHOD_KEYS
    )
    return named if is_silent and is_understood else [action, *named]


def is_general_tool(tool: str) -> bool:
    """Return whether the name of a tool says nothing of what it does, as that of `call_api` or `http_request`."""
    words = split_tool_name(tool)
    return not infer_verb_effect(tool) and _GENERAL_WORDS.union(split_service_name(tool)) >= {*words}


# The names of a session's tools recur with every call.
@lru_cache(maxsize=1024)
def split_tool_name(tool: str) -> tuple[str, ...]:
    """Return the words of a tool's name in lower case, without the name of its service."""
    name = tool.rsplit("__", maxsplit=1)[-1] if "__" in tool else tool.rsplit(":", 1)[-1].rsplit("/", 1)[-1]
    return tuple(word.lower() for word in _NAME_WORD.findall(name))


@lru_cache(maxsize=1024)
def split_service_name(tool: str) -> frozenset[str]:
    """Return the words of the name of the service that has the tool."""
    name = tool.removeprefix("mcp__").rpartition("__")[0]
    return frozenset(word.lower() for word in re.findall(r"[A-Za-z0-9]+", name))


@lru_cache(maxsize=1024)
def infer_verb_effect(tool: str) -> str:
    """Return the effect that the words of a tool's name suggest; empty if they suggest none."""
    words = split_tool_name(tool)
    for what, verbs in _VERB_EFFECTS:
        # The verb usually comes first; a destructive one counts wherever it stands.
        if words and (words[0] in verbs or (what == "mcp.delete" and not verbs.isdisjoint(words))):
            return what
    for what, verbs in _VERB_EFFECTS:
        if not verbs.isdisjoint(words):
            return what
    return "mcp.read" if len(words) == 2 and _is_plural(words[0]) and words[1] in _VIEW_NOUNS else ""


def _is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith("ss")


def infer_effects(tool: str, payload: Any) -> Iterator[tuple[str, str]]:
    """Yield name and note of the effects that a tool's name and arguments suggest besides that of its verb."""
    words = split_tool_name(tool)
    if not words:
        return
    arguments = payload if isinstance(payload, Mapping) else {}
    nouns, service = set(words), split_service_name(tool)
    verb = _find_verb(tool, words)
    is_vault_item = bool(service & _PASSWORD_MANAGERS) and bool(nouns & {"item", "entry", "login", "note"})
    if (nouns & _SECRET_NOUNS or is_vault_item) and verb in _REVEAL_VERBS:
        yield "cred.read", "shows a secret"
    if verb in _READ_VERBS:
        return
    if arguments.get("private") is False or arguments.get("public") is True or arguments.get("visibility") == "public":
        yield "repo.expose", "everybody could see it"
    yield from _match_verb(tool, verb, nouns, service)
    if verb == "push" or (nouns & {"file", "files", "commit"} and service & {"github", "gitlab", "bitbucket"}):
        yield from _classify_push(arguments)


def _find_verb(tool: str, words: Sequence[str]) -> str:
    """Return the verb of a tool's name: its first word, or the verb after what it is about, as in `pods_list`."""
    if words[0] in _SERVICE_WORDS:
        return (words[1:] or ("",))[0]
    # The first word in any case, for a name that begins with a preposition.
    *nouns, last = words[0], *takewhile(lambda word: word not in _PREPOSITIONS, words[1:])
    # Only where no word of the name does more than read, and nothing but what it reads from follows the verb.
    if infer_verb_effect(tool) == "mcp.read" and _ACTING_VERBS.isdisjoint(words):
        # `log`, `test` and `plan` are nouns as well: they are the verb only after a plural and nothing else.
        if len(nouns) == 1 and _is_plural(nouns[0]) and last in _READ_VERBS | _VIEW_NOUNS:
            return "show"
        return last if last in _PLAIN_READ_VERBS else words[0]
    if words[0] in _ACTING_VERBS or words[0] in _READ_VERBS:
        return words[0]
    if last in _ACTING_VERBS:
        return last
    return next((word for word in nouns if word in _ACTING_VERBS - _VERBS_AND_NOUNS), words[0])


def _match_verb(tool: str, verb: str, nouns: set[str], service: Set[str]) -> Iterator[tuple[str, str]]:
    """Yield the first effect whose verb and nouns match."""
    is_message = verb in _MESSAGE_VERBS and (
        nouns & _MESSAGE_NOUNS or verb in ("tweet", "email", "notify", "dm", "invite")
    )
    is_chat = verb in _CHAT_VERBS and nouns & _CHAT_NOUNS and service & _MESSAGE_NOUNS
    is_change = verb in _CHANGE_VERBS
    rows: tuple[tuple[Any, str, str], ...] = (
        (verb == "move" and nouns & {"trash", "bin"}, "mcp.delete", ""),
        (nouns & _MONEY_NOUNS and not nouns & _FILE_NOUNS, "mcp.pay", "moves money, or promises to"),
        (is_message or is_chat, "message.send", ""),
        (verb == "share", "cloud.open", "lets others see it"),
        (verb == "merge" and nouns & {"pull", "request", "pr", "mr", "branch"}, "repo.merge", ""),
        (verb in _DEPLOY_VERBS, "cloud.write", "others get it at once"),
        (is_change and nouns & _ACCESS_NOUNS, "repo.admin", "changes who may do what"),
        (is_change and "release" in nouns, "repo.release", ""),
        (
            # What is run tells by itself whether it changes anything.
            nouns & _BULK_WORDS and verb not in ("create", "add", "insert") and infer_verb_effect(tool) != "mcp.run",
            "db.write.live",
            "many at once",
        ),
        (service & _INFRASTRUCTURE_SERVICES, "cloud.write", INFRASTRUCTURE_NOTE),
    )
    yield from [(what, note) for matches, what, note in rows if matches][:1]


def _classify_push(arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    branch = _find_text(arguments, _BRANCH_KEYS)
    if any(arguments.get(key) is True for key in _FORCE_KEYS):
        yield "git.push.force", "with force"
    elif branch.removeprefix("refs/heads/") in _SHARED_BRANCHES:
        yield "repo.merge", "straight to a branch that others work with"


def _find_text(payload: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    return next((payload[key] for key in keys if isinstance(payload.get(key), str)), "")
