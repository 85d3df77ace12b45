"""Queues and brokers, web servers and proxies, process keepers."""

from collections.abc import Iterator

from verdikt.effects import verb
from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.storage import is_here
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target

_READ = Does("queue.read")
_WRITE = Does("queue.write", "*", "resource", bare=True)
_DELETE = Does("queue.delete", "*", "resource", bare=True)
_START = Does("sys.service", "*", "unit", bare=True)
_STOP = Does("sys.service.stop", "*", "unit", bare=True)
_OWN = Does("proc.exec")


def _kafka(call: Call) -> Iterator[Effect]:
    args = call.args
    broker = args.value("--bootstrap-server --zookeeper --broker-list -b")
    here = broker is not None and is_here(broker.text)
    topic = tuple(Target(word.shown, "resource") for word in args.all("--topic --group"))
    if args.has("--delete") or call.name.startswith("kafka-delete-records"):
        yield call.effect("queue.delete", topic, recoverable=True if here else None)
    elif (
        args.has("--create --alter --execute --reset-offsets --add-config --delete-config")
        or "producer" in call.name
        or "reassign" in call.name
    ):
        yield call.effect("queue.local" if here else "queue.write", topic)
    else:
        yield call.effect("queue.read")


_RABBIT_LOSES = words("reset force_reset purge_queue delete_queue delete_vhost forget_cluster_node delete purge")


def _rabbit(call: Call) -> Iterator[Effect]:
    name = call.args.operands[0].text if call.args.operands else ""
    target = tuple(Target(word.shown, "resource") for word in call.args.operands[1:])
    kind = verb.kind(name)
    if name in _RABBIT_LOSES:
        yield call.effect("queue.delete", target)
    elif kind == "delete":
        yield call.effect("queue.delete", target, recoverable=True)
    elif kind == "write" or name in ("stop_app", "start_app", "join_cluster", "add_user", "eval", "publish", "declare"):
        yield call.effect("queue.write", target)
    else:
        yield call.effect("queue.read")


def _by_verb(call: Call) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    _, kind = verb.find(path)
    target = (Target(" ".join(path[:4]), "resource"),)
    if kind == "delete":
        yield call.effect("queue.delete", target)
    elif kind == "write" or "pub" in path[:2] or "produce" in path[:2]:
        yield call.effect("queue.write", target)
    else:
        yield call.effect("queue.read")


def _celery(call: Call) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands]
    if "purge" in names or ("amqp" in names and "queue.purge" in names):
        yield call.effect("queue.delete", (Target("every waiting task", "resource"),))
    elif "call" in names or ("control" in names and not {"ping", "report", "stats"} & set(names)):
        yield call.effect("queue.write")
    else:
        yield call.effect("code.run")


def _nginx(call: Call) -> Iterator[Effect]:
    signal = call.args.value("-s")
    if signal is not None:
        yield call.effect(
            "sys.service.stop" if signal.text in ("stop", "quit") else "sys.server", (Target("nginx", "unit"),)
        )
    elif call.args.has("-t -T -v -V -h"):
        yield call.effect("sys.read")
    else:
        yield call.effect("sys.server", (Target("nginx", "unit"),))


def _keeper(call: Call) -> Iterator[Effect]:
    """supervisor, pm2: one program is ordinary, all of them are not."""
    names = [word.text for word in call.args.operands]
    name = names[0] if names else ""
    target = tuple(Target(word.shown, "unit") for word in call.args.operands[1:])
    everything = "all" in names[1:] or name in ("kill", "shutdown", "stop-all")
    if name in ("stop", "delete", "del", "kill", "shutdown", "remove", "reload", "update") and everything:
        yield call.effect("sys.service.stop", target)
    elif name in ("startup", "save", "unstartup") and call.name == "pm2":
        yield (
            call.effect("persist.unit", (Target("pm2", "unit"),), possible=True)
            if name == "startup"
            else call.effect("proc.exec")
        )
    elif call.name == "supervisorctl" and name in ("stop", "remove"):
        yield call.effect("sys.service.stop", target)
    else:
        yield call.effect("proc.exec")


_KAFKA = Program(
    values="--bootstrap-server --zookeeper --broker-list --topic --group --partitions --replication-factor --config --offset-json-file --command-config --consumer.config --to-offset --entity-type --entity-name -b -t",
    dry="--dry-run --verify",
    call=_kafka,
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
    **programs(_KAFKA_NAMES, _KAFKA),
    **programs(
        "kcat kafkacat", Program(Does("queue.write", "-t", "resource", when="-P"), _READ, values="-b -t -p -o -f -F -X")
    ),
    **programs(
        "rabbitmqctl rabbitmqadmin",
        Program(values="-n --node -p --vhost -q -H --host -P --port -u -V --username --password", call=_rabbit),
    ),
    **programs(
        "rabbitmq-plugins rabbitmq-diagnostics rabbitmq-queues",
        Program(Does("queue.write", when="enable disable grow shrink rebalance", bare=True), _READ),
    ),
    "nats": Program(
        values="-s --server --context --creds --user --password",
        subs={"sub": _READ, "stream ls": _READ, "stream info": _READ, "server check": _READ, "bench": _OWN},
        call=_by_verb,
    ),
    "celery": Program(
        values="-A --app -b --broker -l --loglevel -c --concurrency -Q --queues -n --hostname", call=_celery
    ),
    **programs(
        "pulsar-admin pulsarctl rpk kaf temporal tctl hermes nsqadmin emqx_ctl",
        Program(
            values="-b --brokers -X --admin-url -n --namespace -w --workflow-id --address",
            dry="--dry-run",
            subs={
                "cluster info": _READ,
                "topic consume": _READ,
                "topic produce": _WRITE,
                "server start-dev": _OWN,
                "container start": _OWN,
                "container purge": Does("container.remove"),
            },
            call=_by_verb,
        ),
    ),
    "mosquitto_pub": Program(_WRITE),
    "mosquitto_sub": Program(_READ),
    "rq": Program(
        _READ,
        values="-u --url",
        subs={
            "empty": Does("queue.delete", "*", "resource", recoverable=True),
            "worker": Does("code.run"),
            "requeue": _WRITE,
        },
    ),
    "airflow": Program(
        _READ,
        dry="--dry-run",
        subs={
            "db reset": Does("db.drop", "*", "database", bare=True),
            "db clean": Does("queue.delete", recoverable=True),
            "dags delete": Does("queue.delete", "*", "resource", recoverable=True),
            "dags trigger": _WRITE,
            "tasks run": _WRITE,
            "tasks clear": _WRITE,
            "dags test": Does("code.run"),
            "users create": Does("db.admin"),
            "users delete": Does("db.admin"),
            "connections get": Does("cred.read"),
            "connections export": Does("cred.read"),
            "variables get": _READ,
            "variables set": _WRITE,
            "variables delete": _WRITE,
            "pools delete": _WRITE,
            "db migrate": Does("db.schema"),
            "db init": Does("db.schema"),
        },
    ),
    # servers
    "nginx": Program(values="-s -c -p -g -e", call=_nginx),
    **programs(
        "apachectl apache2ctl httpd",
        Program(
            Does("sys.server", when="start restart graceful", bare=True),
            Does("sys.service.stop", when="stop graceful-stop", bare=True),
            dry="-t -S -V -v -M -l configtest",
            values="-k -f -D -c",
        ),
    ),
    **programs("a2ensite a2dissite a2enmod a2dismod", Program(Does("sys.server", "*", "unit", bare=True))),
    "caddy": Program(
        Does("sys.read"),
        values="--config --adapter --address --from --to",
        subs={
            "run": _OWN,
            "start": _OWN,
            "file-server": Does("net.listen"),
            "reverse-proxy": Does("net.listen"),
            "reload": Does("sys.server"),
            "stop": _STOP,
            "trust": Does("cred.write"),
            "untrust": Does("cred.write"),
            "fmt": Does("fs.write", "*"),
        },
    ),
    **programs(
        "haproxy traefik envoy lighttpd",
        Program(Does("sys.server", when="-sf -st -D", bare=True), values="-f -p", dry="-c -t --mode=validate"),
    ),
    **programs(
        "varnishadm",
        Program(Does("sys.server", "*", "other", unless="status ping param.show backend.list ban.list", bare=True)),
    ),
    "certbot": Program(
        Does("cred.create", when="certonly run --nginx --apache --standalone --webroot", bare=True),
        values="-d --domains --cert-name -m --email -w",
        dry="--dry-run",
        subs={
            "certificates": Does("sys.read"),
            "delete": Does("cred.delete", "--cert-name", "other", bare=True),
            "revoke": Does("cred.delete", "--cert-name", "other", bare=True),
            "renew": Does("cred.write"),
        },
    ),
    **programs("supervisorctl pm2 forever circusctl monit", Program(values="-c --config -n --name -i", call=_keeper)),
    "supervisord": Program(_START),
    **programs(
        "sv svc s6-svc runsvdir",
        Program(
            Does("sys.service.stop", when="down stop exit -d -x", bare=True),
            Does("sys.service", when="up start restart -u -r", bare=True),
        ),
    ),
}
