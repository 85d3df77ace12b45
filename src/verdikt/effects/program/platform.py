"""Platforms and services of others: what is deployed, what goes, which secrets come."""

from collections.abc import Iterator

from verdikt.effects import verb
from verdikt.effects.call import Call
from verdikt.effects.code.sql import read_sql
from verdikt.effects.program.cloud import by_verb, verbs
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target

_READ = Does("cloud.read")
_WRITE = Does("cloud.write")
_DELETE = Does("cloud.delete", "*", "resource", bare=True)
_LOCAL = Does("proc.exec")
_SECRET = Does("cred.read", note="shows a secret of the account")
_LOGIN = Does("cred.write", note="stores a credential for this account")


def _vercel(call: Call) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    if not path or path[0] == "deploy" or verb.find(path)[1] == "":
        live = call.args.has("--prod --production") or _value(call, "--target") == "production"
        yield call.effect(
            "cloud.write" if live else "cloud.read", note="changes the live site" if live else "a preview"
        )
    else:
        yield from verbs(call, path)


def _netlify(call: Call) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    if path[:1] == ["deploy"]:
        live = call.args.has("--prod -p --prodIfUnlocked")
        yield call.effect("cloud.write" if live else "cloud.read", note="changes the live site" if live else "a draft")
    else:
        yield from verbs(call, path)


def _value(call: Call, flags: str) -> str:
    word = call.args.value(flags)
    return word.text if word is not None else ""


def _d1(call: Call) -> Iterator[Effect]:
    """`wrangler d1 execute`: SQL, against this machine unless `--remote`."""
    live = call.args.has("--remote --preview")
    if live:
        yield call.effect("cloud.write", (Target("a live database", "database"),))
    yield from read_sql(_value(call, "--command"), call, "sqlite", recoverable=not live)


def _spoken_sql(call: Call) -> Iterator[Effect]:
    """A shell of a live database: SQL by flag or as the last word."""
    yield call.effect("db.read")
    for text in [
        _value(call, "-c --command"),
        *(word.text for word in call.args.operands if " " in word.text),
        call.command.stdin or "",
    ]:
        yield from read_sql(text, call, "postgres")


def _supabase_reset(call: Call) -> Iterator[Effect]:
    live = call.args.has("--linked --db-url")
    yield call.effect(
        "db.drop", (Target("a live database" if live else "the local database", "database"),), recoverable=not live
    )


_COMMON = "-a --app -t --team -s --stage --scope --token -c --config -e --env --environment -p --project --org -o --output --format --region"


def _platform(subs: dict[str, Program | Does | tuple[Does, ...]] | None = None, **more: str) -> Program:
    return Program(
        values=f"{_COMMON} {more.get('values', '')}",
        dry=f"--help --dry-run --dryrun {more.get('dry', '')}",
        subs=subs,
        call=by_verb(),
    )


PROGRAMS: dict[str, Program] = {
    "heroku": Program(
        values=f"{_COMMON} --confirm -r --remote",
        subs={
            "pg:reset": Does("db.drop", "0", "database", bare=True),
            "pg:psql": Program(call=_spoken_sql),
            "config": _SECRET,
            "config:get": _SECRET,
            "auth:token": _SECRET,
            "login": _LOGIN,
            "ps": _READ,
            "run": Does("infra.run", "*", "other", bare=True),
            "run:detached": Does("infra.run", "*", "other", bare=True),
            "ps:exec": Does("infra.run", "*", "other", bare=True),
            "local": _LOCAL,
            "open": _READ,
            "addons": _READ,
            "releases": _READ,
            "domains": _READ,
            "buildpacks": _READ,
        },
        call=by_verb(),
    ),
    **programs(
        "fly flyctl",
        _platform(
            {
                "auth token": _SECRET,
                "auth login": _LOGIN,
                "tokens create": Does("cred.create"),
                "ssh console": Does("infra.run"),
                "config": _READ,
                "config show": _READ,
                "logs": _READ,
                "doctor": _READ,
                "proxy": _READ,
                "wireguard": _WRITE,
                "scale show": _READ,
                "volumes snapshots list": _READ,
            }
        ),
    ),
    **programs(
        "vercel vc now",
        Program(
            values=f"{_COMMON} --target --cwd -A -b -m -n -N --name",
            subs={
                "dev": _LOCAL,
                "build": _LOCAL,
                "link": _READ,
                "init": _LOCAL,
                "login": _LOGIN,
                "whoami": _READ,
                "inspect": _READ,
                "logs": _READ,
                "ls": _READ,
                "pull": Does("cred.read", note="fetches the project's secrets"),
                "env pull": Does("cred.read", note="fetches the project's secrets"),
                "env rm": Does("cloud.delete", "*", "resource", recoverable=True),
                "env remove": Does("cloud.delete", "*", "resource", recoverable=True),
                "alias rm": Does("cloud.delete", "*", "resource", recoverable=True),
            },
            call=_vercel,
        ),
    ),
    **programs(
        "netlify ntl",
        Program(
            values=f"{_COMMON} --dir --functions --message --site --auth",
            subs={
                "dev": _LOCAL,
                "build": _LOCAL,
                "serve": _LOCAL,
                "link": _READ,
                "login": _LOGIN,
                "env:get": _SECRET,
                "env:list": _SECRET,
                "env:unset": Does("cloud.delete", "*", "resource", recoverable=True),
            },
            call=_netlify,
        ),
    ),
    "wrangler": Program(
        values=f"{_COMMON} --name --namespace-id --binding --command --file --local-protocol --port",
        dry="--help --dry-run",
        subs={
            "dev": _LOCAL,
            "init": _LOCAL,
            "types": _LOCAL,
            "login": _LOGIN,
            "pages dev": _LOCAL,
            "tail": _READ,
            "d1 execute": Program(call=_d1),
            "d1 migrations create": _LOCAL,
            "d1 delete": Does("db.drop", "*", "database"),
            "kv key put": (Does("cloud.write", "0", "resource", when="--remote"), Does("cloud.read")),
            "kv key delete": (
                Does("cloud.delete", "0", "resource", when="--remote", recoverable=True),
                Does("cloud.read"),
            ),
        },
        call=by_verb(),
    ),
    "firebase": Program(
        values=f"{_COMMON} --only --except -P --port",
        dry="--help --dry-run",
        subs={
            "emulators:start": _LOCAL,
            "emulators:exec": _LOCAL,
            "serve": _LOCAL,
            "init": _LOCAL,
            "login": _LOGIN,
            "login:ci": _SECRET,
            "use": _WRITE,
            "hosting:disable": _DELETE,
            "firestore:delete": Does("db.delete.all", "*", "database", bare=True),
            "database:remove": Does("db.delete.all", "*", "database", bare=True),
            "functions:config:get": _SECRET,
            "auth:export": _SECRET,
        },
        call=by_verb(),
    ),
    "supabase": Program(
        values=f"{_COMMON} --project-ref --db-url --workdir --schema",
        dry="--help --dry-run",
        subs={
            "start": _LOCAL,
            "stop": _LOCAL,
            "init": _LOCAL,
            "login": _LOGIN,
            "link": _READ,
            "db reset": Program(call=_supabase_reset),
            "db diff": _READ,
            "db lint": _READ,
            "db dump": _READ,
            "db pull": _LOCAL,
            "db start": _LOCAL,
            "db push": _WRITE,
            "gen types": _LOCAL,
            "gen types typescript": _LOCAL,
            "migration new": _LOCAL,
            "migration up": (
                Does("cloud.write", "0", "other", when="--linked --db-url", bare=True),
                Does("code.build", unless="--linked --db-url", bare=True),
            ),
            "migration list": _READ,
            "functions new": _LOCAL,
            "functions serve": _LOCAL,
            "test db": _LOCAL,
            "test new": _LOCAL,
        },
        call=by_verb(),
    ),
    "railway": _platform(
        {
            "run": _LOCAL,
            "shell": _LOCAL,
            "login": _LOGIN,
            "down": _DELETE,
            "link": _READ,
            "variables": _SECRET,
            "connect": _WRITE,
            "up": _WRITE,
            "redeploy": _WRITE,
        }
    ),
    "cf": _platform(
        {
            "login": _LOGIN,
            "oauth-token": _SECRET,
            "env": _SECRET,
            "push": _WRITE,
            "apps": _READ,
            "delete-orphaned-routes": _WRITE,
        }
    ),
    "eb": _platform({"init": _LOCAL, "local": _LOCAL, "use": _READ, "printenv": _SECRET, "ssh": Does("infra.run")}),
    "amplify": _platform({"push": _WRITE, "pull": _LOCAL, "mock": _LOCAL, "serve": _LOCAL, "init": _WRITE}),
    "deck": Program(
        # Kong: what a gateway lets through
        values="-s --state --kong-addr --konnect-token --headers",
        subs={"reset": _DELETE, "gateway reset": _DELETE, "dump": _READ, "gateway dump": _READ, "file": _LOCAL},
        call=by_verb(),
    ),
    "dnscontrol": Program(_READ, subs={"push": _WRITE}),
    "octodns-sync": Program(Does("cloud.write", when="--doit", bare=True), _READ, values="--config-file"),
    "fastlane": Program(
        _LOCAL,
        subs={
            **dict.fromkeys(("deliver", "supply", "pilot", "release", "upload_to_app_store"), Does("pkg.publish")),
            **dict.fromkeys(("match nuke", "nuke"), Does("cred.destroy", bare=True)),
        },
    ),
    **programs(
        "render neonctl neon pscale turso koyeb northflank zeabur deployctl stripe twilio algolia sentry-cli auth0 okta databricks snow confluent upstash caprover clever scalingo gigalixir nhost appwrite convex sanity contentful shopify eas fastly ldcli pd datadog-ci newrelic grafana-cli grr amtool apigeecli flarectl cfcli jenkins-cli tkn argo spin octopus terminus platform upsun balena particle hcp ecs-cli crc minishift rafay tsuru convox porter encore mailgun postmark svix opsgenie statuspage mongocli aiven avn yc nsc cmctl dapr consul-k8s conjur imperva akamai cli53 lexicon hub-tool",
        Program(
            values=_COMMON,
            dry="--help --dry-run",
            subs={
                "login": _LOGIN,
                "auth login": _LOGIN,
                "db shell": Program(call=_spoken_sql),
                "dev": _LOCAL,
                "listen": _READ,
                "build": _LOCAL,
                "trigger": _WRITE,
            },
            call=by_verb(),
        ),
    ),
}
