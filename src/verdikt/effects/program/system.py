"""The machine: services, power, accounts, firewall, kernel, processes, logs."""

from collections.abc import Iterator

from verdikt.effects.argument import words
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target
from verdikt.shell.command import Word

PROTECTIONS = words(
    "firewalld ufw iptables ip6tables nftables netfilter-persistent apparmor selinux auditd audit fail2ban falcon-sensor falco crowdstrike clamav-daemon clamd clamav-freshclam osqueryd wazuh-agent "
    "ossec sysmon aide tripwire rsyslog rsyslogd syslog syslog-ng systemd-journald journald snort suricata sshguard denyhosts carbonblack cbdaemon mdatp sentinelone sentinelctl tetragon "
    "windefend mpssvc wscsvc securityhealthservice sense wdnissvc eventlog com.apple.alf falcond jamf santa santad ossec-hids esets lynis verdikt verdiktd"
)
"""Services and programs that guard or record."""


def is_protection(name: str) -> bool:
    """Whether a service or process guards the machine or records what happens on it."""
    plain = name.lower().removesuffix(".service").removesuffix(".socket").removesuffix(".exe").rsplit("/", 1)[-1]
    return plain in PROTECTIONS


def _units(found: list[Word]) -> tuple[Target, ...]:
    return tuple(Target(word.shown, "unit") for word in found)


_LOOK = words(
    "status show cat list-units list-unit-files list-timers list-sockets list-dependencies list-jobs list-machines list-paths list-automounts is-active is-enabled is-failed is-system-running get-default help show-environment version verify"
)
_POWER = words("poweroff reboot halt kexec soft-reboot emergency rescue exit switch-root")
_END = words("stop kill disable mask freeze clean revert")


def _systemctl(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    verb, units = (operands[0].text, operands[1:]) if operands else ("", [])
    yield from _service(call, verb, units)


def _service(call: Call, verb: str, units: list[Word]) -> Iterator[Effect]:
    if verb in _LOOK or not verb:
        yield call.effect("sys.read")
    elif verb in _POWER or (
        verb in ("isolate", "default", "start")
        and any(w.text.startswith(("rescue", "emergency", "poweroff", "reboot", "halt", "shutdown")) for w in units)
    ):
        yield call.effect("sys.power", _units(units))
    elif verb in _END:
        guarding = [word for word in units if is_protection(word.text)]
        if guarding:
            yield call.effect("sys.security", _units(guarding))
        else:
            yield call.effect("sys.service.stop", _units(units))
    elif verb in ("enable", "reenable", "preset", "link", "add-wants", "add-requires", "edit"):
        # One by its path is a new one; one by its name was there before.
        yield call.effect("persist.unit", _units(units), possible=not any("/" in word.text for word in units))
    elif verb in (
        "suspend",
        "hibernate",
        "hybrid-sleep",
        "set-default",
        "import-environment",
        "set-environment",
        "unset-environment",
    ):
        yield call.effect("sys.setting", _units(units))
    else:
        yield call.effect("sys.service", _units(units))


def _sysv(call: Call) -> Iterator[Effect]:
    """`service NAME VERB`."""
    operands = call.args.operands
    if call.args.has("--status-all") or len(operands) < 2:
        yield call.effect("sys.read")
    else:
        yield from _service(call, operands[1].text, operands[:1])


def _power(call: Call) -> Iterator[Effect]:
    args = call.args
    texts = [word.text.lower() for word in call.command.argv[1:]]
    if args.has("-c -k --help -w --wtmp-only --show") or "/a" in texts or "/?" in texts:
        return
    yield call.effect("sys.power", (Target(call.name, "other"),))


def _init(call: Call) -> Iterator[Effect]:
    level = call.args.operands[0].text if call.args.operands else ""
    if level in ("0", "6", "1", "s", "S"):
        yield call.effect("sys.power", (Target(f"run level {level}", "other"),))
    elif level:
        yield call.effect("sys.setting")


def _crontab(call: Call) -> Iterator[Effect]:
    args = call.args
    whose = args.value("-u")
    target = (Target(f"{whose.shown}'s crontab" if whose is not None else "the crontab", "other"),)
    if args.has("-l -V -T"):
        yield call.effect("sys.read")
    elif args.has("-r"):
        yield call.effect("cron.delete", target)
    elif args.has("-e"):
        yield call.effect("persist.cron", target, possible=True)
    elif (
        args.operands or call.command.stdin is not None or call.command.pipe_from is not None or call.command.redirects
    ):
        yield call.effect("persist.cron", target)


def _iptables(call: Call) -> Iterator[Effect]:
    args = call.args
    if args.has("-F --flush -X --delete-chain"):
        yield call.effect("sys.security", (Target("every rule of the firewall", "other"),))
    elif args.has("-P --policy"):
        yield call.effect("sys.security", (Target("the firewall's default", "other"),))
    elif args.has("-A --append -I --insert -D --delete -R --replace -N --new-chain -Z --zero -E"):
        yield call.effect("sys.firewall")
    else:
        yield call.effect("sys.read")


def _ufw(call: Call) -> Iterator[Effect]:
    verb = call.args.operands[0].text if call.args.operands else ""
    if verb in ("disable", "reset"):
        yield call.effect("sys.security", (Target("the firewall", "other"),))
    elif verb in ("status", "show", "version", "app", ""):
        yield call.effect("sys.read")
    else:
        yield call.effect("sys.firewall")


def _firewalld(call: Call) -> Iterator[Effect]:
    flags = {flag for flag, _ in call.args.flags}
    if flags & {"--panic-on"}:
        yield call.effect("sys.security", (Target("the firewall", "other"),), note="nobody gets in or out")
    elif all(
        flag.startswith(
            ("--list", "--get", "--query", "--state", "--info", "--zone", "--permanent", "--check", "--version")
        )
        for flag in flags
    ):
        yield call.effect("sys.read")
    else:
        yield call.effect("sys.firewall")


def _nft(call: Call) -> Iterator[Effect]:
    verb = [word.text for word in call.args.operands]
    if verb[:1] == ["list"] or not verb:
        yield call.effect("sys.read" if not call.args.has("-f --file") else "sys.firewall")
    elif verb[:2] in (["flush", "ruleset"], ["flush", "table"], ["delete", "table"], ["destroy", "table"]):
        yield call.effect("sys.security", (Target("every rule of the firewall", "other"),))
    else:
        yield call.effect("sys.firewall")


_IP_LOOK = words("show list get ls lst s sh l monitor help")


def _ip(call: Call) -> Iterator[Effect]:
    operands = [word.text for word in call.args.operands]
    verb = operands[1] if len(operands) > 1 else "show"
    if operands[:2] == ["netns", "exec"] or operands[:2] == ["vrf", "exec"]:
        yield call.effect("priv.escalate", possible=True)
    elif any(verb == full or (len(verb) > 1 and full.startswith(verb)) for full in _IP_LOOK) or "/" in verb:
        yield call.effect("sys.read")
    else:
        yield call.effect("sys.network", (Target(" ".join(operands[:4]), "other"),))


def _ifconfig(call: Call) -> Iterator[Effect]:
    yield call.effect("sys.network" if len(call.args.operands) > 1 else "sys.read")


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


def _sysctl(call: Call) -> Iterator[Effect]:
    args = call.args
    settings = [word.text for word in args.operands if "=" in word.text]
    if any(setting.startswith(_HARDENING) and setting.split("=")[1].strip()[:1] in ("0", "|") for setting in settings):
        yield call.effect("sys.security", tuple(Target(setting, "other") for setting in settings))
    elif settings or args.has("-w --write -p --load --system"):
        yield call.effect("sys.kernel", tuple(Target(setting, "other") for setting in settings))
    else:
        yield call.effect("sys.read")


def _auditctl(call: Call) -> Iterator[Effect]:
    enabled = call.args.value("-e")
    if call.args.has("-D") or (enabled is not None and enabled.text == "0"):
        yield call.effect("sys.security", (Target("the record of who did what", "other"),))
    else:
        yield call.effect("sys.read" if call.args.has("-l -s") else "sys.setting")


def _journalctl(call: Call) -> Iterator[Effect]:
    vacuum = any(flag.startswith("--vacuum") for flag, _ in call.args.flags)
    yield call.effect("sys.log" if vacuum else "sys.read", (Target("the machine's log", "other"),) if vacuum else ())


def _date(call: Call) -> Iterator[Effect]:
    digits = any(word.text[:8].isdigit() and len(word.text) >= 8 for word in call.args.operands)
    yield call.effect("sys.setting" if call.args.has("-s --set") or digits else "sys.read")


def _later(call: Call) -> Iterator[Effect]:
    """`at`, `batch`: something runs when nobody looks any more."""
    if call.args.has("-l -r -d -c -V") or call.name == "atq":
        yield call.effect("sys.read" if not call.args.has("-r -d") else "sys.setting")
        return
    yield call.effect("persist.cron", (Target(call.by, "other"),), possible=True)
    if call.command.stdin:
        yield from call.shell(call.command.stdin)


def _systemd_run(call: Call) -> Iterator[Effect]:
    timed = any(flag.startswith(("--on-", "--timer")) for flag, _ in call.args.flags)
    yield call.effect("persist.unit" if timed else "proc.spawn", (Target(call.by, "other"),), possible=True)


def _hostnamectl(call: Call) -> Iterator[Effect]:
    verb = call.args.operands[0].text if call.args.operands else "status"
    yield call.effect(
        "sys.setting" if verb.startswith(("set", "hostname")) and len(call.args.operands) > 1 else "sys.read"
    )


def _hostname(call: Call) -> Iterator[Effect]:
    yield call.effect("sys.setting" if call.args.operands or call.args.has("-F --file -b") else "sys.read")


_READ = Does("sys.read")
_SET = Does("sys.setting", "*", "other", bare=True)
_KERNEL = Does("sys.kernel", "*", "other", bare=True)
_SECURITY = Does("sys.security", "*", "other", bare=True)

PROGRAMS: dict[str, Program] = {
    "systemctl": Program(
        values="-t --type --state -p --property -H --host -M --machine -n --lines -o --output -s --signal --kill-who --root --job-mode --what",
        dry="--dry-run",
        call=_systemctl,
    ),
    **programs("service rc-service initctl", Program(call=_sysv)),
    **programs(
        "rc-update chkconfig update-rc.d insserv",
        Program(Does("persist.unit", "*", "unit", possible=True, unless="show --list -l -v")),
    ),
    **programs("shutdown reboot halt poweroff", Program(call=_power)),
    **programs(
        "ipmitool racadm",
        Program(Does("sys.power", when="off cycle reset soft hardreset powerdown powercycle"), Does("sys.read")),
    ),
    **programs("init telinit", Program(call=_init)),
    "kexec": Program(Does("sys.power", when="-e --exec -f"), Does("sys.kernel", when="-l --load -p")),
    "crontab": Program(call=_crontab, values="-u"),
    **programs("at batch atq", Program(call=_later, values="-f -q -t")),
    "atrm": Program(_SET),
    "systemd-run": Program(
        call=_systemd_run,
        values="-p --property -u --unit --on-calendar --on-active --on-boot --slice --uid --gid -E --setenv",
    ),
    **programs(
        "iptables ip6tables iptables-legacy iptables-nft ebtables arptables",
        Program(
            call=_iptables,
            values="-t --table -A --append -I --insert -D --delete -P --policy -p --protocol -s -d -j --jump -i -o -m --dport --sport -N -R -L -S",
        ),
    ),
    **programs("iptables-save ip6tables-save", Program(_READ)),
    **programs("iptables-restore ip6tables-restore iptables-apply", Program(Does("sys.firewall"), dry="-t --test")),
    "nft": Program(call=_nft, values="-f --file -I", dry="-c --check"),
    "ufw": Program(call=_ufw, dry="--dry-run"),
    "firewall-cmd": Program(call=_firewalld),
    "pfctl": Program(Does("sys.security", when="-d -F"), Does("sys.firewall", when="-f -e"), dry="-n"),
    "fail2ban-client": Program(_READ, subs={"stop": _SECURITY, "unban": Does("sys.firewall")}),
    "setenforce": Program(
        Does("sys.security", "*", "other", when="0 permissive"), Does("sys.setting", unless="0 permissive")
    ),
    **programs("getenforce sestatus aa-status apparmor_status ausearch aureport getsebool", Program(_READ)),
    **programs(
        "setsebool semanage semodule restorecon chcon",
        Program(Does("sys.setting", "*", "other", bare=True, unless="-l --list list")),
    ),
    "aa-teardown": Program(_SECURITY),
    **programs(
        "aa-disable aa-complain aa-remove-unknown apparmor_parser",
        Program(Does("sys.setting", "*", "other", bare=True)),
    ),
    "auditctl": Program(call=_auditctl, values="-e -a -d -w -W -p -k -S -F -b -f -r"),
    "sysctl": Program(call=_sysctl, values="-f"),
    **programs(
        "modprobe", Program(_KERNEL, dry="-n --dry-run --show -c --showconfig -D --show-depends", values="-C -d -S")
    ),
    **programs(
        "insmod rmmod depmod kmod dkms",
        Program(Does("sys.kernel", "*", "other", unless="status list", bare=True), dry="-n --dry-run"),
    ),
    "bpftool": Program(_READ, subs={"prog load": _KERNEL, "prog attach": _KERNEL}),
    "dmesg": Program(
        Does("sys.log", when="-C --clear -c --read-clear"),
        _READ,
        values="-l --level -f --facility --since --until -n --console-level -s -F",
    ),
    "ldconfig": Program(Does("sys.setting", unless="-p --print-cache -V", bare=True)),
    **programs(
        "update-alternatives alternatives",
        Program(
            Does(
                "sys.setting", when="--set --install --remove --config --auto --remove-all --set-selections", bare=True
            ),
            values="--set --install --remove --config --auto",
        ),
    ),
    **programs(
        "update-ca-certificates update-ca-trust update-crypto-policies authselect pam-auth-update",
        Program(_SET, subs={"current": _READ, "list": _READ}),
    ),
    **programs(
        "hostnamectl timedatectl localectl", Program(call=_hostnamectl, values="-H --host -M --machine -p --property")
    ),
    "hostname": Program(call=_hostname, values="-F --file"),
    "date": Program(call=_date, values="-d --date -f --file -r --reference -s --set -I"),
    **programs(
        "hwclock ntpdate chronyc",
        Program(Does("sys.setting", when="-s -w --hctosys --systohc --set makestep", bare=True)),
    ),
    "ip": Program(call=_ip, values="-n --netns -f --family -c"),
    "ifconfig": Program(call=_ifconfig),
    **programs(
        "ifdown ifup dhclient dhcpcd brctl vconfig wg-quick openvpn wpa_cli iwconfig rfkill",
        Program(Does("sys.network", "*", "other", bare=True, unless="list show")),
    ),
    "route": Program(Does("sys.network", when="add del delete flush change"), _READ),
    "arp": Program(Does("sys.network", when="-d -s"), _READ),
    "tc": Program(Does("sys.network", when="add del change replace"), _READ),
    "ethtool": Program(Does("sys.network", when="-s -K -G -C -A --change -E"), _READ),
    "nmcli": Program(
        _READ,
        values="-f -t -g -c",
        subs={
            "networking off": Does("sys.network"),
            "networking on": Does("sys.network"),
            "radio wifi": Does("sys.network", "*", "other"),
            "radio all": Does("sys.network", "*", "other"),
            "connection delete": Does("sys.network", "*", "other"),
            "con delete": Does("sys.network", "*", "other"),
            "connection down": Does("sys.network", "*", "other"),
            "con down": Does("sys.network", "*", "other"),
            "connection modify": Does("sys.network", "*", "other"),
            "connection add": Does("sys.network", "*", "other"),
            "device disconnect": Does("sys.network", "*", "other"),
        },
    ),
    "resolvectl": Program(
        _READ,
        subs={
            "dns": Does("sys.network", "1:", "other"),
            "domain": Does("sys.network", "1:", "other"),
            "flush-caches": _READ,
        },
    ),
    "journalctl": Program(
        call=_journalctl,
        values="-u --unit -n --lines -p --priority -S --since -U --until -b --boot -o --output --vacuum-time --vacuum-size --vacuum-files -t -g --grep -D",
    ),
    "logrotate": Program(
        Does("sys.log", "*", "other", when="-f --force"),
        Does("sys.setting", unless="-f --force", bare=True),
        dry="-d --debug",
        values="-s --state",
    ),
    "faillog": Program(Does("sys.log", when="-r --reset")),
    "wall": Program(Does("message.send", bare=True)),
    "write": Program(Does("message.send", "*", "other", bare=True)),
    "quotacheck": Program(_SET),
    "ipcrm": Program(Does("sys.setting", bare=True)),
}
