"""Programs that run another command: how to find it among their words. One row each."""

from functools import lru_cache

from verdikt.model.value import Value
from verdikt.shell.command import Word


class Wrapper(Value):
    """Where the inner command stands: after the options, `skip` further words and, for some, assignments."""

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


SUBCOMMANDS: dict[str, str] = {
    "docker": "H --host --context c --config l --log-level --tlscacert --tlscert --tlskey",
    "podman": "--connection c --url --root --runroot --log-level --identity --cgroup-manager --storage-driver",
    "nerdctl": "n --namespace a --address --host H",
    "docker compose": "f --file p --project-name --profile --env-file --project-directory --ansi --parallel --progress",
    "podman compose": "f --file p --project-name --profile --env-file --project-directory",
    "docker-compose": "f --file p --project-name --profile --env-file --project-directory --ansi H --host c --context",
    "docker container": "",
    "podman container": "",
    "kubectl": "n --namespace --context --cluster --kubeconfig --user s --server --token --as --as-group --request-timeout v",
    "oc": "n --namespace --context --cluster --kubeconfig --user s --server --token --as",
    "lxc": "--project",
    "incus": "--project",
    "poetry": "C --directory P --project",
    "uv": "--directory --project --config-file --cache-dir --python-preference --color",
    "pipenv": "--python",
    "pdm": "p --project c --config",
    "hatch": "e --env p --project --data-dir --cache-dir --config",
    "rye": "",
    "pixi": "",
    "conda": "",
    "mamba": "",
    "micromamba": "",
    "direnv": "",
    "nix": "",
    "mise": "C --cd",
    "asdf": "",
    "rbenv": "",
    "pyenv": "",
    "nodenv": "",
    "bundle": "",
    "npm": "--prefix C --workspace w --loglevel --registry --cache --userconfig",
    "pnpm": "C --dir --filter F w --loglevel --workspace-concurrency",
    "yarn": "--cwd",
    "bun": "--cwd --config c --filter",
    "op": "--account --config --session",
    "doppler": "",
    "aws-vault": "--backend",
    "chamber": "",
    "infisical": "",
    "vagrant": "",
    "gcloud": "--project --account --configuration",
    "gcloud compute": "",
    "fly": "",
    "flyctl": "",
    "heroku": "",
    "adb": "s t H P L",
    "machinectl": "",
    "toolbox": "",
    "distrobox": "",
    "multipass": "",
    "limactl": "",
    "gh": "",
    "deno": "",
    "go": "",
    "cargo": "",
    "perf": "",
    "rr": "",
    "systemd": "",
    "ip": "n --netns",
    "ip netns": "",
    "dotnet": "",
    "devbox": "",
    "devcontainer": "",
    "ddev": "",
    "lando": "",
    "sail": "",
    "tsh": "--proxy --user l",
    "jj": "R --repository",
    "xdotool": "",
    "nomad": "address region namespace",
    "nomad alloc": "",
    "consul": "",
    "cf": "",
    "eb": "",
    "railway": "",
    "netlify": "",
    "crictl": "r --runtime-endpoint c --config",
    "ctr": "n --namespace a --address",
    "ctr task": "",
    "runc": "--root --log",
    "buildah": "--root",
    "singularity": "",
    "apptainer": "",
    "minikube": "p --profile",
    "colima": "p --profile",
    "podman machine": "",
    "pct": "",
    "qm": "",
    "qm guest": "",
    "doctl": "t --access-token c --config",
    "doctl compute": "",
    "k3s": "",
    "k3s kubectl": "n --namespace --context",
    "microk8s": "",
    "microk8s kubectl": "n --namespace --context",
    "composer": "d --working-dir",
    "sops": "",
    "teller": "c --config",
    "rustup": "",
    "volta": "",
    "fnm": "",
    "nvm": "",
    "lerna": "",
    "nx": "",
    "guix": "",
    "nsys": "",
    "repo": "",
    "gem": "",
}
"""Programs whose rows are keyed by a subcommand, and their own options that take a value before it."""

_DOCKER_RUN = (
    "a --attach --add-host --annotation --blkio-weight --cap-add --cap-drop --cgroup-parent --cgroupns --cidfile --cpu-period "
    "--cpu-quota c --cpu-shares --cpus --cpuset-cpus --cpuset-mems --device --device-cgroup-rule --dns --dns-option --dns-search "
    "--domainname --entrypoint e --env --env-file --expose --gpus --group-add --health-cmd --health-interval --health-retries "
    "--health-start-period --health-timeout h --hostname --ip --ip6 --ipc --isolation l --label --label-file --link --log-driver "
    "--log-opt --mac-address m --memory --memory-reservation --memory-swap --mount --name --net --network --network-alias "
    "--oom-score-adj --pid --pids-limit --platform p --publish --pull --restart --runtime --security-opt --shm-size --stop-signal "
    "--stop-timeout --storage-opt --sysctl --tmpfs --ulimit u --user --userns --uts v --volume --volume-driver --volumes-from w --workdir"
)
_DOCKER_EXEC = "e --env --env-file u --user w --workdir --detach-keys"
_COMPOSE_EXEC = "e --env --index u --user w --workdir"
_COMPOSE_RUN = "e --env l --label p --publish u --user v --volume w --workdir --name --entrypoint --cap-add --cap-drop"
_KUBECTL = (
    "n --namespace --context --cluster --kubeconfig --user s --server --token --as --as-group --request-timeout v"
)
_KUBECTL_EXEC = f"{_KUBECTL} c --container f --filename --pod-running-timeout"
_SSH = "B b c D E e F I i J L l m O o p Q R S W w"
_SUDO = "C --close-from D --chdir g --group h --host p --prompt R --chroot r --role t --type T --command-timeout U --other-user u --user a c"
_STRACE = "a --columns b --detach-on e --trace E --env I --interruptible o --output O p --attach P --trace-path s --string-limit S u --user X"
_UV_RUN = "p --python w --with --with-editable --with-requirements --extra --group --no-group --only-group --package --env-file --index-url i --directory --project"

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
        "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig --selinux-label --apparmor-profile"
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
        "R --root w --wd S --setuid G --setgid --propagation --setgroups --kill-child --map-user --map-group --map-users --map-groups --monotonic --boottime",
        directory="-w --wd",
    ),
    "nsenter": Wrapper("t --target S --setuid G --setgid W"),
    "bwrap": Wrapper("", after="--"),
    "firejail": Wrapper(""),
    "systemd-run": Wrapper(
        "p --property u --unit E --setenv --description --slice --uid --gid --nice --on-active --on-calendar --on-boot --timer-property H --host M --machine --working-directory --service-type",
        directory="--working-directory",
    ),
    "systemd-inhibit": Wrapper("--what --who --why --mode"),
    "dbus-run-session": Wrapper("--config-file --dbus-daemon"),
    "dbus-launch": Wrapper("--autolaunch"),
    "xvfb-run": Wrapper("e --error-file f --auth-file n --server-num p --xauth-protocol s --server-args w --wait"),
    "ip netns exec": Wrapper(skip=1),
    "linux32": Wrapper(""),
    "linux64": Wrapper(""),
    "setarch": Wrapper("", skip=1),
    "arch": Wrapper("e"),
    "faketime": Wrapper("p", skip=1),
    "eatmydata": Wrapper(""),
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
    "sops exec-env": Wrapper("--user", skip=1, joined=True),
    "sops exec-file": Wrapper("--user --filename", skip=1, joined=True),
    "teller run": Wrapper("", after="--"),
    "rustup run": Wrapper("", skip=1),
    "volta run": Wrapper("--node --npm --yarn"),
    "fnm exec": Wrapper("--using"),
    "nvm exec": Wrapper("", skip=1),
    "lerna exec": Wrapper("", after="--"),
    "nx exec": Wrapper("", after="--"),
    "guix shell": Wrapper("", after="--"),
    "repo forall": Wrapper("g --groups r --regex j --jobs", text="-c --command", only_text=True, repeated=True),
    "nsys profile": Wrapper("o --output t --trace"),
    "direnv exec": Wrapper(skip=1),
    "dotenv": Wrapper("f --file e --env-file", after="--"),
    "dotenvx": Wrapper("f --env-file", after="--"),
    "env-cmd": Wrapper("f --file e --environments r --rc-file"),
    "cross-env": Wrapper("", assignments=True),
    "cross-env-shell": Wrapper("", assignments=True, joined=True),
    "op run": Wrapper("--env-file", after="--"),
    "doppler run": Wrapper("p --project c --config t --token", text="--command", after="--"),
    "aws-vault exec": Wrapper("d --duration n m --mfa-token", skip=1),
    "chamber exec": Wrapper("", after="--"),
    "infisical run": Wrapper("", after="--"),
    "nix develop": Wrapper("", after="-c --command"),
    "nix shell": Wrapper("", after="-c --command"),
    "nix-shell": Wrapper("p --packages", text="--run --command", only_text=True),
    "devbox run": Wrapper(""),
    "poetry run": Wrapper(""),
    "uv run": Wrapper(_UV_RUN),
    "uvx": Wrapper("p --python --with --from"),
    "uv tool run": Wrapper("p --python --with --from"),
    "pipx run": Wrapper("--spec --python"),
    "pipenv run": Wrapper(""),
    "pdm run": Wrapper("p --project"),
    "hatch run": Wrapper(""),
    "rye run": Wrapper(""),
    "pixi run": Wrapper("e --environment"),
    "conda run": Wrapper("n --name p --prefix --cwd", directory="--cwd"),
    "mamba run": Wrapper("n --name p --prefix --cwd"),
    "micromamba run": Wrapper("n --name p --prefix --cwd"),
    "mise exec": Wrapper("C --cd j --jobs", after="--", text="-c --command"),
    "mise x": Wrapper("C --cd j --jobs", after="--", text="-c --command"),
    "asdf exec": Wrapper(""),
    "rbenv exec": Wrapper(""),
    "pyenv exec": Wrapper(""),
    "nodenv exec": Wrapper(""),
    "bundle exec": Wrapper(""),
    "npx": Wrapper("p --package --cache --userconfig", text="-c --call"),
    "bunx": Wrapper("p --package"),
    "pnpx": Wrapper("p --package"),
    "npm exec": Wrapper("p --package --workspace w", text="-c --call"),
    "npm x": Wrapper("p --package --workspace w", text="-c --call"),
    "pnpm exec": Wrapper("--filter F"),
    "pnpm dlx": Wrapper("--package"),
    "yarn exec": Wrapper(""),
    "yarn dlx": Wrapper("p --package"),
    "bun x": Wrapper("p --package"),
    "dotnet exec": Wrapper(""),
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
        "f --file H --history-filename b --break-chars s --histsize C --command-name P --pre-given S --substitute-prompt"
    ),
    "caffeinate": Wrapper("t w"),
    "catchsegv": Wrapper(""),
    "strace": Wrapper(_STRACE),
    "ltrace": Wrapper("a e o p s u l n x F D"),
    "dtruss": Wrapper("p n t"),
    "valgrind": Wrapper(""),
    "heaptrack": Wrapper("o --output"),
    "perf stat": Wrapper("e --event r --repeat o --output p --pid C --cpu"),
    "perf record": Wrapper("e --event o --output F --freq p --pid C --cpu g"),
    "rr record": Wrapper(""),
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
    "with-lock-ex": Wrapper("", skip=1),
    "xdotool exec": Wrapper("--terminator --args"),
    "composer exec": Wrapper(""),
    "gem exec": Wrapper("g --gem"),
    "cargo watch": Wrapper(
        "w --watch i --ignore d --delay", text="-s --shell -x --exec", only_text=True, repeated=True
    ),
    # Repetition
    "watch": Wrapper("n --interval q --equexit", joined=True, repeated=True),
    "hyperfine": Wrapper(
        "w --warmup m --min-runs M --max-runs r --runs s --setup p --prepare c --cleanup P --parameter-scan L --parameter-list S --shell i --export-json n --command-name",
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
    "tsh ssh": Wrapper("l p --cluster", skip=1, joined=True, host="1"),
    "gcloud compute ssh": Wrapper("--zone --project --ssh-key-file", text="--command", only_text=True, host="gcloud"),
    "vagrant ssh": Wrapper("", text="-c --command", only_text=True, host="vagrant"),
    "fly ssh": Wrapper("a --app", text="-C --command", only_text=True, host="fly"),
    "flyctl ssh": Wrapper("a --app", text="-C --command", only_text=True, host="fly"),
    "heroku run": Wrapper("a --app", joined=True, host="heroku"),
    "adb shell": Wrapper("", joined=True, host="adb", shell="sh"),
    "docker exec": Wrapper(_DOCKER_EXEC, skip=1, host="1"),
    "docker container exec": Wrapper(_DOCKER_EXEC, skip=1, host="1"),
    "docker run": Wrapper(_DOCKER_RUN, skip=1, host="1", program="--entrypoint"),
    "docker container run": Wrapper(_DOCKER_RUN, skip=1, host="1", program="--entrypoint"),
    "docker compose exec": Wrapper(_COMPOSE_EXEC, skip=1, host="1"),
    "docker compose run": Wrapper(_COMPOSE_RUN, skip=1, host="1", program="--entrypoint"),
    "docker-compose exec": Wrapper(_COMPOSE_EXEC, skip=1, host="1"),
    "docker-compose run": Wrapper(_COMPOSE_RUN, skip=1, host="1", program="--entrypoint"),
    "podman exec": Wrapper(_DOCKER_EXEC, skip=1, host="1"),
    "podman container exec": Wrapper(_DOCKER_EXEC, skip=1, host="1"),
    "podman run": Wrapper(_DOCKER_RUN, skip=1, host="1", program="--entrypoint"),
    "podman container run": Wrapper(_DOCKER_RUN, skip=1, host="1", program="--entrypoint"),
    "podman compose exec": Wrapper(_COMPOSE_EXEC, skip=1, host="1"),
    "podman compose run": Wrapper(_COMPOSE_RUN, skip=1, host="1", program="--entrypoint"),
    "nerdctl exec": Wrapper(_DOCKER_EXEC, skip=1, host="1"),
    "nerdctl run": Wrapper(_DOCKER_RUN, skip=1, host="1", program="--entrypoint"),
    "ddev exec": Wrapper("s --service d --dir", joined=True, host="ddev"),
    "lando ssh": Wrapper("s --service u --user", text="-c --command", only_text=True, host="lando"),
    "devcontainer exec": Wrapper("--workspace-folder --container-id", host="devcontainer"),
    "kubectl exec": Wrapper(_KUBECTL_EXEC, skip=1, host="1", after="--"),
    "kubectl run": Wrapper(
        f"{_KUBECTL} --image --env --port --restart --overrides l --labels", skip=1, host="1", after="--"
    ),
    "kubectl debug": Wrapper(
        f"{_KUBECTL} --image c --container --target --copy-to --profile", skip=1, host="1", after="--"
    ),
    "oc exec": Wrapper(_KUBECTL_EXEC, skip=1, host="1", after="--"),
    "oc rsh": Wrapper(f"{_KUBECTL} c --container", skip=1, host="1"),
    "lxc exec": Wrapper("--env --mode --user --group --cwd", skip=1, host="1", after="--"),
    "incus exec": Wrapper("--env --mode --user --group --cwd", skip=1, host="1", after="--"),
    "lxc-attach": Wrapper(
        "n --name e --elevated-privileges s --namespaces v --set-var P --lxcpath", host="lxc", after="--"
    ),
    "machinectl shell": Wrapper("E --setenv --uid", skip=1, host="1"),
    "systemd-nspawn": Wrapper(
        "D --directory i --image M --machine u --user --bind --bind-ro E --setenv", host="nspawn"
    ),
    "toolbox run": Wrapper("c --container d --distro r --release"),
    "distrobox enter": Wrapper("n --name", after="-- -e"),
    "distrobox-enter": Wrapper("n --name", after="-- -e"),
    "multipass exec": Wrapper("d --working-directory", skip=1, host="1", after="--"),
    "limactl shell": Wrapper("--workdir --shell", skip=1, host="1"),
    "lima": Wrapper("", host="lima"),
    "wsl": Wrapper("d --distribution u --user --cd", after="-- -e --exec"),
    "wsl.exe": Wrapper("d --distribution u --user --cd", after="-- -e --exec"),
    "pdsh": Wrapper("w x R l t u f g", joined=True, host="pdsh"),
    "pssh": Wrapper("h H l p o e t O v A i x X", joined=True, host="pssh"),
    "parallel-ssh": Wrapper("h H l p o e t O v A i x X", joined=True, host="pssh"),
    "clush": Wrapper("w x g X l f t u o b", joined=True, host="clush"),
    "mussh": Wrapper("h H l p o", text="-c", only_text=True, host="mussh"),
    "salt": Wrapper("b --batch-size t --timeout --out", skip=2, joined=True, host="1"),
    "salt-call": Wrapper("--out l --log-level c --config-dir", skip=1, joined=True),
    "nomad alloc exec": Wrapper("task job i t e", skip=1, host="1"),
    "consul exec": Wrapper("node service tag", joined=True, host="consul"),
    "cf ssh": Wrapper("i --app-instance-index", text="-c --command", only_text=True, host="cf"),
    "eb ssh": Wrapper("n --number i --instance", text="-c --command", only_text=True, host="eb"),
    "railway run": Wrapper("s --service e --environment"),
    "netlify dev:exec": Wrapper(""),
    "crictl exec": Wrapper("", skip=1, host="1"),
    "ctr task exec": Wrapper("--exec-id --cwd --user", skip=1, host="1"),
    "runc exec": Wrapper("e --env u --user --cwd --pid-file", skip=1, host="1"),
    "buildah run": Wrapper("v --volume --user --workingdir", skip=1, host="1", after="--"),
    "singularity exec": Wrapper("B --bind H --home --pwd W --workdir", skip=1),
    "apptainer exec": Wrapper("B --bind H --home --pwd W --workdir", skip=1),
    "minikube ssh": Wrapper("n --node", host="minikube", joined=True, after="--"),
    "colima ssh": Wrapper("p --profile", host="colima", after="--"),
    "podman machine ssh": Wrapper("", skip=1, host="1", joined=True),
    "pct exec": Wrapper("", skip=1, host="1", after="--"),
    "qm guest exec": Wrapper("--timeout", skip=1, host="1", after="--"),
    "doctl compute ssh": Wrapper("--ssh-user --ssh-port", text="--ssh-command", only_text=True, host="doctl"),
    "npm explore": Wrapper("", skip=1, after="--"),
    "docker create": Wrapper(_DOCKER_RUN, skip=1, host="1", program="--entrypoint"),
    "k3s kubectl exec": Wrapper(_KUBECTL_EXEC, skip=1, host="1", after="--"),
    "microk8s kubectl exec": Wrapper(_KUBECTL_EXEC, skip=1, host="1", after="--"),
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


@lru_cache(maxsize=512)
def valued(spec: str) -> frozenset[str]:
    """The options of a row that take a value, with their dashes; one that only takes it glued ends in `~`."""
    return frozenset(name if name.startswith("-") else f"-{name}" for name in spec.split())


Given = list[tuple[str, Word | None]]
"""Options with their values, as given."""


def options(words: list[Word], start: int, spec: str) -> tuple[Given, int]:
    """The options from `start` on, and the index of the first word that is none."""
    takes = valued(spec)
    found: Given = []
    at, count = start, len(words)
    while at < count:
        text = words[at].text
        if text == "--":
            return found, at + 1
        if len(text) < 2 or text[0] != "-":
            break
        at += 1
        for name, value in (
            _long(text, words[at - 1]) if text.startswith("--") else _letters(text, words[at - 1], takes)
        ):
            if value is None and name in takes and at < count:
                found.append((name, words[at]))
                at += 1
            else:
                found.append((name, value))
    return found, at


def permuted(words: list[Word], start: int, spec: str) -> tuple[Given, list[Word]]:
    """Options wherever they stand, and the other words."""
    found: Given = []
    others: list[Word] = []
    at = start
    while at < len(words):
        more, at = options(words, at, spec)
        found += more
        others += words[at : at + 1]
        at += 1
    return found, others


def _long(text: str, word: Word) -> Given:
    name, equals, value = text.partition("=")
    return [(name, Word(value, word.raw) if equals else None)]


def _letters(text: str, word: Word, takes: frozenset[str]) -> Given:
    """`-xvf file` letter by letter: what follows a letter that takes a value is that value."""
    if text in takes:
        return [(text, None)]
    found: Given = []
    for place in range(1, len(text)):
        name = f"-{text[place]}"
        rest = text[place + 1 :]
        if name in takes or f"{name}~" in takes:
            found.append((name, Word(rest, word.raw) if rest else None))
            break
        found.append((name, None))
    return found
