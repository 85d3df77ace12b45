"""Tools for mining coins and for breaking into machines, which hardly any project needs."""

from verdikt.effects.program.table import EffectSpec, Program, alias_programs

_MINES = Program(
    EffectSpec("proc.mine", "-o --url --pool", "host", without_target=True),
    value_flags="-o --url --pool -u --user -p -a --algo -t",
)
_PROBES = Program(EffectSpec("net.scan", "*", "host", without_target=True))
_TAKES_OVER = Program(EffectSpec("net.shell", "*", "host", without_target=True))

PROGRAMS: dict[str, Program] = {
    **alias_programs(
        "xmrig xmr-stak minerd cpuminer ccminer cgminer bfgminer ethminer nbminer lolminer lolMiner t-rex "
        "teamredminer phoenixminer srbminer-multi cpuminer-multi nheqminer gminer kawpowminer xmrigdaemon",
        _MINES,
    ),
    **alias_programs(
        "arpspoof dnsspoof dsniff urlsnarf aircrack-ng airodump-ng aireplay-ng airmon-ng wifite reaver bettercap "
        "mitmf yersinia macof patator wpscan dirbuster feroxbuster amass subfinder theharvester enum4linux smbmap "
        "rpcclient bloodhound-python sharphound rubeus commix xsser ghauri slowloris goldeneye hulk mdk4 thc-hydra "
        "crowbar brutespray",
        _PROBES,
    ),
    **alias_programs(
        "beef-xss setoolkit empire havoc sliver-server sliver-client cobaltstrike veil shellter weevely hoaxshell "
        "villain pupy pwncat pwncat-cs impacket-psexec impacket-wmiexec impacket-smbexec psexec.py wmiexec.py "
        "smbexec.py",
        _TAKES_OVER,
    ),
}
