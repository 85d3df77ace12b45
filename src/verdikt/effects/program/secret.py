"""Keepers of secrets: what shows one, what changes or destroys one, and what only looks at names."""

from collections.abc import Iterator

from verdikt.effects import verb
from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.regex import regex

_SHOW = Does("cred.read", "*", "other", bare=True)
_SET = Does("cred.write", "*", "other", bare=True)
_NEW = Does("cred.create", "*", "other", bare=True)
_GONE = Does("cred.destroy", "*", "other", bare=True)
_DROP = Does("cred.delete", "*", "other", bare=True)
_READ = Does("keys.list")


def _gpg(call: Call) -> Iterator[Effect]:
    args = call.args
    keys = tuple(Target(word.shown, "other") for word in args.operands)
    if args.has("--export-secret-keys --export-secret-subkeys --export-ssh-key"):
        yield call.effect("cred.read", keys, note="a secret key")
    elif args.has(
        "--delete-secret-keys --delete-secret-key --delete-secret-and-public-key --delete-secret-and-public-keys"
    ):
        yield call.effect("cred.destroy", keys, note="a secret key")
    elif args.has("--delete-keys --delete-key"):
        yield call.effect("cred.delete", keys)
    elif args.has("-d --decrypt --decrypt-files"):
        yield call.effect("cred.read", keys, note="opens what was closed")
    else:
        yield call.effect("keys.list")


def _ssh_keygen(call: Call) -> Iterator[Effect]:
    args = call.args
    file = args.value("-f")
    if args.has("-l -R -F -H -B -Y -L -Q"):
        yield call.effect("keys.list")
    elif args.has("-y"):
        yield call.effect("keys.list", note="the public half")
    elif args.has("-p -c -s -A -k"):
        yield call.effect("cred.write", (call.path(file),) if file is not None else ())
    elif file is None:
        yield call.effect("cred.create", (Target("~/.ssh"),), note="a key where the user's own lie")
    else:
        target = call.path(file, look=True)
        outside = target.zone not in (Zone.PROJECT, Zone.TEMP) and not (
            target.zone is Zone.SECRET and _inside(call, target)
        )
        yield call.effect("cred.create" if outside else "fs.write", (target,))


def _inside(call: Call, target: Target) -> bool:
    """Whether a path lies in the project or among temporary files, whatever its name says."""
    root = call.resolver.root
    return bool(root and target.path.startswith(root + "/")) or target.path.startswith(("/tmp/", "/var/tmp/"))


def _ssh_add(call: Call) -> Iterator[Effect]:
    args = call.args
    if args.has("-D -d"):
        yield call.effect("cred.delete", (Target("keys of this session", "other"),), recoverable=True)
    else:
        yield call.effect("keys.list")


def _ssh_copy_id(call: Call) -> Iterator[Effect]:
    yield call.effect(
        "persist.write",
        tuple(Target(word.shown, "host") for word in call.args.operands),
        note="a key that opens another machine",
    )


def _keeper(call: Call) -> Iterator[Effect]:
    """A keeper that no table knows in detail, by its verbs: to get is to show."""
    path = [word.text for word in call.args.operands]
    _, kind = verb.find(path)
    pieces = {piece for word in path[:4] for piece in verb.tokens(word)}
    targets = (Target(" ".join(path[:3]), "other"),)
    if kind == "delete":
        yield call.effect("cred.destroy", targets)
    elif kind == "write":
        yield call.effect("cred.create" if "token" in pieces else "cred.write", targets)
    elif pieces & {"get", "show", "read", "view", "export", "download", "dump", "fetch", "reveal", "password", "cat"}:
        yield call.effect("cred.read", targets)
    else:
        yield call.effect("keys.list")


_VAULT_KV = {
    "get": "cred.read",
    "delete": "cred.delete",
    "destroy": "cred.destroy",
    "metadata delete": "cred.destroy",
    "put": "cred.write",
    "patch": "cred.write",
    "rollback": "cred.write",
    "undelete": "cred.write",
    "enable-versioning": "cred.write",
    "metadata put": "cred.write",
}
_VAULT = {
    "read": "cred.read",
    "unwrap": "cred.read",
    "print": "cred.read",
    "delete": "cred.destroy",
    "secrets disable": "cred.destroy",
    "secrets move": "cred.destroy",
    "auth disable": "cred.destroy",
    "namespace delete": "cred.destroy",
    "audit disable": "sys.security",
    "token create": "cred.create",
}
_VAULT_GROUPS = words("write login policy auth audit token operator secrets lease namespace plugin")
_VAULT_LOOK = words("list lookup capabilities read status members help")


def _vault(call: Call) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    first, second, third = [*path, "", "", ""][:3]
    targets = tuple(Target(word.shown, "other") for word in call.args.operands[1:])
    if first == "kv":
        what = _VAULT_KV.get(f"{second} {third}") or _VAULT_KV.get(second, "keys.list")
    else:
        what = _VAULT.get(f"{first} {second}") or _VAULT.get(first, "")
        changes = first in _VAULT_GROUPS and second not in _VAULT_LOOK
        what = what or ("cred.write" if changes else "keys.list")
    yield call.effect(what, targets)


_SECURITY_SHOW = regex(r"^(?:find-(?:generic|internet)-password|export|find-key)$")


def _security(call: Call) -> Iterator[Effect]:
    """macOS's keychain."""
    name = call.args.operands[0].text if call.args.operands else ""
    targets = tuple(Target(word.shown, "other") for word in call.args.operands[:2])
    if name == "dump-keychain":
        yield call.effect("cred.steal", targets, note="every secret of the person")
    elif _SECURITY_SHOW.match(name):
        yield call.effect("cred.read", targets)
    elif name.startswith("delete-"):
        yield call.effect("cred.destroy", targets)
    elif name.startswith(
        (
            "add-trusted",
            "remove-trusted",
            "trust-settings",
            "authorizationdb",
            "set-",
            "add-",
            "import",
            "unlock",
            "lock",
            "create-",
            "default-",
        )
    ):
        yield call.effect(
            "cred.write" if name not in ("default-keychain", "authorizationdb read") else "keys.list", targets
        )
    else:
        yield call.effect("keys.list")


def _keytool(call: Call) -> Iterator[Effect]:
    args = call.args
    if args.has("-delete"):
        yield call.effect("cred.delete", tuple(Target(word.shown, "other") for word in args.all("-alias")))
    elif args.has("-exportcert -list -printcert -help"):
        yield call.effect("keys.list")
    else:
        yield from call.on("fs.write", args.all("-keystore -destkeystore"))


_THIEVES = "mimikatz lazagne pypykatz secretsdump secretsdump.py impacket-secretsdump linpeas linpeas.sh winpeas pspy responder crackmapexec netexec hashdump gsecdump wce medusa ncrack kerbrute evil-winrm metasploit msfconsole msfvenom"

PROGRAMS: dict[str, Program] = {
    **programs(
        "gpg gpg2 gpg1",
        Program(
            values="-r --recipient -u --local-user -o --output --homedir --passphrase --keyserver --batch-file --pinentry-mode --passphrase-file",
            dry="-n --dry-run",
            call=_gpg,
        ),
    ),
    **programs(
        "pass gopass passage",
        Program(
            _SHOW,
            subs={
                "ls": _READ,
                "list": _READ,
                "find": _READ,
                "search": _READ,
                "grep": _SHOW,
                "show": _SHOW,
                "rm": _GONE,
                "remove": _GONE,
                "delete": _GONE,
                "generate": _READ,
                "insert": _SET,
                "edit": _SET,
                "mv": _SET,
                "cp": _SET,
                "init": _SET,
                "git": _READ,
                "version": _READ,
                "help": _READ,
                "otp": _SHOW,
            },
        ),
    ),
    "op": Program(
        values="--account --vault --fields --format --session --config --env-file -o --out-file -i --in-file",
        subs={
            "read": _SHOW,
            "inject": _SHOW,
            "item get": _SHOW,
            "item list": _READ,
            "item delete": _GONE,
            "item create": _SET,
            "item edit": _SET,
            "vault list": _READ,
            "vault get": _READ,
            "vault delete": _GONE,
            "document get": _SHOW,
            "signin": _SET,
            "run": _READ,
            "whoami": _READ,
            "account list": _READ,
            "user list": _READ,
            "connect token create": _NEW,
            "service-account create": _NEW,
        },
        call=_keeper,
    ),
    **programs(
        "bw lpass keepassxc-cli dashlane enpass rbw bws dcli akeyless keybase",
        Program(
            values="--session --organizationid -s -k --key-file",
            subs={
                "status": _READ,
                "sync": _READ,
                "ls": _READ,
                "list": _SHOW,
                "export": _SHOW,
                "generate": _READ,
                "lock": _READ,
                "logout": _READ,
                "code": _SHOW,
            },
            call=_keeper,
        ),
    ),
    "vault": Program(
        values="-address -namespace -field -format -versions -policy -mount -ttl", single=True, call=_vault
    ),
    "bao": Program(values="-address -namespace -field -format -versions -policy -mount -ttl", single=True, call=_vault),
    "security": Program(values="-s -a -l -k -t", call=_security),
    "secret-tool": Program(_READ, subs={"lookup": _SHOW, "search": _SHOW, "store": _SET, "clear": _GONE}),
    **programs("kwallet-query", Program(_SHOW, dry="-l --list-entries")),
    "cmdkey": Program(_READ, Does("cred.write", when="/add /delete")),
    "ssh-keygen": Program(values="-f -t -b -C -N -P -R -F -r -s -I -n -V -O -m -W -Z", call=_ssh_keygen),
    "ssh-add": Program(values="-t -s -e", call=_ssh_add),
    "ssh-copy-id": Program(values="-i -p -o -F", call=_ssh_copy_id),
    "ssh-keyscan": Program(Does("net.fetch")),
    "ssh-agent": Program(_READ),
    "keytool": Program(
        values="-alias -keystore -storepass -keypass -destkeystore -srckeystore -file -validity -dname -keyalg -keysize",
        single=True,
        call=_keytool,
    ),
    "certutil": Program(
        _READ,
        Does("cred.write", when="-A -D -addstore -delstore", bare=True),
        Does("code.remote", when="-urlcache", possible=True),
        single=True,
    ),
    "sops": Program(
        Does("cred.read", "*", "path", when="-d --decrypt decrypt exec-env exec-file edit"),
        dry="-e --encrypt",
        values="-i-value --input-type --output-type --kms --pgp --age",
    ),
    **programs(
        "age rage",
        Program(
            Does("cred.read", "*", "path", when="-d --decrypt"),
            Does("fs.write", "-o --output"),
            values="-o --output -r --recipient -R -i --identity",
        ),
    ),
    "age-keygen": Program(Does("cred.create", "-o --output", "path"), values="-o --output"),
    **programs(
        "doppler infisical chamber aws-vault teller berglas envchain phase credstash",
        Program(
            values="-p --project -c --config -t --token --env --path",
            subs={
                "run": _READ,
                "exec": _READ,
                "login": _SET,
                "list": _READ,
                "secrets get": _SHOW,
                "secrets download": _SHOW,
                "secrets": _SHOW,
                "secrets set": _SET,
                "secrets delete": _GONE,
                "read": _SHOW,
                "export": _SHOW,
                "export-env": _SHOW,
                "env": _SHOW,
                "setup": _READ,
                "rotate": _SET,
            },
            call=_keeper,
        ),
    ),
    "git-crypt": Program(_READ, subs={"unlock": _SHOW, "export-key": _SHOW}),
    "git-credential": Program(_SHOW, subs={"fill": _SHOW}),
    **programs(
        "docker-credential-desktop docker-credential-osxkeychain docker-credential-secretservice docker-credential-pass docker-credential-wincred docker-credential-ecr-login git-credential-osxkeychain git-credential-manager git-credential-store git-credential-libsecret",
        Program(_READ, subs={"get": _SHOW, "list": _READ, "store": _SET, "erase": _DROP}),
    ),
    **programs("trufflehog detect-secrets git-secrets ggshield talisman", Program(Does("code.build"))),
    **programs("kinit kdestroy klist", Program(_READ)),
    "ykman": Program(
        _READ, subs={"piv reset": _GONE, "oath reset": _GONE, "fido reset": _GONE, "openpgp reset": _GONE}
    ),
    "step": Program(
        Does("fs.write", possible=True),
        subs={"ca revoke": _SET, "crypto key inspect": _READ, "certificate inspect": _READ},
    ),
    **programs("unshadow john hashcat", Program(Does("cred.read", "*", "other", bare=True, note="guesses passwords"))),
    **programs(_THIEVES, Program(Does("cred.steal", "*", "other", bare=True))),
}
