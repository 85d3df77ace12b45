"""Queues and brokers, web servers and proxies, process keepers."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.storage import is_here
from verdikt.effects.program.table import EffectSpec, Program, alias_programs, word_set
from verdikt.model.effect import Effect, Target

_READ = EffectSpec("queue.read")
_WRITE = EffectSpec("queue.write", "*", "resource", without_target=True)
_DELETE = EffectSpec("queue.delete", "*", "resource", without_target=True)
_START = EffectSpec("sys.service", "*", "unit", without_target=True)
_STOP = EffectSpec("sys.service.stop", "*", "unit", without_target=True)
_OWN = EffectSpec("proc.exec")


def _kafka(call: Invocation) -> Iterator[Effect]:
    args = call.args
    broker = args.get_value("--bootstrap-server --zookeeper --broker-list -b")
    here = broker is not None and is_here(broker.text)
    topic = tuple(Target(word.display_text, "resource") for word in args.get_values("--topic --group"))
    if args.has_flag("--delete") or call.name.startswith("kafka-delete-records"):
        yield call.make_effect("queue.delete", topic, recoverable=True if here else None)
    elif (
        args.has_flag("--create --alter --execute --reset-offsets --add-config --delete-config")
        or "producer" in call.name
        or "reassign" in call.name
    ):
        yield call.make_effect("queue.local" if here else "queue.write", topic)
    else:
        yield call.make_effect("queue.read")


_RABBIT_LOSES = word_set("reset force_reset purge_queue delete_queue delete_vhost forget_cluster_node delete purge")


def _rabbit(call: Invocation) -> Iterator[Effect]:
    name = call.args.operands[0].text if call.args.operands else ""
    target = tuple(Target(word.display_text, "resource") for word in call.args.operands[1:])
    kind = command_verbs.classify_word(name)
    if name in _RABBIT_LOSES:
        yield call.make_effect("queue.delete", target)
    elif kind == "delete":
        yield call.make_effect("queue.delete", target, recoverable=True)
    elif kind == "write" or name in ("stop_app", "start_app", "join_cluster", "add_user", "eval", "publish", "declare"):
        yield call.make_effect("queue.write", target)
    else:
        yield call.make_effect("queue.read")


def _by_verb(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    _, kind = command_verbs.find_verb(path)
    target = (Target(" ".join(path[:4]), "resource"),)
    if kind == "delete":
        yield call.make_effect("queue.delete", target)
    elif kind == "write" or "pub" in path[:2] or "produce" in path[:2]:
        yield call.make_effect("queue.write", target)
    else:
        yield call.make_effect("queue.read")


def _celery(call: Invocation) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands]
    if "purge" in names or ("amqp" in names and "queue.purge" in names):
        yield call.make_effect("queue.delete", (Target("every waiting task", "resource"),))
    elif "call" in names or ("control" in names and not {"ping", "report", "stats"} & set(names)):
        yield call.make_effect("queue.write")
    else:
        yield call.make_effect("code.run")


def _nginx(call: Invocation) -> Iterator[Effect]:
    signal = call.args.get_value("-s")
    if signal is not None:
        yield call.make_effect(
            "sys.service.stop" if signal.text in ("stop", "quit") else "sys.server", (Target("nginx", "unit"),)
        )
    elif call.args.has_flag("-t -T -v -V -h"):
        yield call.make_effect("sys.read")
    else:
        yield call.make_effect("sys.server", (Target("nginx", "unit"),))


def _keeper(call: Invocation) -> Iterator[Effect]:
    """supervisor, pm2: one program is ordinary, all of them are not."""
    names = [word.text for word in call.args.operands]
    name = names[0] if names else ""
    target = tuple(Target(word.display_text, "unit") for word in call.args.operands[1:])
    everything = "all" in names[1:] or name in ("kill", "shutdown", "stop-all")
    if name in ("stop", "delete", "del", "kill", "shutdown", "remove", "reload", "update") and everything:
        yield call.make_effect("sys.service.stop", target)
    elif name in ("startup", "save", "unstartup") and call.name == "pm2":
        yield (
            call.make_effect("persist.unit", (Target("pm2", "unit"),), possible=True)
            if name == "startup"
            else call.make_effect("proc.exec")
        )
    elif call.name == "supervisorctl" and name in ("stop", "remove"):
        yield call.make_effect("sys.service.stop", target)
    else:
        yield call.make_effect("proc.exec")


_KAFKA = Program(
    value_flags="--bootstrap-server --zookeeper --broker-list --topic --group --partitions --replication-factor --config --offset-json-file --command-config --consumer.config --to-offset --entity-type --entity-name -b -t",
    dry_run_flags="--dry-run --verify",
    classify=_kafka,
)
_KAFKA_NAMES = " ".join(
    f"{name}{end}"
    for name in (
        "kafka-topics",
        "kafka-configs",
        "kafka-consumer-groups",
        "kafka-delete-records",
        "kafka-console-producer",
        "kafka-console-consumer",
        "kafka-acls",
        "kafka-reassign-partitions",
        "kafka-streams-application-reset",
        "kafka-get-offsets",
    )
    for end in ("", ".sh")
)

PROGRAMS: dict[str, Program] = {
    **alias_programs(_KAFKA_NAMES, _KAFKA),
    **alias_programs(
        "kcat kafkacat",
        Program(EffectSpec("queue.write", "-t", "resource", when="-P"), _READ, value_flags="-b -t -p -o -f -F -X"),
    ),
    **alias_programs(
        "rabbitmqctl rabbitmqadmin",
        Program(
            value_flags="-n --node -p --vhost -q -H --host -P --port -u -V --username --password", classify=_rabbit
        ),
    ),
    **alias_programs(
        "rabbitmq-plugins rabbitmq-diagnostics rabbitmq-queues",
        Program(EffectSpec("queue.write", when="enable disable grow shrink rebalance", without_target=True), _READ),
    ),
    "nats": Program(
        value_flags="-s --server --context --creds --user --password",
        subcommands={"sub": _READ, "stream ls": _READ, "stream info": _READ, "server check": _READ, "bench": _OWN},
        classify=_by_verb,
    ),
    "celery": Program(
        value_flags="-A --app -b --broker -l --loglevel -c --concurrency -Q --queues -n --hostname", classify=_celery
    ),
    **alias_programs(
        "pulsar-admin pulsarctl rpk kaf temporal tctl hermes nsqadmin emqx_ctl",
        Program(
            value_flags="-b --brokers -X --admin-url -n --namespace -w --workflow-id --address",
            dry_run_flags="--dry-run",
            subcommands={
                "cluster info": _READ,
                "topic consume": _READ,
                "topic produce": _WRITE,
                "server start-dev": _OWN,
                "container start": _OWN,
                "container purge": EffectSpec("container.remove"),
            },
            classify=_by_verb,
        ),
    ),
    "mosquitto_pub": Program(_WRITE),
    "mosquitto_sub": Program(_READ),
    "rq": Program(
        _READ,
        value_flags="-u --url",
        subcommands={
            "empty": EffectSpec("queue.delete", "*", "resource", recoverable=True),
            "worker": EffectSpec("code.run"),
            "requeue": _WRITE,
        },
    ),
    "airflow": Program(
        _READ,
        dry_run_flags="--dry-run",
        subcommands={
            "db reset": EffectSpec("db.drop", "*", "database", without_target=True),
            "db clean": EffectSpec("queue.delete", recoverable=True),
            "dags delete": EffectSpec("queue.delete", "*", "resource", recoverable=True),
            "dags trigger": _WRITE,
            "tasks run": _WRITE,
            "tasks clear": _WRITE,
            "dags test": EffectSpec("code.run"),
            "users create": EffectSpec("db.admin"),
            "users delete": EffectSpec("db.admin"),
            "connections get": EffectSpec("cred.read"),
            "connections export": EffectSpec("cred.read"),
            "variables get": _READ,
            "variables set": _WRITE,
            "variables delete": _WRITE,
            "pools delete": _WRITE,
            "db migrate": EffectSpec("db.schema"),
            "db init": EffectSpec("db.schema"),
        },
    ),
    # servers
    "nginx": Program(value_flags="-s -c -p -g -e", classify=_nginx),
    **alias_programs(
        "apachectl apache2ctl httpd",
        Program(
            EffectSpec("sys.server", when="start restart graceful", without_target=True),
            EffectSpec("sys.service.stop", when="stop graceful-stop", without_target=True),
            dry_run_flags="-t -S -V -v -M -l configtest",
            value_flags="-k -f -D -c",
        ),
    ),
    **alias_programs(
        "a2ensite a2dissite a2enmod a2dismod", Program(EffectSpec("sys.server", "*", "unit", without_target=True))
    ),
    "caddy": Program(
        EffectSpec("sys.read"),
        value_flags="--config --adapter --address --from --to",
        subcommands={
            "run": _OWN,
            "start": _OWN,
            "file-server": EffectSpec("net.listen"),
            "reverse-proxy": EffectSpec("net.listen"),
            "reload": EffectSpec("sys.server"),
            "stop": _STOP,
            "trust": EffectSpec("cred.write"),
            "untrust": EffectSpec("cred.write"),
            "fmt": EffectSpec("fs.write", "*"),
        },
    ),
    **alias_programs(
        "haproxy traefik envoy lighttpd",
        Program(
            EffectSpec("sys.server", when="-sf -st -D", without_target=True),
            value_flags="-f -p",
            dry_run_flags="-c -t --mode=validate",
        ),
    ),
    **alias_programs(
        "varnishadm",
        Program(
            EffectSpec(
                "sys.server", "*", "other", unless="status ping param.show backend.list ban.list", without_target=True
            )
        ),
    ),
    "certbot": Program(
        EffectSpec("cred.create", when="certonly run --nginx --apache --standalone --webroot", without_target=True),
        value_flags="-d --domains --cert-name -m --email -w",
        dry_run_flags="--dry-run",
        subcommands={
            "certificates": EffectSpec("sys.read"),
            "delete": EffectSpec("cred.delete", "--cert-name", "other", without_target=True),
            "revoke": EffectSpec("cred.delete", "--cert-name", "other", without_target=True),
            "renew": EffectSpec("cred.write"),
        },
    ),
    **alias_programs(
        "supervisorctl pm2 forever circusctl monit", Program(value_flags="-c --config -n --name -i", classify=_keeper)
    ),
    "supervisord": Program(_START),
    **alias_programs(
        "sv svc s6-svc runsvdir",
        Program(
            EffectSpec("sys.service.stop", when="down stop exit -d -x", without_target=True),
            EffectSpec("sys.service", when="up start restart -u -r", without_target=True),
        ),
    ),
}
