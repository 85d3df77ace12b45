"""Platforms and services of others: what is deployed, what goes, which secrets come."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.code.sql import classify_sql
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.cloud import verbs
from verdikt.model.effect import Effect, Target


def classify_vercel(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    if not path or path[0] == "deploy" or command_verbs.find_verb(path)[1] == "":
        live = call.args.has_flag("--prod --production") or _value(call, "--target") == "production"
        yield call.make_effect(
            "cloud.write" if live else "cloud.read", note="changes the live site" if live else "a preview"
        )
    else:
        yield from verbs(call, path)


def classify_netlify(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    if path[:1] == ["deploy"]:
        live = call.args.has_flag("--prod -p --prodIfUnlocked")
        yield call.make_effect(
            "cloud.write" if live else "cloud.read", note="changes the live site" if live else "a draft"
        )
    else:
        yield from verbs(call, path)


def _value(call: Invocation, flags: str) -> str:
    word = call.args.get_value(flags)
    return word.text if word is not None else ""


def classify_d1(call: Invocation) -> Iterator[Effect]:
    """`wrangler d1 execute`: SQL, against this machine unless `--remote`."""
    live = call.args.has_flag("--remote --preview")
    if live:
        yield call.make_effect("cloud.write", (Target("a live database", "database"),))
    yield from classify_sql(_value(call, "--command"), call, "sqlite", recoverable=not live)


def classify_sql_shell(call: Invocation) -> Iterator[Effect]:
    """Classify a shell of a live database: SQL by flag or as the last word."""
    yield call.make_effect("db.read")
    for text in [
        _value(call, "-c --command"),
        *(word.text for word in call.args.operands if " " in word.text),
        call.command.stdin or "",
    ]:
        yield from classify_sql(text, call, "postgres")


def classify_supabase_reset(call: Invocation) -> Iterator[Effect]:
    live = call.args.has_flag("--linked --db-url")
    yield call.make_effect(
        "db.drop", (Target("a live database" if live else "the local database", "database"),), recoverable=not live
    )
