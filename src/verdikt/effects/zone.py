"""Which places on a machine matter, and why: the tables behind `Zone`."""

from __future__ import annotations

import re
from fnmatch import translate

from verdikt.effects.argv import word_set
from verdikt.hosts.registry import HOSTS
from verdikt.model.lazy_regex import compile_lazily

# Written with `~` for any home directory and `**` for anything below.
_OWN_GLOBS = """
governance.yaml ~/.config/verdikt/** ~/.local/share/verdikt/** /etc/verdikt/** .verdikt/**
bin/verdikt bin/verdikt-hook ~/Library/Application?Support/verdikt/**
"""


def _to_glob(file: str) -> str:
    """Return a file of a host's description in the notation of the tables below."""
    # The tables are split at blanks, so a blank in a name becomes the wildcard for one character.
    return f"{file}**".replace(" ", "?") if file.endswith("/") else file.replace(" ", "?")


# What a host wires, executes or takes permissions from stands in its description and nowhere else.
_HOST_FILES = tuple(file for host in HOSTS.values() for file in host.all_guarded_files)
_GUARD_GLOBS = " ".join((*_OWN_GLOBS.split(), *map(_to_glob, _HOST_FILES)))

_HOOK_GLOBS = ".git/hooks/** .git/hooks */.git/modules/*/hooks/** */.git/modules/*/hooks"

_PERSISTENCE_GLOBS = """
~/.bashrc ~/.bash_profile ~/.bash_login ~/.bash_logout ~/.bash_aliases ~/.profile ~/.zshrc ~/.zshenv ~/.zprofile ~/.zlogin ~/.zlogout
~/.kshrc ~/.cshrc ~/.tcshrc ~/.login ~/.xinitrc ~/.xsession ~/.xsessionrc ~/.xprofile ~/.pam_environment ~/.inputrc ~/.tmux.conf
~/.config/fish/** ~/.config/autostart/** ~/.config/systemd/** ~/.config/environment.d/** ~/.local/share/systemd/** ~/.local/share/autostart/**
~/.ssh/authorized_keys ~/.ssh/authorized_keys2 ~/.ssh/rc ~/.ssh/config ~/.ssh/environment ~/.gitconfig ~/.config/git/**
~/.config/powershell/** ~/.vimrc ~/.config/nvim/init.* ~/.emacs ~/.pythonrc ~/.Rprofile ~/.forward ~/.oh-my-zsh/** ~/.zsh/**
~/Library/LaunchAgents/** ~/Library/LaunchDaemons/** /Library/LaunchAgents/** /Library/LaunchDaemons/** /Library/StartupItems/**
.git/config .git/config.worktree .git/info/attributes */.git/modules/*/config */.git/modules/*/info/attributes */.git/worktrees/*/config.worktree
/etc/cron* /etc/cron*/** /var/spool/cron/** /var/spool/at/** /etc/anacrontab /etc/rc.local /etc/rc*.d/** /etc/init.d/** /etc/init/** /etc/inittab
/etc/systemd/** /lib/systemd/** /usr/lib/systemd/** /usr/local/lib/systemd/** /run/systemd/system/** /etc/xdg/autostart/** /etc/xinetd.d/**
/etc/profile /etc/profile.d/** /etc/bash.bashrc /etc/bashrc /etc/bash_completion.d/** /etc/zsh/** /etc/zshrc /etc/zshenv /etc/zprofile /etc/environment
/etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d/** /etc/pam.d/** /etc/sudoers /etc/sudoers.d/** /etc/passwd /etc/group /etc/ssh/sshd_config /etc/ssh/sshd_config.d/**
/etc/udev/rules.d/** /etc/modules /etc/modules-load.d/** /etc/modprobe.d/** /etc/apt/apt.conf.d/** /etc/update-motd.d/** /etc/NetworkManager/dispatcher.d/**
/etc/gitconfig /etc/hosts.allow /etc/doas.conf /etc/at.allow /etc/cron.allow /etc/polkit-1/** /etc/skel/** /etc/launchd.conf /etc/periodic/**
*/site-packages/*.pth */sitecustomize.py */usercustomize.py
"""

_SECRET_GLOBS = """
~/.ssh ~/.ssh/** ~/.aws ~/.aws/** ~/.gnupg ~/.gnupg/** ~/.kube ~/.kube/config ~/.kube/*config* ~/.docker/config.json ~/.azure ~/.azure/**
~/.config/gcloud ~/.config/gcloud/** ~/.config/gh/hosts.yml ~/.config/glab-cli/config.yml ~/.config/hub ~/.config/op/** ~/.config/rclone/rclone.conf
~/.config/doctl/** ~/.config/containers/auth.json ~/.config/sops/** ~/.config/age/** ~/.config/heroku/** ~/.config/stripe/** ~/.config/github-copilot/**
~/.netrc ~/_netrc ~/.git-credentials ~/.config/git/credentials ~/.npmrc ~/.yarnrc ~/.yarnrc.yml ~/.pypirc ~/.cargo/credentials ~/.cargo/credentials.toml ~/.gem/credentials
~/.bundle/config ~/.m2/settings.xml ~/.m2/settings-security.xml ~/.gradle/gradle.properties ~/.nuget/NuGet/NuGet.Config ~/.composer/auth.json ~/.config/composer/auth.json
~/.terraform.d/credentials.tfrc.json ~/.terraformrc ~/.vault-token ~/.password-store ~/.password-store/** ~/.local/share/keyrings ~/.local/share/keyrings/**
~/.pgpass ~/.my.cnf ~/.mylogin.cnf ~/.dbshell ~/.s3cfg ~/.boto ~/.fly/config.yml ~/.oci/** ~/.databrickscfg ~/.snowflake/** ~/.snowsql/config ~/.pulumi/credentials.json
~/.huggingface/token ~/.cache/huggingface/token ~/.claude/.credentials.json ~/.codex/auth.json ~/.gemini/oauth_creds.json ~/.kaggle/kaggle.json ~/.wrangler/config/**
~/.bash_history ~/.zsh_history ~/.history ~/.python_history ~/.node_repl_history ~/.psql_history ~/.mysql_history ~/.sqlite_history ~/.rediscli_history ~/.local/share/fish/fish_history
~/.bitcoin/** ~/.ethereum/** ~/.electrum/** ~/.config/solana/** ~/.config/solana/id.json ~/.mozilla/** ~/.config/google-chrome/** ~/.config/chromium/** ~/.config/BraveSoftware/** ~/.thunderbird/**
~/Library/Keychains ~/Library/Keychains/** ~/Library/Application?Support/Google/Chrome/** ~/Library/Application?Support/Firefox/** ~/Library/Cookies/** ~/.config/1Password/** ~/.1password/**
~/.config/Bitwarden** ~/.lastpass/** ~/.putty/** ~/.config/filezilla/** ~/.config/Slack/** ~/.subversion/auth/** ~/.tsh/** ~/.vnc/passwd ~/.ansible/vault* ~/.config/hcloud/** ~/.config/openstack/**
/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/security/opasswd /etc/master.passwd /etc/ssl/private /etc/ssl/private/** /etc/pki/tls/private/** /etc/ssh/ssh_host_*_key /etc/krb5.keytab
/etc/kubernetes/admin.conf /etc/kubernetes/pki/** /etc/rancher/k3s/k3s.yaml /etc/wireguard/** /etc/openvpn/*.key /etc/NetworkManager/system-connections/** /etc/letsencrypt/live/** /etc/letsencrypt/archive/**
/proc/*/environ /proc/*/mem /run/secrets/** /var/run/secrets/** /var/lib/docker/volumes/**/secrets/** /Library/Keychains/** /var/db/dslocal/** /etc/docker/key.json /etc/mysql/debian.cnf
"""

# By name alone, wherever they lie.
_SECRET_NAME_GLOBS = """
.env .env.* *.env id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk *.pem *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk *.asc.key *_rsa *.key
.netrc .pgpass .git-credentials .pypirc .htpasswd .vault_pass .vault-pass .vault_password master.key credentials.json client_secret*.json
service-account*.json service_account*.json serviceaccount*.json gcp-key*.json secrets.yml secrets.yaml secrets.json secrets.toml secrets.env .secrets .secret
kubeconfig *.kubeconfig terraform.tfstate terraform.tfstate.* *.tfstate wallet.dat key4.db logins.json Login?Data .dockercfg .s3cfg *.ovpn .boto auth.json.bak
"""

_NOT_SECRET = compile_lazily(
    r"(?:\.(?:pub|example|sample|template|dist|tmpl|defaults?|schema|md|ts|js|py|go|rs|java|rb|d\.ts)|known_hosts(?:\.old)?|\.ssh/config|\.env\.(?:test|ci|vault|development\.example)|(?:ca|cert|cacert|chain|fullchain|bundle|public|pubkey|pub)\w*\.pem|(?:ca|cert|tls|ssl)[-_](?:bundle|chain|cert|certs)\.pem|(?:cert|certificate|chain|bundle|public|pub|ca)\.pem|(?:example|sample|template)\.env)$"
)

BUILD_NAMES = word_set(
    "node_modules dist build target out __pycache__ .venv venv .pytest_cache .mypy_cache .ruff_cache .tox .nox coverage htmlcov .coverage "
    ".next .nuxt .svelte-kit .turbo .parcel-cache .cache .gradle .eggs obj bower_components Pods DerivedData _build .hypothesis "
    ".ipynb_checkpoints .DS_Store .nyc_output storybook-static .serverless .aws-sam .angular .expo .dart_tool .docusaurus .vite .output "
    ".vercel tmp temp .tmp .temp logs .terraform lib-cov test-results playwright-report .eslintcache .sass-cache .rpt2_cache .pytype "
    ".pyre .benchmarks _site public/build cdk.out elm-stuff .stack-work zig-cache zig-out .zig-cache wheelhouse .webpack .rollup.cache "
    ".swc .stryker-tmp allure-results reports junit.xml coverage.xml lcov.info nohup.out package-lock.json npm-shrinkwrap.json yarn.lock "
    "pnpm-lock.yaml bun.lock bun.lockb uv.lock poetry.lock Pipfile.lock Gemfile.lock Cargo.lock mix.lock pubspec.lock composer.lock Podfile.lock"
)
"""Names of what a build makes and can make again."""

_BUILD_NAME_PATTERN = compile_lazily(
    r"(?:\.(?:pyc|pyo|o|obj|a|pdb|class|log|tmp|swp|swo|bak|orig|rej|egg-info|tsbuildinfo|gcda|gcno|lcov|prof|coverage|map|cache|pid|lock~)|(?<=.)~)$"
    r"|^(?:cmake-build-|bazel-|\.coverage\.|npm-debug|yarn-error|core\.\d)"
)

CACHE_INFIXES = (
    "/.cache/",
    "/.npm/_cacache",
    "/Library/Caches/",
    "/.gradle/caches",
    "/.cargo/registry",
    "/go/pkg/mod",
    "/.pnpm-store",
    "/.yarn/cache",
    "/.m2/repository",
    "/.ivy2/cache",
    "/.cargo/git",
    "/.rustup/downloads",
    "/.nuget/packages",
    "/.pub-cache",
    "/.bun/install/cache",
    "/.local/share/pnpm/store",
    "/.conda/pkgs",
    "/.cocoapods/repos",
    "/Library/Developer/Xcode/DerivedData",
    "/Library/Developer/CoreSimulator/Caches",
)
"""Below a home: what programs fetch again by themselves."""

SYSTEM_DIRECTORIES = word_set(
    "bin sbin lib lib32 lib64 libx32 usr etc boot dev proc sys var opt root run snap nix System Library Applications private cores home "
    "Users Volumes lost+found srv"
)
"""Top-level directories that belong to the machine."""

_DISK_DEVICE = compile_lazily(
    r"/dev/(?:(?:sd|hd|vd|xvd)[a-z]+\d*|nvme\d.*|mmcblk\d.*|disk.*|rdisk.*|dm-\d+|md\d+|mapper/.*|loop\d+|sr\d|mem|kmem|port|nbd\d+|zd\d+|ram\d+)$"
)
_SINK_DEVICES = word_set(
    "/dev/null /dev/stdout /dev/stderr /dev/stdin /dev/tty /dev/zero /dev/full /dev/random /dev/urandom /dev/ptmx NUL"
)


class _GlobTable:
    """A table of globs, sorted into what a set, a prefix or a suffix can answer, so that few are left to be matched."""

    __slots__ = ("_exact", "_globs", "_infixes", "_prefixes", "_regex", "_suffixes")

    def __init__(self, table: str) -> None:
        exact, prefixes, suffixes, infixes, globs = set(), [], [], [], []
        for glob in table.split():
            anchored = glob.startswith(("~", "/"))
            trunk = glob.removesuffix("**")
            if "*" in trunk or "?" in trunk:
                globs.append(glob)
            elif anchored:
                exact.add(glob) if trunk == glob else prefixes.append(trunk)
            else:
                suffixes.append("/" + glob) if trunk == glob else infixes.append("/" + trunk)
        self._exact, self._globs = frozenset(exact), globs
        self._regex: re.Pattern[str] | None = None
        self._prefixes, self._suffixes, self._infixes = tuple(prefixes), tuple(suffixes), tuple(infixes)

    def __contains__(self, path: str) -> bool:
        if path in self._exact or path.startswith(self._prefixes) or path.endswith(self._suffixes):
            return True
        for infix in self._infixes:
            if infix in path:
                return True
        if self._regex is None:
            bodies = (translate(glob.replace("**", "*")) for glob in self._globs)
            self._regex = re.compile("|".join(f"(?:{body})" for body in bodies) or r"(?!)")
        return self._regex.match(path) is not None


_guard_paths, _hook_paths, _persistence_paths, _secret_paths = (
    _GlobTable(_GUARD_GLOBS),
    _GlobTable(_HOOK_GLOBS),
    _GlobTable(_PERSISTENCE_GLOBS),
    _GlobTable(_SECRET_GLOBS),
)
_secret_names = _GlobTable(" ".join("/" + name for name in _SECRET_NAME_GLOBS.split()))
_HOME_PREFIXES = ("/home/", "/root", "/Users/", "/var/root", "/export/home/")
_any_home = compile_lazily(r"^(?:/home/[^/]+|/root|/Users/[^/]+|/var/root|/export/home/[^/]+)(?=/|$)")


def abbreviate_home(path: str, home: str) -> str:
    """The path with its home directory, whosever it is, written `~`."""
    if home != "/" and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return _any_home.sub("~", path, count=1) if path.startswith(_HOME_PREFIXES) else path


def is_guard_path(path: str) -> bool:
    """Whether what lies there watches over an agent (`path` as `homely` writes it)."""
    return path in _guard_paths


def is_git_hook(path: str) -> bool:
    """Whether git runs what lies there."""
    return path in _hook_paths


def is_persistence(path: str) -> bool:
    """Whether what lies there runs again by itself, or says who may come in."""
    return path in _persistence_paths


def is_secret(path: str) -> bool:
    """Whether keys, tokens or passwords lie there."""
    if _NOT_SECRET.search(path):
        return False
    return path in _secret_paths or "/" + path.rsplit("/", 1)[-1] in _secret_names


_SPECIAL_SUFFIXES = tuple(
    "_rsa .pem .key .p12 .pfx .jks .keystore .kdbx .ppk .env .ovpn .kubeconfig .tfstate .pth .dat .db .bak .conf .plist".split()
)
_SPECIAL_NAMES = frozenset(
    "governance.yaml credentials.json logins.json kubeconfig verdikt verdikt-hook sitecustomize.py usercustomize.py "
    "_netrc".split()
) | {file.rpartition("/")[2] for file in _HOST_FILES if not file.endswith("/") and "/." not in f"/{file}"}
_SPECIAL_PREFIXES = ("id_", "client_secret", "service", "gcp-key", "secrets", "auth.json", "gen_", "terraform.tfstate")
_SPECIAL_DIRECTORIES = (
    "/etc",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
    "/var",
    "/run",
    "/proc",
    "/Library",
    "~/Library",
    "~/_",
)


def is_ordinary(path: str) -> bool:
    """Whether a path is surely none of the above, told at a glance: where it says no, the tables decide."""
    if "/." in path or path.startswith(_SPECIAL_DIRECTORIES) or "/Library/" in path:
        return False
    name = path[path.rfind("/") + 1 :]
    return not (
        name.endswith(_SPECIAL_SUFFIXES) or name.startswith(_SPECIAL_PREFIXES) or name in _SPECIAL_NAMES or " " in name
    )


def is_build_output(path: str) -> bool:
    """Whether a build can make again what lies there (`path` relative to the project)."""
    parts = path.split("/")
    return (
        not BUILD_NAMES.isdisjoint(parts)
        or _BUILD_NAME_PATTERN.search(parts[-1]) is not None
        or parts[-1].endswith(".egg-info")
    )


_SCRATCH_NAME = compile_lazily(
    r"(?:^|/)(?:(?:repro|reproduce|reproduction|scratch|tmp|temp|debug|sandbox|playground|poc)(?:[-_.\d]\w*)*|[\w-]+\.(?:py|js|ts|mjs|cjs|sh|rb|go|rs|c|cpp|java|json|txt|md|log|patch|diff|yaml|yml|toml|ini|csv|html|xml|out|zip|gz))$"
)


def is_scratch_file(path: str) -> bool:
    """Whether the name of what is not there says that it is one file, or was made to try something out."""
    return _SCRATCH_NAME.search(path.rstrip("/")) is not None


def is_cache(path: str) -> bool:
    """Whether it is a cache below a home directory."""
    return any(part in path for part in CACHE_INFIXES)


def is_device(path: str) -> bool:
    """Whether it is a disk, a partition or the memory itself."""
    return _DISK_DEVICE.match(path) is not None


def is_sink(path: str) -> bool:
    """Whether writing there changes nothing."""
    return path in _SINK_DEVICES or path.startswith(("/dev/fd/", "/dev/pts/", "/proc/self/fd/"))


def is_system(path: str) -> bool:
    """Whether it belongs to the machine rather than to a person."""
    return path == "/" or path[1:].split("/", 1)[0] in SYSTEM_DIRECTORIES
