"""Programs that run another command: one row each, with where to find it among their words."""

from typing import NamedTuple


class Wrapper(NamedTuple):
    """Position of the inner command: after the options, `skip` further words and, for some, assignments."""

    valued: str = ""  # options that take a value: `-u --user`; a lone letter stands for `-x`
    skip: int = 0  # words before the command: `timeout 5 cmd`
    assignments: bool = False  # `env A=1 cmd`
    joined: bool = False  # the words are joined into text for a shell, as `ssh` and `watch` do
    text: str = ""  # options whose value is text for a shell: `su -c 'cmd'`
    host: str = ""  # "1": the first skipped word is where it runs; else the name of the place
    after: str = ""  # the command follows this word only: `nix develop -c cmd`
    repeated: bool = False
    shell: str = ""  # what runs when no command is given and standard input is read: `su`, `ssh`
    directory: str = ""  # options that say where it runs: `env -C dir`
    only_text: bool = False  # without a text option there is no inner command
    login: str = ""  # options with which the words are text for a shell: `sudo -s`
    program: str = ""  # options whose value is the program itself: `docker run --entrypoint`
    split: bool = False  # the words that follow go on with the text: `env -S 'cmd a' b`


_SSH = "B b c D E e F I i J L l m O o p Q R S W w"
_SUDO = (
    "C --close-from D --chdir g --group h --host p --prompt R --chroot r --role t --type T --command-timeout U "
    "--other-user u --user a c"
)
_STRACE = (
    "a --columns b --detach-on e --trace E --env I --interruptible o --output O p --attach P --trace-path s "
    "--string-limit S u --user X"
)

WRAPPERS: dict[str, Wrapper] = {
    # Other rights
    "sudo": Wrapper(_SUDO, assignments=True, directory="-D --chdir", login="-s -i --shell --login"),
    "doas": Wrapper("a C u", login="-s"),
    "pkexec": Wrapper("--user"),
    "gosu": Wrapper(skip=1),
    "su-exec": Wrapper(skip=1),
    "setuidgid": Wrapper(skip=1),
    "chpst": Wrapper("u U b e / n l L P m d o p f c"),
    "setpriv": Wrapper(
        "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig "
        "--selinux-label --apparmor-profile"
    ),
    "su": Wrapper(
        "c --command s --shell g --group G --supp-group T w --whitelist-environment",
        text="-c --command",
        only_text=True,
        shell="sh",
    ),
    "runuser": Wrapper("u --user c --command s --shell g --group G --supp-group w", text="-c --command", shell="sh"),
    "sg": Wrapper(skip=1, joined=True, text="-c"),
    "capsh": Wrapper("", after="--", shell="sh"),
    "runas": Wrapper("", joined=True),
    "aa-exec": Wrapper("p --profile n --namespace"),
    "run0": Wrapper("u --user g --group D --chdir --unit --slice --setenv", directory="-D --chdir"),
    "fakeroot": Wrapper("l --lib --faked s i"),
    "fakechroot": Wrapper("l --lib b c e d"),
    "proot": Wrapper("r R b m q w v k 0"),
    # Other surroundings
    "env": Wrapper(
        "u --unset C --chdir --argv0 a P",
        assignments=True,
        text="-S --split-string",
        split=True,
        directory="-C --chdir",
    ),
    "chroot": Wrapper("--userspec --groups", skip=1),
    "unshare": Wrapper(
        "R --root w --wd S --setuid G --setgid --propagation --setgroups --kill-child --map-user --map-group "
        "--map-users --map-groups --monotonic --boottime",
        directory="-w --wd",
    ),
    "nsenter": Wrapper("t --target S --setuid G --setgid W"),
    "bwrap": Wrapper("", after="--"),
    "firejail": Wrapper(""),
    "systemd-run": Wrapper(
        "p --property u --unit E --setenv --description --slice --uid --gid --nice --on-active --on-calendar "
        "--on-boot --timer-property H --host M --machine --working-directory --service-type",
        directory="--working-directory",
    ),
    "systemd-inhibit": Wrapper("--what --who --why --mode"),
    "dbus-run-session": Wrapper("--config-file --dbus-daemon"),
    "dbus-launch": Wrapper("--autolaunch"),
    "xvfb-run": Wrapper("e --error-file f --auth-file n --server-num p --xauth-protocol s --server-args w --wait"),
    "linux32": Wrapper(""),
    "linux64": Wrapper(""),
    "setarch": Wrapper("", skip=1),
    "arch": Wrapper("e"),
    "faketime": Wrapper("p", skip=1),
    "eatmydata": Wrapper(""),
    "shx": Wrapper(""),
    "fab": Wrapper("H --hosts i --identity c --collection", after="--", joined=True, host="fab"),
    "cgexec": Wrapper("g"),
    "trickle": Wrapper("d u w t l n"),
    "timelimit": Wrapper("T t S s"),
    "annotate-output": Wrapper(""),
    "sem": Wrapper("j --jobs --id", joined=True),
    "arch-chroot": Wrapper("u", skip=1),
    "schroot": Wrapper("c --chroot u --user d --directory p n s", after="--", directory="-d --directory"),
    "sandbox-exec": Wrapper("p f n D"),
    "envdir": Wrapper(skip=1),
    "envuidgid": Wrapper(skip=1),
    "s6-setuidgid": Wrapper(skip=1),
    "s6-envdir": Wrapper(skip=1),
    "with-contenv": Wrapper(""),
    "scl": Wrapper("", after="--"),
    "srun": Wrapper(
        "n --ntasks N --nodes p --partition t --time c --cpus-per-task J --job-name w --nodelist A --account"
    ),
    "sbatch": Wrapper("", text="--wrap", only_text=True),
    "mpirun": Wrapper("n np -np c H host -host --host --hostfile machinefile x -x --map-by --bind-to"),
    "mpiexec": Wrapper("n np -np c H host -host --host --hostfile f x -x"),
    "scan-build": Wrapper("o"),
    "bear": Wrapper("", after="--"),
    "py-spy": Wrapper("", after="--"),
    "gdbserver": Wrapper("", skip=1),
    "lldb": Wrapper("", after="--"),
    "dockerize": Wrapper("wait timeout template stdout stderr -wait -timeout -template -stdout -stderr"),
    "wait-for-it": Wrapper("", after="--"),
    "wait-for-it.sh": Wrapper("", after="--"),
    "wait-for": Wrapper("", after="--"),
    "dotenv": Wrapper("f --file e --env-file", after="--"),
    "dotenvx": Wrapper("f --env-file", after="--"),
    "env-cmd": Wrapper("f --file e --environments r --rc-file"),
    "cross-env": Wrapper("", assignments=True),
    "cross-env-shell": Wrapper("", assignments=True, joined=True),
    "nix-shell": Wrapper("p --packages", text="--run --command", only_text=True),
    "uvx": Wrapper("p --python --with --from"),
    "npx": Wrapper("p --package --cache --userconfig", text="-c --call"),
    "bunx": Wrapper("p --package"),
    "pnpx": Wrapper("p --package"),
    # Timing, priority, output
    "time": Wrapper("f --format o --output"),
    "gtime": Wrapper("f --format o --output"),
    "timeout": Wrapper("k --kill-after s --signal", skip=1),
    "gtimeout": Wrapper("k --kill-after s --signal", skip=1),
    "nice": Wrapper("n --adjustment"),
    "ionice": Wrapper("c --class n --classdata p --pid P u"),
    "chrt": Wrapper("T --sched-runtime P --sched-period D --sched-deadline", skip=1),
    "taskset": Wrapper("", skip=1),
    "numactl": Wrapper("N --cpunodebind C --physcpubind m --membind p --preferred i --interleave"),
    "cpulimit": Wrapper("l --limit p --pid e --exe"),
    "prlimit": Wrapper("p --pid o --output"),
    "nohup": Wrapper(""),
    "setsid": Wrapper(""),
    "stdbuf": Wrapper("i --input o --output e --error"),
    "unbuffer": Wrapper(""),
    "rlwrap": Wrapper(
        "f --file H --history-filename b --break-chars s --histsize C --command-name P --pre-given S "
        "--substitute-prompt"
    ),
    "caffeinate": Wrapper("t w"),
    "catchsegv": Wrapper(""),
    "strace": Wrapper(_STRACE),
    "ltrace": Wrapper("a e o p s u l n x F D"),
    "dtruss": Wrapper("p n t"),
    "valgrind": Wrapper(""),
    "heaptrack": Wrapper("o --output"),
    "gdb": Wrapper("", after="--args"),
    "script": Wrapper(
        "c --command I --log-in O --log-out B --log-io T --log-timing m o --output-limit t E",
        text="-c --command",
        only_text=True,
    ),
    "logsave": Wrapper("", skip=1),
    "multitime": Wrapper("n s i o r f"),
    "setlock": Wrapper("", skip=1),
    "softlimit": Wrapper("a c d f l m o p r s t"),
    "openvt": Wrapper("c", after="--"),
    "genie": Wrapper("", text="-c --command", only_text=True),
    "distcc": Wrapper(""),
    "ccache": Wrapper(""),
    "sccache": Wrapper(""),
    "pexec": Wrapper("", after="--"),
    "tmate": Wrapper("", text="-c"),
    "systemd-cat": Wrapper("t --identifier p --priority --stderr-priority --level-prefix"),
    "chronic": Wrapper(""),
    "ifne": Wrapper(""),
    **dict.fromkeys(
        (
            "ld.so",
            "ld-linux-x86-64.so.2",
            "ld-linux-aarch64.so.1",
            "ld-linux.so.2",
            "ld-musl-x86_64.so.1",
            "ld-musl-aarch64.so.1",
        ),
        Wrapper("--library-path --preload --argv0 --audit"),
    ),
    **dict.fromkeys(
        (
            "qemu-x86_64",
            "qemu-x86_64-static",
            "qemu-aarch64",
            "qemu-aarch64-static",
            "qemu-arm",
            "qemu-arm-static",
            "qemu-i386",
            "box64",
        ),
        Wrapper("L E U s cpu g D"),
    ),
    "with-lock-ex": Wrapper("", skip=1),
    # Repetition
    "watch": Wrapper("n --interval q --equexit", joined=True, repeated=True),
    "hyperfine": Wrapper(
        "w --warmup m --min-runs M --max-runs r --runs s --setup p --prepare c --cleanup P --parameter-scan L "
        "--parameter-list S --shell i --export-json n --command-name",
        joined=True,
        repeated=True,
        text="-s --setup -p --prepare -c --cleanup",
    ),
    "entr": Wrapper("", text="-s", repeated=True),
    "watchexec": Wrapper("e --exts w --watch i --ignore d --debounce s --signal f --filter --shell", repeated=True),
    "nodemon": Wrapper("w --watch e --ext i --ignore --delay", text="-x --exec", only_text=True, repeated=True),
    "chokidar": Wrapper("", text="-c --command", only_text=True, repeated=True),
    "concurrently": Wrapper("n --names c --prefix-colors p --prefix", joined=True),
    "retry": Wrapper("t d m", repeated=True),
    # Locks, sessions, terminals
    "flock": Wrapper("w --wait --timeout E --conflict-exit-code", skip=1, text="-c --command"),
    "dumb-init": Wrapper("r --rewrite"),
    "tini": Wrapper("p e"),
    "sshpass": Wrapper("p f d P"),
    "ssh-agent": Wrapper("a E O P t"),
    "torsocks": Wrapper(""),
    "torify": Wrapper(""),
    "proxychains": Wrapper("f"),
    "proxychains4": Wrapper("f"),
    "tsocks": Wrapper(""),
    "setuid": Wrapper(skip=1),
    "start-stop-daemon": Wrapper(
        "p --pidfile u --user c --chuid g --group n --name d --chdir x --exec a --startas",
        text="-x --exec -a --startas",
        only_text=True,
    ),
    "daemonize": Wrapper("a c e o p l u E"),
    "screen": Wrapper("c e h L p s S t T X r x"),
    "dtach": Wrapper("e r", skip=1),
    "xterm": Wrapper("", after="-e"),
    "gnome-terminal": Wrapper("", after="-- -e -x"),
    "konsole": Wrapper("", after="-e"),
    "kitty": Wrapper(""),
    "alacritty": Wrapper("", after="-e --command"),
    # Elsewhere
    "ssh": Wrapper(_SSH, skip=1, joined=True, host="1", shell="sh"),
    "autossh": Wrapper(_SSH + " M", skip=1, joined=True, host="1"),
    "mosh": Wrapper("p --port --ssh --server --client", skip=1, host="1"),
    "dbclient": Wrapper("p l i L R W K I J c m", skip=1, joined=True, host="1"),
    "rsh": Wrapper("l", skip=1, joined=True, host="1"),
    "lxc-attach": Wrapper(
        "n --name e --elevated-privileges s --namespaces v --set-var P --lxcpath", host="lxc", after="--"
    ),
    "systemd-nspawn": Wrapper(
        "D --directory i --image M --machine u --user --bind --bind-ro E --setenv", host="nspawn"
    ),
    "distrobox-enter": Wrapper("n --name", after="-- -e"),
    "lima": Wrapper("", host="lima"),
    "wsl": Wrapper("d --distribution u --user --cd", after="-- -e --exec"),
    "wsl.exe": Wrapper("d --distribution u --user --cd", after="-- -e --exec"),
    "pdsh": Wrapper("w x R l t u f g", joined=True, host="pdsh"),
    "pssh": Wrapper("h H l p o e t O x X", joined=True, host="pssh"),
    "parallel-ssh": Wrapper("h H l p o e t O x X", joined=True, host="pssh"),
    "clush": Wrapper("w x g X l f t u o b", joined=True, host="clush"),
    "mussh": Wrapper("h H l p o", text="-c", only_text=True, host="mussh"),
    "salt": Wrapper("b --batch-size t --timeout --out", skip=2, joined=True, host="1"),
    "salt-call": Wrapper("--out l --log-level c --config-dir", skip=1, joined=True),
    # The shell's own
    "command": Wrapper(""),
    "builtin": Wrapper(""),
    "exec": Wrapper("a"),
    "eval": Wrapper("", joined=True),
    "noglob": Wrapper(""),
    "nocorrect": Wrapper(""),
    "busybox": Wrapper(""),
    "toybox": Wrapper(""),
    "coproc": Wrapper(""),
}
