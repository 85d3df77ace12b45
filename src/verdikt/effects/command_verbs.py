"""Classify a subcommand by the verb in its name, so that a subcommand that no table lists is understood too."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from verdikt.model.lazy_regex import compile_lazily

# Longer words are no verbs, and would only fill the caches.
_MAX_WORD_LENGTH = 200
_CACHE_SIZE = 4096


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READ_VERBS = _words(
    "list ls lst get describe show view read info status whoami help version search find query scan head lookup "
    "check validate verify lint diff plan preview log logs tail watch wait inspect history top explain events print "
    "display count estimate simulate analyze analyse detect compare fetch download tree cat open metrics ping doctor "
    "docs completion discover browse filter select preflight what audit trace profile report summarize summary stat "
    "stats state usage export dump resolve decode monitor visualize peek poll sample calculate evaluate recommend "
    "lookup has is can who which where test stream sub subscribe current ps env outdated receive"
)
WRITE_VERBS = _words(
    "create add new make put set update modify edit patch apply replace change deploy redeploy publish push upload "
    "import sync copy cp move mv start stop restart reboot halt shutdown poweroff suspend resume pause unpause "
    "deallocate enable disable attach detach associate disassociate register deregister allocate release assign "
    "unassign grant revoke authorize deauthorize invite accept reject approve cancel abort kill run exec execute "
    "invoke call send submit trigger schedule scale resize rollback rollout promote demote failover switch use "
    "migrate restore recover rotate reset renew extend upgrade downgrade install configure config rename transfer "
    "link unlink connect disconnect tag untag label annotate lock unlock merge split clone fork build rebuild "
    "execute launch provision up begin complete confirm commit write save store load init bootstrap activate "
    "deactivate retry requeue redrive enqueue acknowledge ssh console login logout signup subscribe unsubscribe "
    "request respond associate expose generate sign encrypt decrypt unset insert append open-tunnel tunnel proxy "
    "forward cordon uncordon drain taint refresh replay seed bind unbind notify join post finish swap fail move-to "
    "archive unarchive hibernate"
)
DELETE_VERBS = _words(
    "delete del rm remove destroy terminate purge drop erase wipe rb rmdir teardown nuke flush empty clear uninstall "
    "undeploy unpublish prune deprovision decommission obliterate shred leave forget expunge trash truncate "
    "removeall deleteall destroyall dismantle unregister removenode clean cleanup gc expire yank discard abandon unmap"
)
# The strictest kind wins where a verb is in several lists.
_VERB_KINDS = (
    dict.fromkeys(WRITE_VERBS, "write") | dict.fromkeys(READ_VERBS, "read") | dict.fromkeys(DELETE_VERBS, "delete")
)
RECREATABLE_NOUNS = _words(
    "tag tags label labels annotation alarm alarms permission permissions rule rules listener alias policy "
    "association route message item cache job jobs draft webhook comment record records lock binding member "
    "subscription dashboard notification filter environment variable var setting settings config override schedule "
    "trigger invitation session pod"
)
"""Nouns of resources that hold no data, so that deleting one is made good in a minute."""

AMBIGUOUS_VERBS = _words(
    "config env log logs state ps run test events metrics profile monitor session build tag label lock link ssh "
    "console report audit sample trace version start-url top stream docs index usage up sync proxy tunnel schedule "
    "login sign launch head history status export import open use archive service stats link move stack load store "
    "switch release fork clone commit request publish"
)
"""Verbs that also name things: `aws logs`, `gcloud run services list`, `fly config show`."""

_WORD_SEPARATOR = compile_lazily(r"[-_:./\s]+")
_CAMEL_CASE = compile_lazily(r"(?<=[a-z0-9])(?=[A-Z])")


def split_tokens(word: str) -> tuple[str, ...]:
    """Split `delete-db-instance`, `apps:destroy` or `DeleteInstance` into lower-case tokens."""
    return _split_cached(word[:_MAX_WORD_LENGTH])


# Bounded: the words of commands are without limit.
@lru_cache(maxsize=_CACHE_SIZE)
def _split_cached(word: str) -> tuple[str, ...]:
    return tuple(piece.lower() for part in _WORD_SEPARATOR.split(word) for piece in _CAMEL_CASE.split(part) if piece)


def classify_word(word: str) -> str:
    """Return `read`, `write` or `delete` by the first verb in a word; empty if it has none."""
    return _classify_cached(word[:_MAX_WORD_LENGTH])


@lru_cache(maxsize=_CACHE_SIZE)
def _classify_cached(word: str) -> str:
    return find_verb([word])[1]


def find_verb(command_words: list[str], start: int = 0) -> tuple[int, str]:
    """Return the index of the verb among the first words of a command, and its kind; -1 if there is none.

    A word that may as well be a noun (`config`, `logs`, `run`) counts only where no clear verb follows it.
    """
    ambiguous = (-1, "")
    for index in range(start, min(len(command_words), start + 4)):
        for token in split_tokens(command_words[index]):
            kind = _VERB_KINDS.get(token, "")
            if kind and token not in AMBIGUOUS_VERBS:
                return index, kind
            if kind and not ambiguous[1]:
                ambiguous = (index, kind)
    return ambiguous


def is_recreatable(command_words: list[str]) -> bool:
    """Return whether the noun of a command names something that holds no data."""
    return any(piece in RECREATABLE_NOUNS for word in command_words for piece in split_tokens(word)[-1:])


_SWITCHED_ON = _words("on enable enabled activate start begin true 1")


def takes_offline(texts: list[str]) -> bool:
    """Return whether words order an application into maintenance: `maintenance:on`, `maintenance-mode activate`."""
    tokens = [token.rstrip("!()") for text in texts[:5] for token in split_tokens(text.lstrip("-"))]
    return "maintenance" in tokens and not _SWITCHED_ON.isdisjoint(tokens[tokens.index("maintenance") + 1 :])


DESTROY_VERBS = _words(
    "delete destroy purge terminate wipe nuke drop erase obliterate decommission teardown unpublish deprovision "
    "undeploy factory-reset truncate deleteall flushall removeall destroyall remove rm del reset flush revert "
    "failover promote poweroff hardreset shutdown uninstall removenode unregister"
)
_THOROUGH_VERBS = DESTROY_VERBS | _words(
    "revoke expire disable deactivate stop kill terminate prune trash expunge discard forget empty clear shred evict"
)
"""Verbs that destroy where the words leave nothing out: `sessions revoke-all`, `backups expire --force`."""
_RECREATED_NOUNS = _words("cache caches tmp temp screen terminal")
"""What a program makes again by itself."""
_FORCE_FLAGS = _words("--force --all --no-confirm --skip-confirmation --no-preserve")
_DESTROY_FLAGS = _words(
    "--delete --destroy --purge --wipe --overwrite-destination --remove --reset --copy-back --delete-all "
    "--destroy-all --purge-all --force-delete --drop --erase --nuke --factory-reset"
)
_DRY_RUN_FLAGS = _words(
    "--dry-run --dryrun --dry -n --what-if --check --plan --preview --simulate --noop --no-op --pretend --help -h"
)


def has_destroy_verb(texts: list[str]) -> bool:
    """Return whether the words of an unknown program clearly order it to destroy something, and not a dry run."""
    if _DRY_RUN_FLAGS & set(texts):
        return False
    operands = [text for text in texts if not text.startswith("-")][:3]
    # A word with one of `./=@` is a file, a setting or an address, whatever verb its name begins with; a text with
    # blanks is a message.
    names = [text for text in operands if split_tokens(text) and not set("./=@ ") & set(text)]
    if any(_list_orders(name) & DESTROY_VERBS for name in names) or any(
        text.split("=", 1)[0] in _DESTROY_FLAGS for text in texts
    ):
        return True
    if any(not _RECREATED_NOUNS.isdisjoint(split_tokens(name)) for name in names):
        return False
    is_forced = not _FORCE_FLAGS.isdisjoint(texts)
    return any(_list_orders(name) & _THOROUGH_VERBS and (is_forced or "all" in split_tokens(name)) for name in names)


def _list_orders(name: str) -> set[str]:
    """Return the tokens of a subcommand that stand where a verb does: `drop-index`, `apps:destroy`."""
    tokens = split_tokens(name)
    places = {tokens[0], *(after for before, after in pairwise(tokens) if before == "and")}
    return places | {tokens[-1]} if ":" in name else places
