"""Network programs, with the direction in which data goes: fetched or sent."""

import re
from collections.abc import Iterator, Sequence

from verdikt.effects import host
from verdikt.effects.arguments import word_set
from verdikt.effects.code import quote_shell_word
from verdikt.effects.file_address import read_file_address
from verdikt.effects.http_services import classify_request
from verdikt.effects.invocation import Invocation
from verdikt.effects.word_kinds import has_secret_variable
from verdikt.model.effect import Effect, Target
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

_MAX_ADDRESSES = 20


def classify_curl(call: Invocation) -> Iterator[Effect]:
    args = call.args
    urls = [*args.get_values("--url"), *args.operands]
    hosts = tuple(host.to_host_target(word) for word in urls)
    local = bool(hosts) and all(host.is_local_host(target.text) for target in hosts)
    file_paths = [read_file_address(word.text) for word in urls]
    local_files = [Word(path) for paths in file_paths for path in paths]
    yield from call.make_effects("fs.read", local_files)
    if file_paths and all(file_paths):
        yield from _classify_local_copy(call, local_files)
        return
    yield from metadata(call, hosts)
    sent = [
        word
        for word in args.get_values(
            "-d --data --data-binary --data-ascii --data-raw --data-urlencode --json -F --form --form-string"
        )
        if word
    ]
    files = [*args.get_values("-T --upload-file"), *_find_attached_files(sent)]
    for word in args.get_values("--data-urlencode"):
        # There a name may stand before the file's.
        head, at, name = word.text.partition("@")
        if at and head and "=" not in head and name:
            files.append(Word(name, word.raw))
    if files or sent:
        yield from _send(call, hosts, files, sent, local=local)
    elif call.has_piped_input() and args.has_flag("-T --upload-file"):
        yield call.make_effect("net.send.file", hosts)
    else:
        yield call.make_effect("net.local" if local else "net.fetch", hosts)
    for word in urls:
        # What is put into an address is sent as well.
        if has_secret_variable(word) and not local:
            yield call.make_effect("cred.send", hosts, possible=True, note="a secret in the address")
    method = args.get_value("-X --request")
    if method is not None:
        yield from classify_service_request(call, method.text, urls, " ".join(word.text for word in sent), local=local)
    elif sent:
        yield from classify_service_request(call, "POST", urls, " ".join(word.text for word in sent), local=local)
    yield from call.make_effects("fs.overwrite", args.get_values("-o --output"))
    if args.has_flag("-O --remote-name"):
        name = urls[0].text.split("?")[0].rsplit("/", 1)[-1] if urls else ""
        yield from call.make_effects("fs.overwrite", [Word(name or "download")])
    yield from call.make_effects("fs.read", args.get_values("-K --config -b --cookie --netrc-file"), possible=True)
    for word in args.get_values("-K --config"):
        yield from _classify_curl_settings(call, word)


def _classify_local_copy(call: Invocation, files: list[Word]) -> Iterator[Effect]:
    """Classify what curl writes when all its addresses are files: the file that it is told, or these."""
    yield from call.make_effects("fs.overwrite", call.args.get_values("-o --output"))
    if uploads := call.args.get_values("-T --upload-file"):
        yield from call.make_effects("fs.read", uploads)
        yield from call.make_effects("fs.overwrite", files)


_CURL_SETTING = compile_lazily(r"""(?m)^\s*-{0,2}([a-zA-Z][\w-]*)(?:\s*[=:]\s*|[ \t]+)?(?:"([^"\n]*)"|([^#\n]*))$""")


def _classify_curl_settings(call: Invocation, word: Word) -> Iterator[Effect]:
    """Classify what a file of settings adds to a request: each line is an option of the command line."""
    text = call.facts.text(call.resolver.to_absolute(word.text, call.command.cwd)) if word.is_known else None
    options = [
        f"--{name} {quote_shell_word(quoted or plain.strip())}" if quoted or plain.strip() else f"--{name}"
        for name, quoted, plain in _CURL_SETTING.findall(text or "")
        if name not in ("config", "K")
    ]
    if options:
        yield from call.classify_shell(" ".join(["curl", *options]))


def metadata(call: Invocation, hosts: tuple[Target, ...]) -> Iterator[Effect]:
    """Yield `cred.read` for requests to a cloud's metadata service, which hands out credentials."""
    asked = tuple(target for target in hosts if host.is_metadata_host(target.text))
    if asked:
        yield call.make_effect("cred.read", asked, note="credentials of the machine")


def classify_service_request(
    call: Invocation, method: str, urls: Sequence[Word], body: str = "", *, local: bool
) -> Iterator[Effect]:
    """Yield what a request asks of the service behind an address."""
    for word in urls:
        found = classify_request(method, word.text, body)
        if found is not None:
            what, single = found
            yield call.make_effect(what, (host.to_host_target(word),), recoverable=True if single else None)
        elif not local and (method.upper() == "DELETE" or (method.upper() == "POST" and _ENDS.search(word.text))):
            yield call.make_effect("net.delete", (host.to_host_target(word),), note="asks a server to delete")


_ENDS = compile_lazily(r"(?i)^[^?#]*/(?:do)?(?:delete|destroy|purge|wipe|terminate)(?:[-_]?all)?/?(?:[?#]|$)")
"""Addresses that say by their last word that something ends."""


# `field@file` uploads a file, `field=@file` and `field:=@file.json` send its text.
_HTTPIE_FILE = compile_lazily(r"[^=@]*(?::?=)?@(.+)")


def classify_httpie(call: Invocation) -> Iterator[Effect]:
    """`http DELETE host/path`: the method is a word."""
    operands = call.args.operands
    verb = operands[0].text.upper() if operands else ""
    given = verb in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    urls = operands[1:2] if given else operands[:1]
    items = [word for word in operands[2 if given else 1 :] if "=" in word.text or "@" in word.text]
    hosts = tuple(host.to_host_target(word) for word in urls)
    local = all(host.is_local_host(target.text) or target.text.startswith(":") for target in hosts)
    files = [Word(match[1], word.raw) for word in items if (match := _HTTPIE_FILE.match(word.text))]
    yield from call.make_effects("fs.read", files) if local else call.classify_sent_files(files)
    yield call.make_effect(
        "net.local" if local else "net.send.file" if files else "net.send" if items else "net.fetch", hosts
    )
    yield from call.make_effects("fs.overwrite", call.args.get_values("-o --output"))
    yield from classify_service_request(call, verb if given else "POST" if items else "GET", urls, local=local)


def _find_attached_files(sent: list[Word]) -> list[Word]:
    """Return the files behind `@` in data and forms: `-d @file`, `-F name=@file`, `-F name=<file`."""
    found = []
    for word in sent:
        text = word.text
        head, at, name = text.partition("@")
        if at and (not head or head.endswith("=")) and name:
            # A form takes several files at once: `files=@a,b`.
            names = name.split(";")[0].split(",") if head else [name]
            found += [Word(name, word.raw) for name in names if name]
        elif "=<" in text:
            found.append(Word(text.partition("=<")[2], word.raw))
    return found


_TO_PEOPLE = compile_lazily(
    r"hooks\.slack\.com/|slack\.com/api/chat\.|discord(?:app)?\.com/api/webhooks/|api\.telegram\.org/bot"
    r"|webhook\.office\.com/|outlook\.office\.com/webhook"
    r"|api\.twilio\.com/.*/Messages|api\.sendgrid\.com/v3/mail/send|api\.mailgun\.net/.*/messages"
    r"|events\.pagerduty\.com/|ntfy\.sh/|api\.pushover\.net/"
)
"""Addresses behind which people read what comes."""


def _send(
    call: Invocation, hosts: tuple[Target, ...], files: list[Word], sent: list[Word], *, local: bool
) -> Iterator[Effect]:
    named = [word for word in files if word.text not in ("-", ".")]
    yield from call.make_effects("fs.read", named)
    if local:
        yield call.make_effect("net.local", hosts)
        return
    yield call.make_effect("net.send.file" if files else "net.send", hosts)
    if not files and any(
        _TO_PEOPLE.search(word.text) for word in [*call.args.operands, *call.args.get_values("--url")]
    ):
        yield call.make_effect("message.send", hosts)
    if any(map(has_secret_variable, sent)):
        yield call.make_effect("cred.send", hosts, possible=True, note="a secret from the environment")


def _read_addresses(call: Invocation) -> list[Word]:
    """Return the addresses in the files that a downloader is told to read them from."""
    texts = [call.facts.text(call.resolve_path(word).path) for word in call.args.get_values("-i --input-file")]
    return [Word(line.strip()) for text in texts if text for line in text.split("\n")[:_MAX_ADDRESSES] if "://" in line]


def classify_wget(call: Invocation) -> Iterator[Effect]:
    args = call.args
    hosts = tuple(host.to_host_target(word) for word in [*args.operands, *_read_addresses(call)])
    local = bool(hosts) and all(host.is_local_host(target.text) for target in hosts)
    yield from metadata(call, hosts)
    files, sent = args.get_values("--post-file --body-file"), args.get_values("--post-data --body-data")
    # `-e post_file=x` is `--post-file=x`.
    settings = [word.text.replace("_", "-").partition("=") for word in args.get_values("-e --execute")]
    files += [Word(value.strip()) for name, _, value in settings if name.strip() in ("post-file", "body-file")]
    if files or sent:
        yield from _send(call, hosts, files, sent, local=local)
    else:
        yield call.make_effect("net.local" if local else "net.fetch", hosts)
    for word in args.operands:
        if has_secret_variable(word) and not local:
            yield call.make_effect("cred.send", hosts, possible=True, note="a secret in the address")
    output = [word for word in args.get_values("-O --output-document") if word.text != "-"]
    yield from call.make_effects("fs.overwrite", output)
    yield from call.make_effects("fs.write", args.get_values("-P --directory-prefix"))
    yield from call.make_effects("fs.read", args.get_values("-i --input-file"))


def classify_copy(call: Invocation) -> Iterator[Effect]:
    """`scp`, `rsync`, `rcp`: the last operand says which way."""
    args, operands = call.args, call.args.operands
    if len(operands) < 2:
        yield call.make_effect("net.connect", tuple(host.to_host_target(word) for word in operands))
        return
    sources, last = operands[:-1], operands[-1]
    far = [word for word in sources if host.is_remote_path(word.text)]
    near = [word for word in sources if not host.is_remote_path(word.text)]
    out = host.is_remote_path(last.text)
    yield from call.make_effects("fs.read", near)
    if far:
        yield call.make_effect("net.fetch", tuple(Target(_machine(word), "host") for word in far))
    deletes = call.name == "rsync" and args.has_flag(
        "--delete --delete-before --delete-during --delete-after --delete-excluded --del"
    )
    if out:
        yield call.make_effect("net.send.file", (Target(_machine(last), "host"),))
        if deletes:
            yield call.make_effect(
                "fs.delete.tree", (Target(last.display_text, "resource"),), note="deletes what is missing here"
            )
    else:
        yield from call.make_effects("fs.overwrite" if not last.text.endswith("/") else "fs.write", [last])
        if deletes:
            yield from call.make_effects("fs.delete.tree", [last], note="deletes what the source does not have")
    if args.has_flag("--remove-source-files"):
        yield from call.make_effects("fs.delete", near)


def _machine(word: Word) -> str:
    text = word.text.replace(UNKNOWN, "…")
    if "://" in text:
        return host.parse_host(text)
    return text.split(":", 1)[0].rpartition("@")[2]


_FILE_WRITTEN = compile_lazily(r"creat|wronly|trunc|append")
_RUNNING_ADDRESSES = frozenset(("exec", "system", "shell"))
_LOCAL_ADDRESSES = _RUNNING_ADDRESSES | word_set(
    "- stdio stdin stdout stderr fd file open create creat gopen pipe fifo pty readline socketpair"
)
_LOCAL_PREFIXES = ("unix", "abstract", "/", ".", "~")
_BOUND_OPENLY = compile_lazily(r"(?i)\bbind=(?:0\.0\.0\.0|\[?::\]?(?:,|$)|\*)")
_BOUND_LOCALLY = compile_lazily(r"(?i)\bbind=(?:localhost|127\.|\[?::1)|listen:(?:localhost|127\.)|^unix")


def classify_socat(call: Invocation) -> Iterator[Effect]:
    texts = [word.text for word in call.args.operands]
    kinds = [re.split("[:,]", text.lower(), maxsplit=1)[0] for text in texts]
    # A proxy, a virtual machine's socket, an interface: whatever is not of this machine leads to another one.
    far_addresses = [
        text
        for text, kind in zip(texts, kinds, strict=True)
        if kind not in _LOCAL_ADDRESSES and not kind.startswith(_LOCAL_PREFIXES)
    ]
    far = tuple(Target(text.split(":")[1], "host") for text in far_addresses if ":" in text)
    runs = not _RUNNING_ADDRESSES.isdisjoint(kinds)
    listens = any("listen" in kind or kind.endswith("-l") for kind in kinds)
    if runs and far_addresses:
        yield call.make_effect("net.shell", far)
    elif listens:
        yield call.make_effect("net.listen")
        is_open = any(_BOUND_OPENLY.search(text) for text in texts)
        if len(far) > 1 and (is_open or not (host.is_local_host(far[-1].text) or _BOUND_LOCALLY.search(texts[0]))):
            yield call.make_effect("net.tunnel", far[1:], note="lets others come in through this machine")
    else:
        yield call.make_effect("net.connect", far)
    for text in texts:
        kind, _, rest = text.partition(":")
        if kind.lower() in _RUNNING_ADDRESSES:
            yield from call.classify_shell(rest.split(",")[0].strip("'\""))
        elif kind.lower() in ("open", "create", "file", "gopen"):
            reads = kind.lower() != "create" and not _FILE_WRITTEN.search(rest) and text == texts[0]
            yield from call.make_effects("fs.read" if reads else "fs.overwrite", [Word(rest.split(",")[0])])


_PUTS = compile_lazily(r"(?im)(?:^|[;\n ])\s*(?:put|mput|send|append)\s+(?:-\w+\s+)*([^\s;]+)")
_REMOVALS = compile_lazily(
    r"(?im)(?:^|[;\n ])\s*(?:(?:glob\s+)?(?:rm|mrm|mdelete|delete|rmdir)\s+(?:-\w+\s+)*([^\s;]+)|mirror\s[^;\n]*--delete\b)"
)
"""What has a client delete on the server: the path, empty for whatever is missing here."""
_SEVERAL = compile_lazily(r"\s-\w*r|[*?]|mirror")


def classify_transfer(call: Invocation) -> Iterator[Effect]:
    """Yield the effects of a client for files by the commands that it is given: in options, as words, as input."""
    args = call.args
    hosts = tuple(host.to_host_target(word) for word in args.operands[:1])
    commands = " ".join(word.text for word in (*args.get_values("-c -e -b --command"), *args.operands[1:]))
    if len(args.operands) > 1 and host.is_remote_path(args.operands[0].text):
        yield from classify_copy(call)
    orders = f"{call.command.stdin or ''}\n{commands}"
    for order in _REMOVALS.finditer(orders):
        target = Target(order[1] or "files on the server", "resource")
        yield call.make_effect("cloud.delete", (target,), possible=_SEVERAL.search(order[0]) is None)
    names = _PUTS.findall(orders)
    yield call.make_effect("net.send.file" if names or "mirror -R" in commands else "net.connect", hosts)
    yield from call.classify_sent_files([Word(name, name) for name in names])
