"""Keepers of secrets: what shows one, what changes or destroys one, and what only looks at names."""

from collections.abc import Iterator

from verdikt.effects import command_verbs
from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs, word_set
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.lazy_regex import compile_lazily

_SHOW = EffectSpec("cred.read", "*", "other", without_target=True)
_SET = EffectSpec("cred.write", "*", "other", without_target=True)
_NEW = EffectSpec("cred.create", "*", "other", without_target=True)
_GONE = EffectSpec("cred.destroy", "*", "other", without_target=True)
_DROP = EffectSpec("cred.delete", "*", "other", without_target=True)
_READ = EffectSpec("keys.list")


def _gpg(call: Invocation) -> Iterator[Effect]:
    args = call.args
    keys = tuple(Target(word.display_text, "other") for word in args.operands)
    if args.has_flag("--export-secret-keys --export-secret-subkeys --export-ssh-key"):
        yield call.make_effect("cred.read", keys, note="a secret key")
    elif args.has_flag(
        "--delete-secret-keys --delete-secret-key --delete-secret-and-public-key --delete-secret-and-public-keys"
    ):
        yield call.make_effect("cred.destroy", keys, note="a secret key")
    elif args.has_flag("--delete-keys --delete-key"):
        yield call.make_effect("cred.delete", keys)
    elif args.has_flag("-d --decrypt --decrypt-files"):
        yield call.make_effect("cred.read", keys, note="opens what was closed")
    else:
        yield call.make_effect("keys.list")


def _ssh_keygen(call: Invocation) -> Iterator[Effect]:
    args = call.args
    file = args.get_value("-f")
    if args.has_flag("-l -R -F -H -B -Y -L -Q"):
        yield call.make_effect("keys.list")
    elif args.has_flag("-y"):
        yield call.make_effect("keys.list", note="the public half")
    elif args.has_flag("-p -c -s -A -k"):
        yield call.make_effect("cred.write", (call.resolve_path(file),) if file is not None else ())
    elif file is None:
        yield call.make_effect("cred.create", (Target("~/.ssh"),), note="a key where the user's own lie")
    else:
        target = call.resolve_path(file, with_state=True)
        outside = target.zone not in (Zone.PROJECT, Zone.TEMP) and not (
            target.zone is Zone.SECRET and _inside(call, target)
        )
        yield call.make_effect("cred.create" if outside else "fs.write", (target,))


def _inside(call: Invocation, target: Target) -> bool:
    """Whether a path lies in the project or among temporary files, whatever its name says."""
    root = call.resolver.project_root
    return bool(root and target.path.startswith(root + "/")) or target.path.startswith(("/tmp/", "/var/tmp/"))


def _ssh_add(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("-D -d"):
        yield call.make_effect("cred.delete", (Target("keys of this session", "other"),), recoverable=True)
    else:
        yield call.make_effect("keys.list")


def _ssh_copy_id(call: Invocation) -> Iterator[Effect]:
    yield call.make_effect(
        "persist.write",
        tuple(Target(word.display_text, "host") for word in call.args.operands),
        note="a key that opens another machine",
    )


def _keeper(call: Invocation) -> Iterator[Effect]:
    """Classify a secret store that no table knows in detail, by its verbs: to get is to show."""
    path = [word.text for word in call.args.operands]
    _, kind = command_verbs.find_verb(path)
    pieces = {piece for word in path[:4] for piece in command_verbs.split_tokens(word)}
    targets = (Target(" ".join(path[:3]), "other"),)
    if kind == "delete":
        yield call.make_effect("cred.destroy", targets)
    elif kind == "write":
        yield call.make_effect("cred.create" if "token" in pieces else "cred.write", targets)
    elif pieces & {"get", "show", "read", "view", "export", "download", "dump", "fetch", "reveal", "password", "cat"}:
        yield call.make_effect("cred.read", targets)
    else:
        yield call.make_effect("keys.list")


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
_VAULT_GROUPS = word_set("write login policy auth audit token operator secrets lease namespace plugin")
_VAULT_LOOK = word_set("list lookup capabilities read status members help")


def _vault(call: Invocation) -> Iterator[Effect]:
    path = [word.text for word in call.args.operands]
    first, second, third = [*path, "", "", ""][:3]
    targets = tuple(Target(word.display_text, "other") for word in call.args.operands[1:])
    if first == "kv":
        what = _VAULT_KV.get(f"{second} {third}") or _VAULT_KV.get(second, "keys.list")
    else:
        what = _VAULT.get(f"{first} {second}") or _VAULT.get(first, "")
        changes = first in _VAULT_GROUPS and second not in _VAULT_LOOK
        what = what or ("cred.write" if changes else "keys.list")
    yield call.make_effect(what, targets)


_SECURITY_SHOW = compile_lazily(r"^(?:find-(?:generic|internet)-password|export|find-key)$")


def _security(call: Invocation) -> Iterator[Effect]:
    """Classify a command of the macOS keychain."""
    name = call.args.operands[0].text if call.args.operands else ""
    targets = tuple(Target(word.display_text, "other") for word in call.args.operands[:2])
    if name == "dump-keychain":
        yield call.make_effect("cred.steal", targets, note="every secret of the person")
    elif _SECURITY_SHOW.match(name):
        yield call.make_effect("cred.read", targets)
    elif name.startswith("delete-"):
        yield call.make_effect("cred.destroy", targets)
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
        yield call.make_effect(
            "cred.write" if name not in ("default-keychain", "authorizationdb read") else "keys.list", targets
        )
    else:
        yield call.make_effect("keys.list")


def _keytool(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("-delete"):
        yield call.make_effect(
            "cred.delete", tuple(Target(word.display_text, "other") for word in args.get_values("-alias"))
        )
    elif args.has_flag("-exportcert -list -printcert -help"):
        yield call.make_effect("keys.list")
    else:
        yield from call.make_effects("fs.write", args.get_values("-keystore -destkeystore"))


_THIEVES = "mimikatz lazagne pypykatz secretsdump secretsdump.py impacket-secretsdump linpeas linpeas.sh winpeas pspy responder crackmapexec netexec hashdump gsecdump wce medusa ncrack kerbrute evil-winrm metasploit msfconsole msfvenom"

PROGRAMS: dict[str, Program] = {
    **alias_programs(
        "gpg gpg2 gpg1",
        Program(
            value_flags="-r --recipient -u --local-user -o --output --homedir --passphrase --keyserver --batch-file --pinentry-mode --passphrase-file",
            dry_run_flags="-n --dry-run",
            classify=_gpg,
        ),
    ),
    **alias_programs(
        "pass gopass passage",
        Program(
            _SHOW,
            subcommands={
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
        value_flags="--account --vault --fields --format --session --config --env-file -o --out-file -i --in-file",
        subcommands={
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
        classify=_keeper,
    ),
    **alias_programs(
        "bw lpass keepassxc-cli dashlane enpass rbw bws dcli akeyless keybase",
        Program(
            value_flags="--session --organizationid -s -k --key-file",
            subcommands={
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
            classify=_keeper,
        ),
    ),
    "vault": Program(
        value_flags="-address -namespace -field -format -versions -policy -mount -ttl",
        single_dash=True,
        classify=_vault,
    ),
    "bao": Program(
        value_flags="-address -namespace -field -format -versions -policy -mount -ttl",
        single_dash=True,
        classify=_vault,
    ),
    "security": Program(value_flags="-s -a -l -k -t", classify=_security),
    "secret-tool": Program(_READ, subcommands={"lookup": _SHOW, "search": _SHOW, "store": _SET, "clear": _GONE}),
    **alias_programs("kwallet-query", Program(_SHOW, dry_run_flags="-l --list-entries")),
    "cmdkey": Program(_READ, EffectSpec("cred.write", when="/add /delete")),
    "ssh-keygen": Program(value_flags="-f -t -b -C -N -P -R -F -r -s -I -n -V -O -m -W -Z", classify=_ssh_keygen),
    "ssh-add": Program(value_flags="-t -s -e", classify=_ssh_add),
    "ssh-copy-id": Program(value_flags="-i -p -o -F", classify=_ssh_copy_id),
    "ssh-keyscan": Program(EffectSpec("net.fetch")),
    "ssh-agent": Program(_READ),
    "keytool": Program(
        value_flags="-alias -keystore -storepass -keypass -destkeystore -srckeystore -file -validity -dname -keyalg -keysize",
        single_dash=True,
        classify=_keytool,
    ),
    "certutil": Program(
        _READ,
        EffectSpec("cred.write", when="-A -D -addstore -delstore", without_target=True),
        EffectSpec("code.remote", when="-urlcache", possible=True),
        single_dash=True,
    ),
    "sops": Program(
        EffectSpec("cred.read", "*", "path", when="-d --decrypt decrypt exec-env exec-file edit"),
        dry_run_flags="-e --encrypt",
        value_flags="-i-value --input-type --output-type --kms --pgp --age",
    ),
    **alias_programs(
        "age rage",
        Program(
            EffectSpec("cred.read", "*", "path", when="-d --decrypt"),
            EffectSpec("fs.write", "-o --output"),
            value_flags="-o --output -r --recipient -R -i --identity",
        ),
    ),
    "age-keygen": Program(EffectSpec("cred.create", "-o --output", "path"), value_flags="-o --output"),
    **alias_programs(
        "doppler infisical chamber aws-vault teller berglas envchain phase credstash",
        Program(
            value_flags="-p --project -c --config -t --token --env --path",
            subcommands={
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
            classify=_keeper,
        ),
    ),
    "git-crypt": Program(_READ, subcommands={"unlock": _SHOW, "export-key": _SHOW}),
    "git-credential": Program(_SHOW, subcommands={"fill": _SHOW}),
    **alias_programs(
        "docker-credential-desktop docker-credential-osxkeychain docker-credential-secretservice "
        "docker-credential-pass docker-credential-wincred docker-credential-ecr-login git-credential-osxkeychain "
        "git-credential-manager git-credential-store git-credential-libsecret",
        Program(_READ, subcommands={"get": _SHOW, "list": _READ, "store": _SET, "erase": _DROP}),
    ),
    **alias_programs("trufflehog detect-secrets git-secrets ggshield talisman", Program(EffectSpec("code.build"))),
    **alias_programs("kinit kdestroy klist", Program(_READ)),
    "ykman": Program(
        _READ, subcommands={"piv reset": _GONE, "oath reset": _GONE, "fido reset": _GONE, "openpgp reset": _GONE}
    ),
    "step": Program(
        EffectSpec("fs.write", possible=True),
        subcommands={"ca revoke": _SET, "crypto key inspect": _READ, "certificate inspect": _READ},
    ),
    **alias_programs(
        "unshadow john hashcat",
        Program(EffectSpec("cred.read", "*", "other", without_target=True, note="guesses passwords")),
    ),
    **alias_programs(_THIEVES, Program(EffectSpec("cred.steal", "*", "other", without_target=True))),
}
