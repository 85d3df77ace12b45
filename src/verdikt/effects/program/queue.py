"""Queues and brokers, web servers and proxies, process keepers."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.arguments import word_set
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.storage import is_here
from verdikt.model.effect import Effect, Target


def classify_kafka(call: Invocation) -> Iterator[Effect]:
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


def classify_rabbit(call: Invocation) -> Iterator[Effect]:
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


def classify_by_verb(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    _, kind = command_verbs.find_verb(path)
    target = (Target(" ".join(path[:4]), "resource"),)
    if kind == "delete":
        yield call.make_effect("queue.delete", target)
    elif kind == "write" or "pub" in path[:2] or "produce" in path[:2]:
        yield call.make_effect("queue.write", target)
    else:
        yield call.make_effect("queue.read")


def classify_celery(call: Invocation) -> Iterator[Effect]:
    names = [word.text for word in call.args.operands]
    if "purge" in names or ("amqp" in names and "queue.purge" in names):
        yield call.make_effect("queue.delete", (Target("every waiting task", "resource"),))
    elif "call" in names or ("control" in names and not {"ping", "report", "stats"} & set(names)):
        yield call.make_effect("queue.write")
    else:
        yield call.make_effect("code.run")


def classify_nginx(call: Invocation) -> Iterator[Effect]:
    signal = call.args.get_value("-s")
    if signal is not None:
        yield call.make_effect(
            "sys.service.stop" if signal.text in ("stop", "quit") else "sys.server", (Target("nginx", "unit"),)
        )
    elif call.args.has_flag("-t -T -v -V -h"):
        yield call.make_effect("sys.read")
    else:
        yield call.make_effect("sys.server", (Target("nginx", "unit"),))


def classify_keeper(call: Invocation) -> Iterator[Effect]:
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
