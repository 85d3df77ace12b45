"""The machine: services, power, accounts, firewall, kernel, processes, logs."""

from collections.abc import Iterator

from verdikt.effects.arguments import word_set
from verdikt.effects.invocation import Invocation
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word

PROTECTIONS = word_set(
    "firewalld ufw iptables ip6tables nftables netfilter-persistent apparmor selinux auditd audit fail2ban "
    "falcon-sensor falco crowdstrike clamav-daemon clamd clamav-freshclam osqueryd wazuh-agent ossec sysmon aide "
    "tripwire rsyslog rsyslogd syslog syslog-ng systemd-journald journald snort suricata sshguard denyhosts "
    "carbonblack cbdaemon mdatp sentinelone sentinelctl tetragon windefend mpssvc wscsvc securityhealthservice sense "
    "wdnissvc eventlog com.apple.alf falcond jamf santa santad ossec-hids esets lynis verdikt verdiktd"
)
"""Services and programs that guard or record."""


def is_protection(name: str) -> bool:
    """Whether a service or process guards the machine or records what happens on it."""
    plain = name.lower().removesuffix(".service").removesuffix(".socket").removesuffix(".exe").rsplit("/", 1)[-1]
    return plain in PROTECTIONS


def _units(found: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.display_text, "unit") for word in found)


_LOOK = word_set(
    "status show cat list-units list-unit-files list-timers list-sockets list-dependencies list-jobs list-machines "
    "list-paths list-automounts is-active is-enabled is-failed is-system-running get-default help show-environment "
    "version verify"
)
_POWER = word_set("poweroff reboot halt kexec soft-reboot emergency rescue exit switch-root")
_END = word_set("stop kill disable mask freeze clean revert")


def classify_systemctl(call: Invocation) -> Iterator[Effect]:
    operands = call.args.operands
    verb, units = (operands[0].text, operands[1:]) if operands else ("", [])
    yield from _service(call, verb, units)


def _service(call: Invocation, verb: str, units: list[Word]) -> Iterator[Effect]:
    if verb in _LOOK or not verb:
        yield call.make_effect("sys.read")
    elif verb in _POWER or (
        verb in ("isolate", "default", "start")
        and any(w.text.startswith(("rescue", "emergency", "poweroff", "reboot", "halt", "shutdown")) for w in units)
    ):
        yield call.make_effect("sys.power", _units(units))
    elif verb in _END:
        guarding = [word for word in units if is_protection(word.text)]
        if guarding:
            yield call.make_effect("sys.security", _units(guarding))
        else:
            yield call.make_effect("sys.service.stop", _units(units))
    elif verb in ("enable", "reenable", "preset", "link", "add-wants", "add-requires", "edit"):
        # One by its path is a new one; one by its name was there before.
        yield call.make_effect("persist.unit", _units(units), possible=not any("/" in word.text for word in units))
    elif verb in (
        "suspend",
        "hibernate",
        "hybrid-sleep",
        "set-default",
        "import-environment",
        "set-environment",
        "unset-environment",
    ):
        yield call.make_effect("sys.setting", _units(units))
    else:
        yield call.make_effect("sys.service", _units(units))


def classify_sysv(call: Invocation) -> Iterator[Effect]:
    """`service NAME VERB`."""
    operands = call.args.operands
    if call.args.has_flag("--status-all") or len(operands) < 2:
        yield call.make_effect("sys.read")
    else:
        yield from _service(call, operands[1].text, operands[:1])


def classify_power(call: Invocation) -> Iterator[Effect]:
    args = call.args
    texts = [word.text.lower() for word in call.command.argv[1:]]
    if args.has_flag("-c -k --help -w --wtmp-only --show") or "/a" in texts or "/?" in texts:
        return
    yield call.make_effect("sys.power", (Target(call.name, "other"),))


def classify_init(call: Invocation) -> Iterator[Effect]:
    level = call.args.operands[0].text if call.args.operands else ""
    if level in ("0", "6", "1", "s", "S"):
        yield call.make_effect("sys.power", (Target(f"run level {level}", "other"),))
    elif level:
        yield call.make_effect("sys.setting")


def classify_crontab(call: Invocation) -> Iterator[Effect]:
    args = call.args
    whose = args.get_value("-u")
    target = (Target(f"{whose.display_text}'s crontab" if whose is not None else "the crontab", "other"),)
    if args.has_flag("-l -V -T"):
        yield call.make_effect("sys.read")
    elif args.has_flag("-r"):
        yield call.make_effect("cron.delete", target)
    elif args.has_flag("-e"):
        yield call.make_effect("persist.cron", target, possible=True)
    elif (
        args.operands or call.command.stdin is not None or call.command.pipe_from is not None or call.command.redirects
    ):
        yield call.make_effect("persist.cron", target)


def classify_iptables(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("-F --flush -X --delete-chain"):
        yield call.make_effect("sys.security", (Target("every rule of the firewall", "other"),))
    elif args.has_flag("-P --policy"):
        yield call.make_effect("sys.security", (Target("the firewall's default", "other"),))
    elif args.has_flag("-A --append -I --insert -D --delete -R --replace -N --new-chain -Z --zero -E"):
        yield call.make_effect("sys.firewall")
    else:
        yield call.make_effect("sys.read")


def classify_ufw(call: Invocation) -> Iterator[Effect]:
    verb = call.args.operands[0].text if call.args.operands else ""
    if verb in ("disable", "reset"):
        yield call.make_effect("sys.security", (Target("the firewall", "other"),))
    elif verb in ("status", "show", "version", "app", ""):
        yield call.make_effect("sys.read")
    else:
        yield call.make_effect("sys.firewall")


def classify_firewalld(call: Invocation) -> Iterator[Effect]:
    flags = {flag for flag, _ in call.args.flags}
    if flags & {"--panic-on"}:
        yield call.make_effect("sys.security", (Target("the firewall", "other"),), note="no connection gets in or out")
    elif all(
        flag.startswith(
            ("--list", "--get", "--query", "--state", "--info", "--zone", "--permanent", "--check", "--version")
        )
        for flag in flags
    ):
        yield call.make_effect("sys.read")
    else:
        yield call.make_effect("sys.firewall")


def classify_nft(call: Invocation) -> Iterator[Effect]:
    verb = [word.text for word in call.args.operands]
    if verb[:1] == ["list"] or not verb:
        yield call.make_effect("sys.read" if not call.args.has_flag("-f --file") else "sys.firewall")
    elif verb[:2] in (["flush", "ruleset"], ["flush", "table"], ["delete", "table"], ["destroy", "table"]):
        yield call.make_effect("sys.security", (Target("every rule of the firewall", "other"),))
    else:
        yield call.make_effect("sys.firewall")


_IP_LOOK = word_set("show list get ls lst s sh l monitor help")


def classify_ip(call: Invocation) -> Iterator[Effect]:
    operands = [word.text for word in call.args.operands]
    verb = operands[1] if len(operands) > 1 else "show"
    if operands[:2] == ["netns", "exec"] or operands[:2] == ["vrf", "exec"]:
        yield call.make_effect("priv.escalate", possible=True)
    elif any(verb == full or (len(verb) > 1 and full.startswith(verb)) for full in _IP_LOOK) or "/" in verb:
        yield call.make_effect("sys.read")
    else:
        yield call.make_effect("sys.network", (Target(" ".join(operands[:4]), "other"),))


def classify_ifconfig(call: Invocation) -> Iterator[Effect]:
    yield call.make_effect("sys.network" if len(call.args.operands) > 1 else "sys.read")


_HARDENING = (
    "kernel.randomize_va_space",
    "kernel.kptr_restrict",
    "kernel.yama",
    "kernel.dmesg_restrict",
    "kernel.modules_disabled",
    "fs.protected_",
    "fs.suid_dumpable",
    "kernel.unprivileged_bpf",
    "kernel.sysrq",
    "kernel.core_pattern",
    "net.ipv4.conf.all.rp_filter",
    "net.ipv4.tcp_syncookies",
)


def classify_sysctl(call: Invocation) -> Iterator[Effect]:
    args = call.args
    settings = [word.text for word in args.operands if "=" in word.text]
    if any(setting.startswith(_HARDENING) and setting.split("=")[1].strip()[:1] in ("0", "|") for setting in settings):
        yield call.make_effect("sys.security", tuple(Target(setting, "other") for setting in settings))
    elif settings or args.has_flag("-w --write -p --load --system"):
        yield call.make_effect("sys.kernel", tuple(Target(setting, "other") for setting in settings))
    else:
        yield call.make_effect("sys.read")


def classify_auditctl(call: Invocation) -> Iterator[Effect]:
    enabled = call.args.get_value("-e")
    if call.args.has_flag("-D") or (enabled is not None and enabled.text == "0"):
        yield call.make_effect("sys.security", (Target("the record of who did what", "other"),))
    else:
        yield call.make_effect("sys.read" if call.args.has_flag("-l -s") else "sys.setting")


def classify_journalctl(call: Invocation) -> Iterator[Effect]:
    vacuum = any(flag.startswith("--vacuum") for flag, _ in call.args.flags)
    yield call.make_effect(
        "sys.log" if vacuum else "sys.read", (Target("the machine's log", "other"),) if vacuum else ()
    )


def classify_date(call: Invocation) -> Iterator[Effect]:
    digits = any(word.text[:8].isdigit() and len(word.text) >= 8 for word in call.args.operands)
    yield call.make_effect("sys.setting" if call.args.has_flag("-s --set") or digits else "sys.read")


def classify_later(call: Invocation) -> Iterator[Effect]:
    """Yield the effects of `at` and `batch`, which run something later, unwatched."""
    if call.args.has_flag("-l -r -d -c -V") or call.name == "atq":
        yield call.make_effect("sys.read" if not call.args.has_flag("-r -d") else "sys.setting")
        return
    yield call.make_effect("persist.cron", (Target(call.command_line, "other"),), possible=True)
    if call.command.stdin:
        yield from call.classify_shell(call.command.stdin)


def classify_systemd_run(call: Invocation) -> Iterator[Effect]:
    timed = any(flag.startswith(("--on-", "--timer")) for flag, _ in call.args.flags)
    yield call.make_effect(
        "persist.unit" if timed else "proc.spawn", (Target(call.command_line, "other"),), possible=True
    )


def classify_hostnamectl(call: Invocation) -> Iterator[Effect]:
    verb = call.args.operands[0].text if call.args.operands else "status"
    yield call.make_effect(
        "sys.setting" if verb.startswith(("set", "hostname")) and len(call.args.operands) > 1 else "sys.read"
    )


def classify_hostname(call: Invocation) -> Iterator[Effect]:
    yield call.make_effect("sys.setting" if call.args.operands or call.args.has_flag("-F --file -b") else "sys.read")
