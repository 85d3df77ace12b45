"""Network programs, with the direction in which data goes: fetched or sent."""

from collections.abc import Iterator

from verdikt.effects import host
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.effects.service import request
from verdikt.model.effect import Effect, Target
from verdikt.model.regex import regex
from verdikt.shell.command import UNKNOWN, Word

SECRET_NAME = regex(
    r"(?i)(?:token|secret|passw|passwd|api_?key|private|credential|auth|session|cookie|aws_|_key\b|\bkeys?\b|_pat\b|bearer)"
)
_VARIABLE = regex(r"\$\{?([A-Za-z_]\w*)")


def secret_variable(word: Word) -> bool:
    """Whether a word holds a variable that is called like a secret."""
    return UNKNOWN in word.text and any(SECRET_NAME.search(name) for name in _VARIABLE.findall(word.raw))


def _curl(call: Call) -> Iterator[Effect]:
    args = call.args
    urls = [*args.all("--url"), *args.operands]
    hosts = tuple(host.target(word) for word in urls)
    local = bool(hosts) and all(host.is_local(target.text) for target in hosts)
    if urls and all(word.text.startswith("file://") for word in urls):
        yield from call.on("fs.read", [Word(word.text[7:]) for word in urls])
        return
    yield from metadata(call, hosts)
    sent = [
        word
        for word in args.all(
            "-d --data --data-binary --data-ascii --data-raw --data-urlencode --json -F --form --form-string"
        )
        if word
    ]
    files = [*args.all("-T --upload-file"), *_attached(sent)]
    for word in args.all("--data-urlencode"):
        # There a name may stand before the file's.
        head, at, name = word.text.partition("@")
        if at and head and "=" not in head and name:
            files.append(Word(name, word.raw))
    if files or sent:
        yield from _send(call, hosts, files, sent, local=local)
    elif call.reads_pipe() and args.has("-T --upload-file"):
        yield call.effect("net.send.file", hosts)
    else:
        yield call.effect("net.local" if local else "net.fetch", hosts)
    for word in urls:
        # What is put into an address is sent as well.
        if secret_variable(word) and not local:
            yield call.effect("cred.send", hosts, possible=True, note="a secret in the address")
    method = args.value("-X --request")
    if method is not None:
        yield from _asked(call, method.text, urls, " ".join(word.text for word in sent), local=local)
    elif sent:
        yield from _asked(call, "POST", urls, " ".join(word.text for word in sent), local=local)
    yield from call.on("fs.overwrite", args.all("-o --output"))
    if args.has("-O --remote-name"):
        name = urls[0].text.split("?")[0].rsplit("/", 1)[-1] if urls else ""
        yield from call.on("fs.overwrite", [Word(name or "download")])
    yield from call.on("fs.read", args.all("-K --config -b --cookie --netrc-file"), possible=True)


def metadata(call: Call, hosts: tuple[Target, ...]) -> Iterator[Effect]:
    """Whoever asks a cloud's machine about itself is given its credentials."""
    asked = tuple(target for target in hosts if host.is_metadata(target.text))
    if asked:
        yield call.effect("cred.read", asked, note="credentials of the machine")


def _asked(call: Call, method: str, urls: list[Word], body: str = "", *, local: bool) -> Iterator[Effect]:
    """What a request asks of the service behind an address."""
    for word in urls:
        found = request(method, word.text, body)
        if found is not None:
            what, single = found
            yield call.effect(what, (host.target(word),), recoverable=True if single else None)
        elif not local and (method.upper() == "DELETE" or (method.upper() == "POST" and _ENDS.search(word.text))):
            yield call.effect("net.delete", (host.target(word),), note="asks a server to delete")


_ENDS = regex(r"(?i)^[^?#]*/(?:do)?(?:delete|destroy|purge|wipe|terminate)(?:[-_]?all)?/?(?:[?#]|$)")
"""Addresses that say by their last word that something ends."""


def _httpie(call: Call) -> Iterator[Effect]:
    """`http DELETE host/path`: the method is a word."""
    operands = call.args.operands
    verb = operands[0].text.upper() if operands else ""
    given = verb in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")
    urls = operands[1:2] if given else operands[:1]
    items = [word for word in operands[2 if given else 1 :] if "=" in word.text or "@" in word.text]
    hosts = tuple(host.target(word) for word in urls)
    local = all(host.is_local(target.text) or target.text.startswith(":") for target in hosts)
    files = [Word(word.text.partition("@")[2], word.raw) for word in items if "@" in word.text.partition("=")[0]]
    yield from call.on("fs.read", files) if local else call.sent(files)
    yield call.effect(
        "net.local" if local else "net.send.file" if files else "net.send" if items else "net.fetch", hosts
    )
    yield from _asked(call, verb if given else "POST" if items else "GET", urls, local=local)


def _attached(sent: list[Word]) -> list[Word]:
    """The files behind `@` in data and forms: `-d @file`, `-F name=@file`, `-F name=<file`."""
    found = []
    for word in sent:
        text = word.text
        head, at, name = text.partition("@")
        if at and (not head or head.endswith("=")) and name:
            name = name.split(";")[0]
            found.append(Word(name, word.raw))
        elif "=<" in text:
            found.append(Word(text.partition("=<")[2], word.raw))
    return found


_TO_PEOPLE = regex(
    r"hooks\.slack\.com/|slack\.com/api/chat\.|discord(?:app)?\.com/api/webhooks/|api\.telegram\.org/bot|webhook\.office\.com/|outlook\.office\.com/webhook"
    r"|api\.twilio\.com/.*/Messages|api\.sendgrid\.com/v3/mail/send|api\.mailgun\.net/.*/messages|events\.pagerduty\.com/|ntfy\.sh/|api\.pushover\.net/"
)
"""Addresses behind which people read what comes."""


def _send(
    call: Call, hosts: tuple[Target, ...], files: list[Word], sent: list[Word], *, local: bool
) -> Iterator[Effect]:
    named = [word for word in files if word.text not in ("-", ".")]
    yield from call.on("fs.read", named)
    if local:
        yield call.effect("net.local", hosts)
        return
    yield call.effect("net.send.file" if files else "net.send", hosts)
    if not files and any(_TO_PEOPLE.search(word.text) for word in [*call.args.operands, *call.args.all("--url")]):
        yield call.effect("message.send", hosts)
    if any(map(secret_variable, sent)):
        yield call.effect("cred.send", hosts, possible=True, note="a secret from the environment")


def _wget(call: Call) -> Iterator[Effect]:
    args = call.args
    hosts = tuple(host.target(word) for word in args.operands)
    local = bool(hosts) and all(host.is_local(target.text) for target in hosts)
    yield from metadata(call, hosts)
    files, sent = args.all("--post-file --body-file"), args.all("--post-data --body-data")
    if files or sent:
        yield from _send(call, hosts, files, sent, local=local)
    else:
        yield call.effect("net.local" if local else "net.fetch", hosts)
    for word in args.operands:
        if secret_variable(word) and not local:
            yield call.effect("cred.send", hosts, possible=True, note="a secret in the address")
    output = [word for word in args.all("-O --output-document") if word.text != "-"]
    yield from call.on("fs.overwrite", output)
    yield from call.on("fs.write", args.all("-P --directory-prefix"))
    yield from call.on("fs.read", args.all("-i --input-file"))
    if (program := args.value("--use-askpass")) is not None:
        yield from call.shell(program.text)


def _ssh(call: Call) -> Iterator[Effect]:
    args = call.args
    hosts = tuple(host.target(word) for word in args.operands[:1])
    for option in args.all("-o"):
        key, _, value = option.text.partition("=" if "=" in option.text else " ")
        if key.lower() in ("proxycommand", "localcommand", "knownhostscommand", "match"):
            yield from call.shell(value)
    if args.has("-R"):
        yield call.effect("net.tunnel", hosts, note="lets the other machine reach this one")
    elif args.has("-g") or any(word.text.startswith(("0.0.0.0:", "*:", ":", "[::]:")) for word in args.all("-L")):
        yield call.effect("net.tunnel", hosts, note="lets others come in through this machine")
    elif args.has("-D -w"):
        yield call.effect("net.tunnel", hosts, note="sends traffic through the other machine")
    if call.reads_pipe() and not host.is_local(hosts[0].text if hosts else ""):
        yield call.effect("net.send", hosts)
    else:
        yield call.effect("net.connect", hosts)


def _copy(call: Call) -> Iterator[Effect]:
    """`scp`, `rsync`, `rcp`: the last operand says which way."""
    args, operands = call.args, call.args.operands
    if len(operands) < 2:
        yield call.effect("net.connect", tuple(host.target(word) for word in operands))
        return
    sources, last = operands[:-1], operands[-1]
    far = [word for word in sources if host.is_remote_path(word.text)]
    near = [word for word in sources if not host.is_remote_path(word.text)]
    out = host.is_remote_path(last.text)
    if call.name == "rsync" and (command := args.value("-e --rsh --rsync-path")) is not None:
        yield from call.shell(command.text)
    yield from call.on("fs.read", near)
    if far:
        yield call.effect("net.fetch", tuple(Target(_machine(word), "host") for word in far))
    if out:
        yield call.effect("net.send.file", (Target(_machine(last), "host"),))
        if call.name == "rsync" and args.has(
            "--delete --delete-before --delete-during --delete-after --delete-excluded --del"
        ):
            yield call.effect("fs.delete.tree", (Target(last.shown, "resource"),), note="deletes what is missing here")
    else:
        yield from call.on("fs.overwrite" if not last.text.endswith("/") else "fs.write", [last])
        if call.name == "rsync" and args.has(
            "--delete --delete-before --delete-during --delete-after --delete-excluded --del"
        ):
            yield from call.on("fs.delete.tree", [last], note="deletes what the source does not have")
    if args.has("--remove-source-files"):
        yield from call.on("fs.delete", near)


def _machine(word: Word) -> str:
    text = word.text.replace(UNKNOWN, "…")
    if "://" in text:
        return host.host(text)
    return text.split(":", 1)[0].rpartition("@")[2]


def _netcat(call: Call) -> Iterator[Effect]:
    args = call.args
    hosts = tuple(host.target(word) for word in args.operands[:1])
    if args.has("-e -c --exec --sh-exec --lua-exec") and not (call.name == "nc" and args.has("-z")):
        command = args.value("-e -c --exec --sh-exec")
        yield call.effect(
            "net.shell", hosts, note=f"gives {command.shown if command else 'a program'} to the other side"
        )
        return
    if args.has("-l --listen"):
        yield call.effect("net.listen", hosts)
        return
    if args.has("-z"):
        yield call.effect("net.scan" if "-" in "".join(w.text for w in args.operands[1:]) else "net.connect", hosts)
        return
    local = bool(hosts) and host.is_local(hosts[0].text)
    yield from _stream(call, hosts, local=local)


def _stream(call: Call, hosts: tuple[Target, ...], *, local: bool) -> Iterator[Effect]:
    """A raw connection: what comes in through the pipe goes out over it."""
    if local:
        yield call.effect("net.local", hosts)
    elif any(r.op == "<" and not r.target.text.startswith("/dev/") for r in call.command.redirects):
        yield call.effect("net.send.file", hosts)
    elif call.reads_pipe() or any(r.op in ("<<", "<<<") for r in call.command.redirects):
        yield call.effect("net.send", hosts)
    else:
        yield call.effect("net.connect", hosts)


_FILE_WRITTEN = regex(r"creat|wronly|trunc|append")


def _socat(call: Call) -> Iterator[Effect]:
    texts = [word.text for word in call.args.operands]
    joined = " ".join(texts).lower()
    far = tuple(
        Target(text.split(":")[1], "host")
        for text in texts
        if text.lower().startswith(("tcp", "udp", "openssl", "ssl")) and ":" in text
    )
    runs = any(text.lower().startswith(("exec:", "system:", "shell:")) for text in texts)
    listens = "listen:" in joined or "-l:" in joined
    if runs and (far or listens):
        yield call.effect("net.shell", far)
    elif listens:
        yield call.effect("net.listen")
    else:
        yield call.effect("net.connect", far)
    for text in texts:
        kind, _, rest = text.partition(":")
        if kind.lower() in ("exec", "system", "shell"):
            yield from call.shell(rest.split(",")[0].strip("'\""))
        elif kind.lower() in ("open", "create", "file", "gopen"):
            reads = kind.lower() != "create" and not _FILE_WRITTEN.search(rest) and text == texts[0]
            yield from call.on("fs.read" if reads else "fs.overwrite", [Word(rest.split(",")[0])])


def _openssl(call: Call) -> Iterator[Effect]:
    args = call.args
    verb = args.operands[0].text if args.operands else ""
    if verb == "s_client":
        connect = args.value("-connect")
        hosts = tuple(host.target(word) for word in [connect] if word is not None)
        local = bool(hosts) and host.is_local(hosts[0].text)
        yield from _stream(call, hosts, local=local)
    elif verb == "s_server":
        yield call.effect("net.listen")
    else:
        yield from call.on(
            "fs.read",
            args.all("-in -key -inkey -CAkey -signkey -keyin")
            if verb not in ("x509", "req", "verify")
            else args.all("-in"),
            possible=True,
        )
        yield from call.on("fs.overwrite", args.all("-out -keyout"))


def _telnet(call: Call) -> Iterator[Effect]:
    hosts = tuple(host.target(word) for word in call.args.operands[:1])
    yield from _stream(call, hosts, local=bool(hosts) and host.is_local(hosts[0].text))


def _socket(call: Call) -> Iterator[Effect]:
    hosts = tuple(host.target(word) for word in call.args.operands[:1])
    if call.args.has("-p"):
        yield call.effect("net.shell", hosts)
    else:
        yield call.effect("net.listen" if call.args.has("-s") else "net.connect", hosts)


def _ftp(call: Call) -> Iterator[Effect]:
    hosts = tuple(host.target(word) for word in call.args.operands[:1])
    given = " ".join(w.text for w in (*call.args.all("-c -e -b"), *call.args.operands[1:]))
    text = f"{call.command.stdin or ''}\n{given}"
    puts = _PUTS.findall(text)
    yield call.effect("net.send.file" if puts or "mirror -R" in given else "net.connect", hosts)
    yield from call.sent([Word(name, name) for name in puts])


_PUTS = regex(r"(?im)(?:^|[;\n ])\s*(?:put|mput|send|append)\s+(?:-\w+\s+)*([^\s;]+)")


def _given_away(call: Call) -> Iterator[Effect]:
    """`croc send x`, `wormhole send x`, `pastebinit x`: a file for whoever has the word or the address."""
    operands = call.args.operands
    if operands and operands[0].text in ("receive", "recv", "relay", "help"):
        yield call.effect("net.fetch")
        return
    names = operands[1:] if operands and operands[0].text in ("send", "upload", "put", "ssh", "share") else operands
    yield call.effect("net.send.file")
    yield from call.sent(names)


def _smb(call: Call) -> Iterator[Effect]:
    hosts = tuple(Target(word.shown, "host") for word in call.args.operands[:1])
    puts = _PUTS.findall(" ".join(w.text for w in call.args.all("-c --command")))
    yield call.effect("net.send.file" if puts else "net.connect", hosts)
    yield from call.sent([Word(name, name) for name in puts])


def _logger(call: Call) -> Iterator[Effect]:
    """A line in the log; with a server and a file, the file goes there."""
    files, server = call.args.all("-f --file"), call.args.all("-n --server")
    yield from call.on("fs.read", files)
    if server:
        yield call.effect("net.send.file" if files else "net.send", tuple(host.target(word) for word in server))
    else:
        yield call.effect("sys.read")


def _dns(call: Call) -> Iterator[Effect]:
    """A lookup carries its name to whoever answers for it."""
    hosts = tuple(Target(word.shown, "host") for word in call.args.operands if not word.text.startswith("+"))
    yield call.effect("net.lookup", hosts)


_CURL_VALUES = (
    "-X --request -d --data --data-binary --data-ascii --data-raw --data-urlencode --json -F --form --form-string -T --upload-file -o --output -H --header -u --user "
    "-A --user-agent -e --referer -b --cookie -c --cookie-jar -K --config -x --proxy -m --max-time --connect-timeout --retry --retry-delay --resolve -w --write-out -E --cert --key "
    "--cacert --capath -r --range -z --time-cond --url -Y -y -C --continue-at -D --dump-header --limit-rate --max-redirs --interface --ciphers -U --proxy-user --netrc-file --socks5 --noproxy --unix-socket --output-dir -t --dns-servers --retry-max-time"
)
_WGET_VALUES = "-O --output-document -P --directory-prefix -i --input-file --post-data --post-file --body-data --body-file --method --header -U --user-agent -o --output-file -a -t --tries -T --timeout -w --wait -A -R -D -e --user --password --limit-rate -l --level --use-askpass -Q"
_SSH_VALUES = "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B"

PROGRAMS: dict[str, Program] = {
    "curl": Program(call=_curl, values=_CURL_VALUES),
    "wget": Program(call=_wget, values=_WGET_VALUES, dry="--spider"),
    "wget2": Program(call=_wget, values=_WGET_VALUES, dry="--spider"),
    **programs("http https xh httpie", Program(call=_httpie, values="-a --auth -o --output --session --verify --timeout -A")),
    **programs("aria2c axel", Program(Does("net.fetch"), Does("fs.overwrite", "-o --out"), Does("fs.write", "-d --dir"), values="-o --out -d --dir -x -s -j -i")),
    **programs("ssh autossh mosh slogin", Program(call=_ssh, values=_SSH_VALUES)),
    **programs("scp rcp", Program(call=_copy, values="-c -F -i -J -l -o -P -S -D -X")),
    "rsync": Program(
        call=_copy,
        values="-e --rsh -f --filter --exclude --include --exclude-from --include-from --files-from -T --temp-dir --backup-dir --suffix --bwlimit --port --password-file --rsync-path --log-file --chmod --chown --timeout -B --max-size --min-size --link-dest --compare-dest --copy-dest",
        dry="-n --dry-run --list-only",
    ),
    **programs("nc ncat netcat nc.traditional nc.openbsd", Program(call=_netcat, values="-e -c --exec --sh-exec -p --source-port -s --source -w --wait -i -q -x -X -o -g -G -I -O -T -P -m")),
    "socat": Program(call=_socat),
    "openssl": Program(call=_openssl, values="-connect -in -out -key -inkey -keyout -CAkey -signkey -keyin -days -subj -passin -passout -pass -k -K -iv -config -extensions -newkey -host -port -servername -cert -CA -CAfile -addext -inform -outform -md -iter -S -proxy", single=True),
    **programs("telnet rlogin rsh tn3270", Program(call=_telnet, values="-l -n -e -b")),
    "socket": Program(call=_socket),
    **programs("ftp lftp sftp ncftp tftp ncftpput", Program(call=_ftp, values="-c -e -b -u -P -p -i -o -F")),
    **programs("dig nslookup host drill kdig delv whois", Program(call=_dns, values="-t -p -c -k -y -x")),
    **programs("ping ping6 traceroute traceroute6 tracepath mtr arping fping", Program(Does("net.connect", "*", "host"), values="-c -i -W -w -s -t -I -m -p -Q -S")),
    **programs("nmap masscan zmap rustscan nikto sqlmap gobuster ffuf hydra wfuzz dirb nuclei", Program(Does("net.scan", "*", "host", bare=True))),
    **programs("hping3 slowhttptest ab siege wrk hey vegeta locust k6 loadtest", Program(Does("net.connect", "*", "host", bare=True))),
    **programs("ngrok cloudflared localtunnel lt bore frpc chisel tailscale zerotier-cli pagekite serveo gost ligolo sshuttle tmate teleconsole gsocket gs-netcat", Program(Does("net.tunnel", "*", "other", bare=True, unless="version status list help ip --help netcheck"))),
    **programs("tcpdump tshark wireshark dumpcap ettercap", Program(Does("net.scan", note="listens to the network's traffic", unless="-r --read-file"), Does("fs.read", "-r --read-file"), Does("fs.overwrite", "-w"), values="-i -w -r -c -s -n -f")),
    **programs("croc wormhole wormhole-william pastebinit wgetpaste transfer transfersh ffsend termbin gist haste sprunge ix bashupload", Program(call=_given_away, values="--code -c --relay --pass -t -a -b -d -f")),
    "smbclient": Program(call=_smb, values="-c --command -U -W -I -p -D -A"),
    "logger": Program(call=_logger, values="-f --file -n --server -p -t -P --port --priority --tag"),
    **programs("mail mailx sendmail mutt swaks msmtp ssmtp", Program(Does("message.send", "*", "host", bare=True), Does("fs.read", "-a -A"), values="-s -a -A -c -b -r -S -f")),
}  # fmt: skip
