"""Tools for mining on somebody's machine and for breaking into others: hardly a project needs one."""

from verdikt.effects.program.table import Does, Program, programs

_MINES = Program(
    Does("proc.mine", "-o --url --pool", "host", bare=True), values="-o --url --pool -u --user -p -a --algo -t"
)
_PROBES = Program(Does("net.scan", "*", "host", bare=True))
_TAKES_OVER = Program(Does("net.shell", "*", "host", bare=True))

PROGRAMS: dict[str, Program] = {
    **programs(
        "xmrig xmr-stak minerd cpuminer ccminer cgminer bfgminer ethminer nbminer lolminer lolMiner t-rex teamredminer "
        "phoenixminer srbminer-multi cpuminer-multi nheqminer gminer kawpowminer xmrigdaemon",
        _MINES,
    ),
    **programs(
        "arpspoof dnsspoof dsniff urlsnarf aircrack-ng airodump-ng aireplay-ng airmon-ng wifite reaver bettercap mitmf yersinia macof "
        "patator wpscan dirbuster feroxbuster amass subfinder theharvester enum4linux smbmap rpcclient bloodhound-python sharphound "
        "rubeus commix xsser ghauri slowloris goldeneye hulk mdk4 thc-hydra crowbar brutespray",
        _PROBES,
    ),
    **programs(
        "beef-xss setoolkit empire havoc sliver-server sliver-client cobaltstrike veil shellter weevely hoaxshell villain pupy "
        "pwncat pwncat-cs impacket-psexec impacket-wmiexec impacket-smbexec psexec.py wmiexec.py smbexec.py",
        _TAKES_OVER,
    ),
}
