"""The machine: services, power, accounts, firewall, kernel, processes, logs."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs, word_set
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


def _systemctl(call: Invocation) -> Iterator[Effect]:
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


def _sysv(call: Invocation) -> Iterator[Effect]:
    """`service NAME VERB`."""
    operands = call.args.operands
    if call.args.has_flag("--status-all") or len(operands) < 2:
        yield call.make_effect("sys.read")
    else:
        yield from _service(call, operands[1].text, operands[:1])


def _power(call: Invocation) -> Iterator[Effect]:
    args = call.args
    texts = [word.text.lower() for word in call.command.argv[1:]]
    if args.has_flag("-c -k --help -w --wtmp-only --show") or "/a" in texts or "/?" in texts:
        return
    yield call.make_effect("sys.power", (Target(call.name, "other"),))


def _init(call: Invocation) -> Iterator[Effect]:
    level = call.args.operands[0].text if call.args.operands else ""
    if level in ("0", "6", "1", "s", "S"):
        yield call.make_effect("sys.power", (Target(f"run level {level}", "other"),))
    elif level:
        yield call.make_effect("sys.setting")


def _crontab(call: Invocation) -> Iterator[Effect]:
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


def _iptables(call: Invocation) -> Iterator[Effect]:
    args = call.args
    if args.has_flag("-F --flush -X --delete-chain"):
        yield call.make_effect("sys.security", (Target("every rule of the firewall", "other"),))
    elif args.has_flag("-P --policy"):
        yield call.make_effect("sys.security", (Target("the firewall's default", "other"),))
    elif args.has_flag("-A --append -I --insert -D --delete -R --replace -N --new-chain -Z --zero -E"):
        yield call.make_effect("sys.firewall")
    else:
        yield call.make_effect("sys.read")


def _ufw(call: Invocation) -> Iterator[Effect]:
    verb = call.args.operands[0].text if call.args.operands else ""
    if verb in ("disable", "reset"):
        yield call.make_effect("sys.security", (Target("the firewall", "other"),))
    elif verb in ("status", "show", "version", "app", ""):
        yield call.make_effect("sys.read")
    else:
        yield call.make_effect("sys.firewall")


def _firewalld(call: Invocation) -> Iterator[Effect]:
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


def _nft(call: Invocation) -> Iterator[Effect]:
    verb = [word.text for word in call.args.operands]
    if verb[:1] == ["list"] or not verb:
        yield call.make_effect("sys.read" if not call.args.has_flag("-f --file") else "sys.firewall")
    elif verb[:2] in (["flush", "ruleset"], ["flush", "table"], ["delete", "table"], ["destroy", "table"]):
        yield call.make_effect("sys.security", (Target("every rule of the firewall", "other"),))
    else:
        yield call.make_effect("sys.firewall")


_IP_LOOK = word_set("show list get ls lst s sh l monitor help")


def _ip(call: Invocation) -> Iterator[Effect]:
    operands = [word.text for word in call.args.operands]
    verb = operands[1] if len(operands) > 1 else "show"
    if operands[:2] == ["netns", "exec"] or operands[:2] == ["vrf", "exec"]:
        yield call.make_effect("priv.escalate", possible=True)
    elif any(verb == full or (len(verb) > 1 and full.startswith(verb)) for full in _IP_LOOK) or "/" in verb:
        yield call.make_effect("sys.read")
    else:
        yield call.make_effect("sys.network", (Target(" ".join(operands[:4]), "other"),))


def _ifconfig(call: Invocation) -> Iterator[Effect]:
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


def _sysctl(call: Invocation) -> Iterator[Effect]:
    args = call.args
    settings = [word.text for word in args.operands if "=" in word.text]
    if any(setting.startswith(_HARDENING) and setting.split("=")[1].strip()[:1] in ("0", "|") for setting in settings):
        yield call.make_effect("sys.security", tuple(Target(setting, "other") for setting in settings))
    elif settings or args.has_flag("-w --write -p --load --system"):
        yield call.make_effect("sys.kernel", tuple(Target(setting, "other") for setting in settings))
    else:
        yield call.make_effect("sys.read")


def _auditctl(call: Invocation) -> Iterator[Effect]:
    enabled = call.args.get_value("-e")
    if call.args.has_flag("-D") or (enabled is not None and enabled.text == "0"):
        yield call.make_effect("sys.security", (Target("the record of who did what", "other"),))
    else:
        yield call.make_effect("sys.read" if call.args.has_flag("-l -s") else "sys.setting")


def _journalctl(call: Invocation) -> Iterator[Effect]:
    vacuum = any(flag.startswith("--vacuum") for flag, _ in call.args.flags)
    yield call.make_effect(
        "sys.log" if vacuum else "sys.read", (Target("the machine's log", "other"),) if vacuum else ()
    )


def _date(call: Invocation) -> Iterator[Effect]:
    digits = any(word.text[:8].isdigit() and len(word.text) >= 8 for word in call.args.operands)
    yield call.make_effect("sys.setting" if call.args.has_flag("-s --set") or digits else "sys.read")


def _later(call: Invocation) -> Iterator[Effect]:
    """Yield the effects of `at` and `batch`, which run something later, unwatched."""
    if call.args.has_flag("-l -r -d -c -V") or call.name == "atq":
        yield call.make_effect("sys.read" if not call.args.has_flag("-r -d") else "sys.setting")
        return
    yield call.make_effect("persist.cron", (Target(call.command_line, "other"),), possible=True)
    if call.command.stdin:
        yield from call.classify_shell(call.command.stdin)


def _systemd_run(call: Invocation) -> Iterator[Effect]:
    timed = any(flag.startswith(("--on-", "--timer")) for flag, _ in call.args.flags)
    yield call.make_effect(
        "persist.unit" if timed else "proc.spawn", (Target(call.command_line, "other"),), possible=True
    )


def _hostnamectl(call: Invocation) -> Iterator[Effect]:
    verb = call.args.operands[0].text if call.args.operands else "status"
    yield call.make_effect(
        "sys.setting" if verb.startswith(("set", "hostname")) and len(call.args.operands) > 1 else "sys.read"
    )


def _hostname(call: Invocation) -> Iterator[Effect]:
    yield call.make_effect("sys.setting" if call.args.operands or call.args.has_flag("-F --file -b") else "sys.read")


_READ = EffectSpec("sys.read")
_SET = EffectSpec("sys.setting", "*", "other", without_target=True)
_KERNEL = EffectSpec("sys.kernel", "*", "other", without_target=True)
_SECURITY = EffectSpec("sys.security", "*", "other", without_target=True)

PROGRAMS: dict[str, Program] = {
    "systemctl": Program(
        value_flags="-t --type --state -p --property -H --host -M --machine -n --lines -o --output -s --signal --kill-who --root --job-mode --what",
        dry_run_flags="--dry-run",
        classify=_systemctl,
    ),
    **alias_programs("service rc-service initctl", Program(classify=_sysv)),
    **alias_programs(
        "rc-update chkconfig update-rc.d insserv",
        Program(EffectSpec("persist.unit", "*", "unit", possible=True, unless="show --list -l -v")),
    ),
    **alias_programs("shutdown reboot halt poweroff", Program(classify=_power)),
    **alias_programs(
        "ipmitool racadm",
        Program(
            EffectSpec("sys.power", when="off cycle reset soft hardreset powerdown powercycle"), EffectSpec("sys.read")
        ),
    ),
    **alias_programs("init telinit", Program(classify=_init)),
    "kexec": Program(EffectSpec("sys.power", when="-e --exec -f"), EffectSpec("sys.kernel", when="-l --load -p")),
    "crontab": Program(classify=_crontab, value_flags="-u"),
    **alias_programs("at batch atq", Program(classify=_later, value_flags="-f -q -t")),
    "atrm": Program(_SET),
    "systemd-run": Program(
        classify=_systemd_run,
        value_flags="-p --property -u --unit --on-calendar --on-active --on-boot --slice --uid --gid -E --setenv",
    ),
    **alias_programs(
        "iptables ip6tables iptables-legacy iptables-nft ebtables arptables",
        Program(
            classify=_iptables,
            value_flags="-t --table -A --append -I --insert -D --delete -P --policy -p --protocol -s -d -j --jump -i -o -m --dport --sport -N -R -L -S",
        ),
    ),
    **alias_programs("iptables-save ip6tables-save", Program(_READ)),
    **alias_programs(
        "iptables-restore ip6tables-restore iptables-apply",
        Program(EffectSpec("sys.firewall"), dry_run_flags="-t --test"),
    ),
    "nft": Program(classify=_nft, value_flags="-f --file -I", dry_run_flags="-c --check"),
    "ufw": Program(classify=_ufw, dry_run_flags="--dry-run"),
    "firewall-cmd": Program(classify=_firewalld),
    "pfctl": Program(
        EffectSpec("sys.security", when="-d -F"), EffectSpec("sys.firewall", when="-f -e"), dry_run_flags="-n"
    ),
    "fail2ban-client": Program(_READ, subcommands={"stop": _SECURITY, "unban": EffectSpec("sys.firewall")}),
    "setenforce": Program(
        EffectSpec("sys.security", "*", "other", when="0 permissive"), EffectSpec("sys.setting", unless="0 permissive")
    ),
    **alias_programs("getenforce sestatus aa-status apparmor_status ausearch aureport getsebool", Program(_READ)),
    **alias_programs(
        "setsebool semanage semodule restorecon chcon",
        Program(EffectSpec("sys.setting", "*", "other", without_target=True, unless="-l --list list")),
    ),
    "aa-teardown": Program(_SECURITY),
    **alias_programs(
        "aa-disable aa-complain aa-remove-unknown apparmor_parser",
        Program(EffectSpec("sys.setting", "*", "other", without_target=True)),
    ),
    "auditctl": Program(classify=_auditctl, value_flags="-e -a -d -w -W -p -k -S -F -b -f -r"),
    "sysctl": Program(classify=_sysctl, value_flags="-f"),
    **alias_programs(
        "modprobe",
        Program(_KERNEL, dry_run_flags="-n --dry-run --show -c --showconfig -D --show-depends", value_flags="-C -d -S"),
    ),
    **alias_programs(
        "insmod rmmod depmod kmod dkms",
        Program(
            EffectSpec("sys.kernel", "*", "other", unless="status list", without_target=True),
            dry_run_flags="-n --dry-run",
        ),
    ),
    "bpftool": Program(_READ, subcommands={"prog load": _KERNEL, "prog attach": _KERNEL}),
    "dmesg": Program(
        EffectSpec("sys.log", when="-C --clear -c --read-clear"),
        _READ,
        value_flags="-l --level -f --facility --since --until -n --console-level -s -F",
    ),
    "ldconfig": Program(EffectSpec("sys.setting", unless="-p --print-cache -V", without_target=True)),
    **alias_programs(
        "update-alternatives alternatives",
        Program(
            EffectSpec(
                "sys.setting",
                when="--set --install --remove --config --auto --remove-all --set-selections",
                without_target=True,
            ),
            value_flags="--set --install --remove --config --auto",
        ),
    ),
    **alias_programs(
        "update-ca-certificates update-ca-trust update-crypto-policies authselect pam-auth-update",
        Program(_SET, subcommands={"current": _READ, "list": _READ}),
    ),
    **alias_programs(
        "hostnamectl timedatectl localectl",
        Program(classify=_hostnamectl, value_flags="-H --host -M --machine -p --property"),
    ),
    "hostname": Program(classify=_hostname, value_flags="-F --file"),
    "date": Program(classify=_date, value_flags="-d --date -f --file -r --reference -s --set -I"),
    **alias_programs(
        "hwclock ntpdate chronyc",
        Program(EffectSpec("sys.setting", when="-s -w --hctosys --systohc --set makestep", without_target=True)),
    ),
    "ip": Program(classify=_ip, value_flags="-n --netns -f --family -c"),
    "ifconfig": Program(classify=_ifconfig),
    **alias_programs(
        "ifdown ifup dhclient dhcpcd brctl vconfig wg-quick openvpn wpa_cli iwconfig rfkill",
        Program(EffectSpec("sys.network", "*", "other", without_target=True, unless="list show")),
    ),
    "route": Program(EffectSpec("sys.network", when="add del delete flush change"), _READ),
    "arp": Program(EffectSpec("sys.network", when="-d -s"), _READ),
    "tc": Program(EffectSpec("sys.network", when="add del change replace"), _READ),
    "ethtool": Program(EffectSpec("sys.network", when="-s -K -G -C -A --change -E"), _READ),
    "nmcli": Program(
        _READ,
        value_flags="-f -t -g -c",
        subcommands={
            "networking off": EffectSpec("sys.network"),
            "networking on": EffectSpec("sys.network"),
            "radio wifi": EffectSpec("sys.network", "*", "other"),
            "radio all": EffectSpec("sys.network", "*", "other"),
            "connection delete": EffectSpec("sys.network", "*", "other"),
            "con delete": EffectSpec("sys.network", "*", "other"),
            "connection down": EffectSpec("sys.network", "*", "other"),
            "con down": EffectSpec("sys.network", "*", "other"),
            "connection modify": EffectSpec("sys.network", "*", "other"),
            "connection add": EffectSpec("sys.network", "*", "other"),
            "device disconnect": EffectSpec("sys.network", "*", "other"),
        },
    ),
    "resolvectl": Program(
        _READ,
        subcommands={
            "dns": EffectSpec("sys.network", "1:", "other"),
            "domain": EffectSpec("sys.network", "1:", "other"),
            "flush-caches": _READ,
        },
    ),
    "journalctl": Program(
        classify=_journalctl,
        value_flags="-u --unit -n --lines -p --priority -S --since -U --until -b --boot -o --output --vacuum-time --vacuum-size --vacuum-files -t -g --grep -D",
    ),
    "logrotate": Program(
        EffectSpec("sys.log", "*", "other", when="-f --force"),
        EffectSpec("sys.setting", unless="-f --force", without_target=True),
        dry_run_flags="-d --debug",
        value_flags="-s --state",
    ),
    "faillog": Program(EffectSpec("sys.log", when="-r --reset")),
    "wall": Program(EffectSpec("message.send", without_target=True)),
    "write": Program(EffectSpec("message.send", "*", "other", without_target=True)),
    "quotacheck": Program(_SET),
    "ipcrm": Program(EffectSpec("sys.setting", without_target=True)),
}
