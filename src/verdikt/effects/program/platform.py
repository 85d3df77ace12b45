"""Platforms and services of others: what is deployed, what goes, which secrets come."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.code.sql import classify_sql
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.cloud import by_verb, verbs
from verdikt.effects.program.table import EffectSpec, Program, alias_programs
from verdikt.model.effect import Effect, Target

_READ = EffectSpec("cloud.read")
_WRITE = EffectSpec("cloud.write")
_DELETE = EffectSpec("cloud.delete", "*", "resource", without_target=True)
_LOCAL = EffectSpec("proc.exec")
_SECRET = EffectSpec("cred.read", note="shows a secret of the account")
_LOGIN = EffectSpec("cred.write", note="stores a credential for this account")


def _vercel(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    if not path or path[0] == "deploy" or command_verbs.find_verb(path)[1] == "":
        live = call.args.has_flag("--prod --production") or _value(call, "--target") == "production"
        yield call.make_effect(
            "cloud.write" if live else "cloud.read", note="changes the live site" if live else "a preview"
        )
    else:
        yield from verbs(call, path)


def _netlify(call: Invocation) -> Iterator[Effect]:
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


def _d1(call: Invocation) -> Iterator[Effect]:
    """`wrangler d1 execute`: SQL, against this machine unless `--remote`."""
    live = call.args.has_flag("--remote --preview")
    if live:
        yield call.make_effect("cloud.write", (Target("a live database", "database"),))
    yield from classify_sql(_value(call, "--command"), call, "sqlite", recoverable=not live)


def _classify_sql_shell(call: Invocation) -> Iterator[Effect]:
    """Classify a shell of a live database: SQL by flag or as the last word."""
    yield call.make_effect("db.read")
    for text in [
        _value(call, "-c --command"),
        *(word.text for word in call.args.operands if " " in word.text),
        call.command.stdin or "",
    ]:
        yield from classify_sql(text, call, "postgres")


def _supabase_reset(call: Invocation) -> Iterator[Effect]:
    live = call.args.has_flag("--linked --db-url")
    yield call.make_effect(
        "db.drop", (Target("a live database" if live else "the local database", "database"),), recoverable=not live
    )


_COMMON = "-a --app -t --team -s --stage --scope --token -c --config -e --env --environment -p --project --org -o --output --format --region"


def _platform(subs: dict[str, Program | EffectSpec | tuple[EffectSpec, ...]] | None = None, **more: str) -> Program:
    return Program(
        value_flags=f"{_COMMON} {more.get('values', '')}",
        dry_run_flags=f"--help --dry-run --dryrun {more.get('dry', '')}",
        subcommands=subs,
        classify=by_verb(),
    )


PROGRAMS: dict[str, Program] = {
    "heroku": Program(
        value_flags=f"{_COMMON} --confirm -r --remote",
        subcommands={
            "pg:reset": EffectSpec("db.drop", "0", "database", without_target=True),
            "pg:psql": Program(classify=_classify_sql_shell),
            "config": _SECRET,
            "config:get": _SECRET,
            "auth:token": _SECRET,
            "login": _LOGIN,
            "ps": _READ,
            "run": EffectSpec("infra.run", "*", "other", without_target=True),
            "run:detached": EffectSpec("infra.run", "*", "other", without_target=True),
            "ps:exec": EffectSpec("infra.run", "*", "other", without_target=True),
            "local": _LOCAL,
            "open": _READ,
            "addons": _READ,
            "releases": _READ,
            "domains": _READ,
            "buildpacks": _READ,
        },
        classify=by_verb(),
    ),
    **alias_programs(
        "fly flyctl",
        _platform(
            {
                "auth token": _SECRET,
                "auth login": _LOGIN,
                "tokens create": EffectSpec("cred.create"),
                "ssh console": EffectSpec("infra.run"),
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
    **alias_programs(
        "vercel vc now",
        Program(
            value_flags=f"{_COMMON} --target --cwd -A -b -m -n -N --name",
            subcommands={
                "dev": _LOCAL,
                "build": _LOCAL,
                "link": _READ,
                "init": _LOCAL,
                "login": _LOGIN,
                "whoami": _READ,
                "inspect": _READ,
                "logs": _READ,
                "ls": _READ,
                "pull": EffectSpec("cred.read", note="fetches the project's secrets"),
                "env pull": EffectSpec("cred.read", note="fetches the project's secrets"),
                "env rm": EffectSpec("cloud.delete", "*", "resource", recoverable=True),
                "env remove": EffectSpec("cloud.delete", "*", "resource", recoverable=True),
                "alias rm": EffectSpec("cloud.delete", "*", "resource", recoverable=True),
            },
            classify=_vercel,
        ),
    ),
    **alias_programs(
        "netlify ntl",
        Program(
            value_flags=f"{_COMMON} --dir --functions --message --site --auth",
            subcommands={
                "dev": _LOCAL,
                "build": _LOCAL,
                "serve": _LOCAL,
                "link": _READ,
                "login": _LOGIN,
                "env:get": _SECRET,
                "env:list": _SECRET,
                "env:unset": EffectSpec("cloud.delete", "*", "resource", recoverable=True),
            },
            classify=_netlify,
        ),
    ),
    "wrangler": Program(
        value_flags=f"{_COMMON} --name --namespace-id --binding --command --file --local-protocol --port",
        dry_run_flags="--help --dry-run",
        subcommands={
            "dev": _LOCAL,
            "init": _LOCAL,
            "types": _LOCAL,
            "login": _LOGIN,
            "pages dev": _LOCAL,
            "tail": _READ,
            "d1 execute": Program(classify=_d1),
            "d1 migrations create": _LOCAL,
            "d1 delete": EffectSpec("db.drop", "*", "database"),
            "kv key put": (EffectSpec("cloud.write", "0", "resource", when="--remote"), EffectSpec("cloud.read")),
            "kv key delete": (
                EffectSpec("cloud.delete", "0", "resource", when="--remote", recoverable=True),
                EffectSpec("cloud.read"),
            ),
        },
        classify=by_verb(),
    ),
    "firebase": Program(
        value_flags=f"{_COMMON} --only --except -P --port",
        dry_run_flags="--help --dry-run",
        subcommands={
            "emulators:start": _LOCAL,
            "emulators:exec": _LOCAL,
            "serve": _LOCAL,
            "init": _LOCAL,
            "login": _LOGIN,
            "login:ci": _SECRET,
            "use": _WRITE,
            "hosting:disable": _DELETE,
            "firestore:delete": EffectSpec("db.delete.all", "*", "database", without_target=True),
            "database:remove": EffectSpec("db.delete.all", "*", "database", without_target=True),
            "functions:config:get": _SECRET,
            "auth:export": _SECRET,
        },
        classify=by_verb(),
    ),
    "supabase": Program(
        value_flags=f"{_COMMON} --project-ref --db-url --workdir --schema",
        dry_run_flags="--help --dry-run",
        subcommands={
            "start": _LOCAL,
            "stop": _LOCAL,
            "init": _LOCAL,
            "login": _LOGIN,
            "link": _READ,
            "db reset": Program(classify=_supabase_reset),
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
                EffectSpec("cloud.write", "0", "other", when="--linked --db-url", without_target=True),
                EffectSpec("code.build", unless="--linked --db-url", without_target=True),
            ),
            "migration list": _READ,
            "functions new": _LOCAL,
            "functions serve": _LOCAL,
            "test db": _LOCAL,
            "test new": _LOCAL,
        },
        classify=by_verb(),
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
    "eb": _platform(
        {"init": _LOCAL, "local": _LOCAL, "use": _READ, "printenv": _SECRET, "ssh": EffectSpec("infra.run")}
    ),
    "amplify": _platform({"push": _WRITE, "pull": _LOCAL, "mock": _LOCAL, "serve": _LOCAL, "init": _WRITE}),
    "deck": Program(
        # Kong: what a gateway lets through
        value_flags="-s --state --kong-addr --konnect-token --headers",
        subcommands={"reset": _DELETE, "gateway reset": _DELETE, "dump": _READ, "gateway dump": _READ, "file": _LOCAL},
        classify=by_verb(),
    ),
    "dnscontrol": Program(_READ, subcommands={"push": _WRITE}),
    "octodns-sync": Program(
        EffectSpec("cloud.write", when="--doit", without_target=True), _READ, value_flags="--config-file"
    ),
    "fastlane": Program(
        _LOCAL,
        subcommands={
            **dict.fromkeys(
                ("deliver", "supply", "pilot", "release", "upload_to_app_store"), EffectSpec("pkg.publish")
            ),
            **dict.fromkeys(("match nuke", "nuke"), EffectSpec("cred.destroy", without_target=True)),
        },
    ),
    **alias_programs(
        "render neonctl neon pscale turso koyeb northflank zeabur deployctl stripe twilio algolia sentry-cli auth0 "
        "okta databricks snow confluent upstash caprover clever scalingo gigalixir nhost appwrite convex sanity "
        "contentful shopify eas fastly ldcli pd datadog-ci newrelic grafana-cli grr amtool apigeecli flarectl cfcli "
        "jenkins-cli tkn argo spin octopus terminus platform upsun balena particle hcp ecs-cli crc minishift rafay "
        "tsuru convox porter encore mailgun postmark svix opsgenie statuspage mongocli aiven avn yc nsc cmctl dapr "
        "consul-k8s conjur imperva akamai cli53 lexicon hub-tool",
        Program(
            value_flags=_COMMON,
            dry_run_flags="--help --dry-run",
            subcommands={
                "login": _LOGIN,
                "auth login": _LOGIN,
                "db shell": Program(classify=_classify_sql_shell),
                "dev": _LOCAL,
                "listen": _READ,
                "build": _LOCAL,
                "trigger": _WRITE,
            },
            classify=by_verb(),
        ),
    ),
}
