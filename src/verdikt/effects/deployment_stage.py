"""Which installation a command works on, as far as its words and variables tell: live, for tests, on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from verdikt.effects.command_verbs import DESTROY_VERBS, split_tokens
from verdikt.effects.execution_context import find_preceding
from verdikt.effects.given_variables import (
    FILE_OPTIONS,
    FILE_SETTERS,
    MAX_SETTER_WORDS,
    list_variable_files,
    read_variables,
)
from verdikt.effects.host import is_local_host, parse_host
from verdikt.effects.installation_names import is_live_name, is_test_name, is_throwaway
from verdikt.knowledge import find_role

if TYPE_CHECKING:
    from verdikt.effects.invocation import Invocation
    from verdikt.model.effect import Effect
    from verdikt.shell.command import Command

_STAGE_OPTIONS = "-e --env --environment --database --settings"
_TEST_OPTIONS = "--env --environment --settings"
_STAGE_VARIABLES = ("ENV", "ENVIRONMENT", "SETTINGS_MODULE")
_PROTECTION_SWITCHES = ("DISABLE_DATABASE_ENVIRONMENT_CHECK",)
"""Variables that only a live database needs: they switch its protection off."""
_ADDRESS_VARIABLES = ("URL", "DSN", "URI", "_CONN")
_VARIABLE_EXPORTERS = find_role("variable_exporter")
_CHANGING_WORDS = DESTROY_VERBS | frozenset(
    "deploy redeploy release publish rollback rollout migrate provision ship backfill cutover send mail email notify "
    "charge refund expire revoke".split()
)
_ORDER_EFFECTS = ("code.run", "code.build", "unknown.program", "pkg.run", "repo.write")
_BUILD_VARIABLES = ("NODE_ENV",)
"""Variables whose `production` says how something is built, and nothing of where it goes."""
_LOOKING_WORDS = frozenset("check plan status log logs list history diff preview help".split())
_TASK_RUNNERS = find_role("task_runner")
_DRY_RUNS = frozenset("--dry-run --dryrun --dry --check --plan --help".split())


def list_stages(call: Invocation) -> list[str]:
    """Return `live`, or else `test`, where the command says so, and `local` if its addresses are all of this machine.

    Anything that says live counts, also an `export` some commands before; `test` must be said for this command.
    """
    if any(map(is_live_name, _iter_live_hints(call))):
        return ["live"]
    addresses = list(_iter_values(call, _ADDRESS_VARIABLES))
    is_local = all(is_local_host(parse_host(address)) for address in addresses)
    # An address counts for more than the name of a stage: the frameworks connect to it in any stage.
    is_harmless = is_local or all(is_throwaway(address.rsplit("/", 1)[-1]) for address in addresses)
    is_scratch = bool(addresses) and is_local and all(is_throwaway(address.rsplit("/", 1)[-1]) for address in addresses)
    is_test = is_scratch or (is_harmless and any(map(is_test_name, _iter_test_hints(call))))
    stages = ["test"] if is_test else []
    return [*stages, "local"] if addresses and is_local else stages


def classify_live_change(call: Invocation, effects: Sequence[Effect]) -> list[Effect]:
    """Return the effect of an order to change what people depend on, whichever runner gets it.

    `make deploy ENV=production`, `gh workflow run release.yml -f stage=live`, `alembic -x env=prod upgrade head`.
    """
    names = {effect.what for effect in effects}
    changes_schema = "db.schema" in names
    texts = [word.text for word in call.command.argv]
    if (names.isdisjoint(_ORDER_EFFECTS) and not changes_schema) or _changes_nothing(texts):
        return []
    started = {target.text for effect in effects if effect.what == "code.run" for target in effect.targets}
    # Files say what a command works on, save the one that it runs and the workflow that it starts.
    words = [text for text in texts if text in started or "repo.write" in names or not set("./") & set(text)]
    is_order = changes_schema or any(not _CHANGING_WORDS.isdisjoint(split_tokens(word)) for word in words)
    if not is_order or not any(map(is_live_name, [*words, *_iter_live_hints(call)])):
        return []
    note = "names what people depend on"
    return [call.make_effect("db.migrate.live" if changes_schema else "infra.apply", possible=True, note=note)]


def _changes_nothing(texts: Sequence[str]) -> bool:
    """Return whether the words of a command order a dry run, or tests, whose names may be about anything."""
    tokens = {token for text in texts[:6] for token in split_tokens(text)}
    runs_tests = any(token.endswith("test") and token != "latest" for token in tokens)
    # Behind a task, it may be a word for the task.
    shows_recipe = texts[1:2] == ["-n"] and texts[0].rpartition("/")[2] in _TASK_RUNNERS
    return runs_tests or shows_recipe or not _DRY_RUNS.isdisjoint(texts) or not _LOOKING_WORDS.isdisjoint(tokens)


def _iter_live_hints(call: Invocation) -> Iterator[str]:
    yield from (word.text for word in call.args.get_values(_STAGE_OPTIONS))
    yield from _iter_stage_operands(call)
    yield from (parse_host(address) for address in _iter_values(call, _ADDRESS_VARIABLES))
    for path in list_variable_files(call):
        yield from (parse_host(v) for name, v in read_variables(call, path) if name.endswith(_ADDRESS_VARIABLES))
    # `DATABASE_URL="$PROD_DATABASE_URL"`
    unknown = ((name, value) for name, value in call.command.assignments if not value.is_known)
    yield from (value.raw for name, value in unknown if name.endswith(_ADDRESS_VARIABLES))
    if any(name in _PROTECTION_SWITCHES for name, _ in call.command.assignments) or any(
        word.text.partition("=")[0] in _PROTECTION_SWITCHES for word in call.command.argv[1:]
    ):
        yield "production"
    for command in find_preceding(call.command, call.commands):
        yield from (value.text for name, value in command.assignments if _is_stage_variable(name))
        if command.name == "export":
            for word in command.argv[1:]:
                name, _, value_text = word.text.partition("=")
                if _is_stage_variable(name):
                    yield value_text


def _is_stage_variable(name: str) -> bool:
    return name.endswith(_STAGE_VARIABLES) and name not in _BUILD_VARIABLES


def _iter_test_hints(call: Invocation) -> Iterator[str]:
    yield from (word.text for word in call.args.get_values(_TEST_OPTIONS))
    yield from _iter_stage_operands(call)
    yield from _iter_values(call, _STAGE_VARIABLES)


def _iter_values(call: Invocation, name_endings: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of the variables with such names that are set where the command runs.

    In `RAILS_ENV=test docker exec app rails …` the container does not get the variable.
    """
    command = call.command
    around = [c for c in find_preceding(command, call.commands) if len(c.via) < len(command.via)][-1:]
    for setter in (*(wrapper for wrapper in around if wrapper.host == command.host), command):
        yield from (value.text for name, value in setter.assignments if name.endswith(name_endings))
        if setter.name in FILE_SETTERS:
            yield from (text for name, text in _read_variable_file(call, setter) if name.endswith(name_endings))
    own_names = {name for name, _ in command.assignments}
    exports = _list_sure_exports(call)
    yield from (value for name, value in exports.items() if name.endswith(name_endings) and name not in own_names)


def _list_sure_exports(call: Invocation) -> dict[str, str]:
    """Return the variables that earlier commands have surely exported to this one."""
    command, exports = call.command, dict[str, str]()
    for other in find_preceding(command, call.commands):
        is_sure = not other.conditional and other.host == command.host and other.via == command.via[: len(other.via)]
        if other.name in _VARIABLE_EXPORTERS and is_sure:
            pairs = (word.text.partition("=") for word in other.argv[1:] if word.is_known)
            exports.update({name: value for name, equals, value in pairs if equals})
    return exports


def _read_variable_file(call: Invocation, setter: Command) -> Iterator[tuple[str, str]]:
    """Yield the variables of the file that a wrapper loads for the command: `dotenv -e .env.test -- …`."""
    for option, value in pairwise(setter.argv[:MAX_SETTER_WORDS]):
        path = call.resolver.to_absolute(value.text, setter.cwd) if option.text in FILE_OPTIONS else ""
        yield from read_variables(call, path) if path else ()


def _iter_stage_operands(call: Invocation) -> Iterator[str]:
    """Yield the values of operands that set a variable: `rake db:drop RAILS_ENV=test`."""
    for word in call.args.operands:
        name, equals, value_text = word.text.partition("=")
        if equals and name.endswith(_STAGE_VARIABLES):
            yield value_text
