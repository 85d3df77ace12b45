"""Tables of paths and names behind `Zone`: guard files, start-up files, secrets, build output, caches, devices.

Data only; `target.py` holds the predicates that use it. Globs are written with `~` for any home directory and `**` for
anything below; one that begins with neither `~` nor `/` matches in every directory.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from verdikt.hosts.registry import HOSTS
from verdikt.knowledge import join_role
from verdikt.model.lazy_regex import compile_lazily


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A path is compared with a long table of beginnings or ends several times for each decision. By the characters that it
# has there, one look-up leaves the few that can fit.


def group_prefixes(prefixes: Iterable[str], *, width: int) -> dict[str, tuple[str, ...]]:
    """Return prefixes by their first characters; none may be shorter than `width`."""
    groups = groupby(sorted(prefixes), key=lambda prefix: prefix[:width])
    return {beginning: tuple(group) for beginning, group in groups}


def group_suffixes(suffixes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return suffixes by their last character."""
    groups = groupby(sorted(suffixes, key=_get_end), key=_get_end)
    return {end: tuple(group) for end, group in groups}


def _get_end(text: str) -> str:
    return text[-1:]


def _to_glob(file: str) -> str:
    """Return a file of a host's description in the notation of these tables."""
    # The tables are split at blanks, so a blank in a name becomes the wildcard for one character.
    return f"{file}**".replace(" ", "?") if file.endswith("/") else file.replace(" ", "?")


_HOST_FILES = tuple(file for host in HOSTS.values() for file in host.all_guarded_files)

_OWN_GLOBS = """
governance.yaml ~/.config/verdikt/** ~/.local/share/verdikt/** ~/.local/share/verdikt /etc/verdikt/** .verdikt/**
bin/verdikt bin/verdikt-hook bin/verdikt-launch ~/Library/Application?Support/verdikt/**
"""

# Files that hold the hooks, settings and permissions of agents, and verdikt's own policy and data.
GUARD_GLOBS = " ".join((*_OWN_GLOBS.split(), *map(_to_glob, _HOST_FILES)))

# Files from which agents take commands, skills, other agents and MCP servers.
EXTENSION_GLOBS = " ".join(
    ("mcp.json", *dict.fromkeys(_to_glob(file) for host in HOSTS.values() for file in host.extension_files))
)

# Programs that git runs.
HOOK_GLOBS = ".git/hooks/** .git/hooks */.git/modules/*/hooks/** */.git/modules/*/hooks"

# Files that run by themselves at a login, a boot or a schedule, or that decide who may log in.
PERSISTENCE_GLOBS = """
~/.bashrc ~/.bash_profile ~/.bash_login ~/.bash_logout ~/.bash_aliases ~/.profile ~/.zshrc ~/.zshenv ~/.zprofile
~/.zlogin ~/.zlogout
~/.kshrc ~/.cshrc ~/.tcshrc ~/.login ~/.xinitrc ~/.xsession ~/.xsessionrc ~/.xprofile ~/.pam_environment ~/.inputrc
~/.tmux.conf
~/.config/fish/** ~/.config/autostart/** ~/.config/systemd/** ~/.config/environment.d/** ~/.local/share/systemd/**
~/.local/share/autostart/**
~/.ssh/authorized_keys ~/.ssh/authorized_keys2 ~/.ssh/rc ~/.ssh/config ~/.ssh/environment ~/.gitconfig
~/.config/git/**
~/.config/powershell/** ~/.vimrc ~/.config/nvim/init.* ~/.emacs ~/.pythonrc ~/.Rprofile ~/.forward ~/.oh-my-zsh/**
~/.zsh/**
~/Library/LaunchAgents/** ~/Library/LaunchDaemons/** /Library/LaunchAgents/** /Library/LaunchDaemons/**
/Library/StartupItems/**
.git/config .git/config.worktree .git/info/attributes */.git/modules/*/config */.git/modules/*/info/attributes
*/.git/worktrees/*/config.worktree
/etc/cron* /etc/cron*/** /var/spool/cron/** /var/spool/at/** /etc/anacrontab /etc/rc.local /etc/rc*.d/**
/etc/init.d/** /etc/init/** /etc/inittab
/etc/systemd/** /lib/systemd/** /usr/lib/systemd/** /usr/local/lib/systemd/** /run/systemd/system/**
/etc/xdg/autostart/** /etc/xinetd.d/**
/etc/profile /etc/profile.d/** /etc/bash.bashrc /etc/bashrc /etc/bash_completion.d/** /etc/zsh/** /etc/zshrc
/etc/zshenv /etc/zprofile /etc/environment
/etc/ld.so.preload /etc/ld.so.conf /etc/ld.so.conf.d/** /etc/pam.d/** /etc/sudoers /etc/sudoers.d/** /etc/passwd
/etc/group /etc/ssh/sshd_config /etc/ssh/sshd_config.d/**
/etc/udev/rules.d/** /etc/modules /etc/modules-load.d/** /etc/modprobe.d/** /etc/apt/apt.conf.d/**
/etc/update-motd.d/** /etc/NetworkManager/dispatcher.d/**
/etc/gitconfig /etc/hosts.allow /etc/doas.conf /etc/at.allow /etc/cron.allow /etc/polkit-1/** /etc/skel/**
/etc/launchd.conf /etc/periodic/**
*/site-packages/*.pth */sitecustomize.py */usercustomize.py
"""

# Files with keys, tokens, passwords, cookies, or the history of a shell, which often holds some.
SECRET_GLOBS = """
~/.ssh ~/.ssh/** ~/.aws ~/.aws/** ~/.aws/credentials
~/.gnupg ~/.gnupg/** ~/.kube ~/.kube/config ~/.kube/*config* ~/.docker/config.json
~/.azure ~/.azure/**
~/.config/gcloud ~/.config/gcloud/** ~/.config/gh/hosts.yml ~/.config/glab-cli/config.yml ~/.config/hub
~/.config/op/** ~/.config/rclone/rclone.conf
~/.config/doctl/** ~/.config/containers/auth.json ~/.config/sops/** ~/.config/age/** ~/.config/heroku/**
~/.config/stripe/** ~/.config/github-copilot/**
~/.netrc ~/_netrc ~/.git-credentials ~/.config/git/credentials ~/.npmrc ~/.yarnrc ~/.yarnrc.yml ~/.pypirc
~/.cargo/credentials ~/.cargo/credentials.toml ~/.gem/credentials
~/.bundle/config ~/.m2/settings.xml ~/.m2/settings-security.xml ~/.gradle/gradle.properties
~/.nuget/NuGet/NuGet.Config ~/.composer/auth.json ~/.config/composer/auth.json
~/.terraform.d/credentials.tfrc.json ~/.terraformrc ~/.vault-token ~/.password-store ~/.password-store/**
~/.local/share/keyrings ~/.local/share/keyrings/**
~/.pgpass ~/.my.cnf ~/.mylogin.cnf ~/.dbshell ~/.s3cfg ~/.boto ~/.fly/config.yml ~/.oci/** ~/.databrickscfg
~/.snowflake/** ~/.snowsql/config ~/.pulumi/credentials.json
~/.huggingface/token ~/.cache/huggingface/token ~/.claude/.credentials.json ~/.codex/auth.json
~/.gemini/oauth_creds.json ~/.*/mcp.json ~/.*/mcp_config.json ~/.kaggle/kaggle.json ~/.wrangler/config/**
~/.bash_history ~/.zsh_history ~/.history ~/.python_history ~/.node_repl_history ~/.psql_history ~/.mysql_history
~/.sqlite_history ~/.rediscli_history ~/.local/share/fish/fish_history
~/.bitcoin/** ~/.ethereum/** ~/.electrum/** ~/.config/solana/** ~/.config/solana/id.json ~/.mozilla/**
~/.config/google-chrome/** ~/.config/chromium/** ~/.config/BraveSoftware/** ~/.thunderbird/**
~/Library/Keychains ~/Library/Keychains/** ~/Library/Application?Support/Google/Chrome/**
~/Library/Application?Support/Firefox/** ~/Library/Cookies/** ~/.config/1Password/** ~/.1password/**
~/.config/Bitwarden** ~/.lastpass/** ~/.putty/** ~/.config/filezilla/** ~/.config/Slack/** ~/.subversion/auth/**
~/.tsh/** ~/.vnc/passwd ~/.ansible/vault* ~/.config/configstore/** ~/.config/hcloud/** ~/.config/openstack/**
/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/security/opasswd /etc/master.passwd /etc/ssl/private
/etc/ssl/private/** /etc/pki/tls/private/** /etc/ssh/ssh_host_*_key /etc/krb5.keytab
/etc/kubernetes/admin.conf /etc/kubernetes/pki/** /etc/rancher/k3s/k3s.yaml /etc/wireguard/** /etc/openvpn/*.key
/etc/NetworkManager/system-connections/** /etc/letsencrypt/live/** /etc/letsencrypt/archive/**
/proc/*/environ /proc/*/mem /run/secrets/** /var/run/secrets/** /var/lib/docker/volumes/**/secrets/**
/Library/Keychains/** /var/db/dslocal/** /etc/docker/key.json /etc/mysql/debian.cnf
"""

# Files that hold secrets by their name alone, in any directory.
SECRET_NAME_GLOBS = """
.env .env.* *.env id_rsa id_dsa id_ecdsa id_ecdsa_sk id_ed25519 id_ed25519_sk *.pem *.p12 *.pfx *.jks *.keystore
*.kdbx *.ppk *.asc.key *_rsa *.key
.netrc .pgpass .git-credentials .pypirc .htpasswd .vault_pass .vault-pass .vault_password master.key credentials.json
client_secret*.json
service-account*.json service_account*.json serviceaccount*.json gcp-key*.json secrets.yml secrets.yaml secrets.json
secrets.toml secrets.env .secrets .secret
kubeconfig *.kubeconfig terraform.tfstate terraform.tfstate.* *.tfstate wallet.dat key4.db logins.json Login?Data
.dockercfg .s3cfg *.ovpn .boto auth.json.bak *_dsa *_ecdsa *_ed25519 *.kdb *.keychain *.keychain-db *.keyring *.p8
*.jceks *.agekey *.kwl *.secret *.secrets
"""

# Private keys by which people and machines log in, by their families: `id_rsa`, `id_ed25519-work`, `deploy_key_rsa`.
KEY_NAME = compile_lazily(
    r"(?:^|/)(?:id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[-_][\w-]+)?(?:\.(?:pem|key|priv|private|openssh|txt|enc|gpg))?"
    r"|[^/]*_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|ssh_host_\w+_key|[^/]+\.ppk)$"
)

# What programs call the credentials in their directory below a home: `~/.tool/auth.json`, `~/.tool/credentials/x`.
SECRET_OF_PROGRAM = compile_lazily(
    r"^~/(?:\.|library/application support/)(?:.*/)?(?:[\w.-]*[-_.])?(?:auth|credentials?|creds"
    r"|(?:oauth|access|refresh)[-_]?tokens?|tokens?|secrets|api[-_]?keys?)(?:\.(?:json|toml|ya?ml|ini|conf|db|txt|enc))?(?:/[\w.-]+)?$"
)

# Where the command lines of clouds and forges keep what a login gave them: `~/.config/doctl/config.yaml`.
ACCOUNT_SETTINGS = compile_lazily(
    rf"^~/\.(?:config/|local/share/)?(?P<client>{join_role('account_client')})(?:-cli)?"
    r"(?:/(?:[\w.-]+/)?(?:config|cli|settings|account|login|profile|(?P=client))s?)?"
    r"(?:\.(?:json|ya?ml|toml|ini|conf|db))?$"
)

# The same file again: `id_rsa.bak`, `id_dsa_old`, `.netrc~`, `config.json.1`.
BACKUP_SUFFIX = compile_lazily(
    r"(?:[._-](?:bak|bkp|backup|old|orig|original|save|saved|copy|prev|previous|swp|\d{1,14})|~)+$"
)

# Names that match a table of secrets and hold none: public keys, templates, certificates, source code.
NOT_SECRET = compile_lazily(
    r"(?:\.(?:pub|example|sample|template|dist|tmpl|defaults?|schema|md|ts|js|py|go|rs|java|rb|d\.ts)"
    r"|known_hosts(?:\.old)?|\.ssh/config|\.env\.(?:test|ci|vault|development\.example)|(?:ca|cert|cacert|chain"
    r"|fullchain|bundle|public|pubkey|pub)\w*\.pem|(?:ca|cert|tls|ssl)[-_](?:bundle|chain|cert|certs)\.pem|(?:cert"
    r"|certificate|chain|bundle|public|pub|ca)\.pem|(?:example|sample|template)\.env)$"
)

BUILD_NAMES = _words(
    "node_modules dist build target out __pycache__ .venv venv .pytest_cache .mypy_cache .ruff_cache .tox .nox "
    "coverage htmlcov .coverage .next .nuxt .svelte-kit .turbo .parcel-cache .cache .gradle .eggs obj "
    "bower_components Pods DerivedData _build .hypothesis .ipynb_checkpoints .DS_Store .nyc_output storybook-static "
    ".serverless .aws-sam .angular .expo .dart_tool .docusaurus .vite .output .vercel tmp temp .tmp .temp logs "
    ".terraform lib-cov test-results playwright-report .eslintcache .sass-cache .rpt2_cache .pytype .pyre "
    ".benchmarks _site public/build cdk.out elm-stuff .stack-work zig-cache zig-out .zig-cache wheelhouse .webpack "
    ".rollup.cache .swc .stryker-tmp allure-results reports junit.xml coverage.xml lcov.info nohup.out "
    "spark-warehouse metastore_db dbt_packages dbt_modules .build .swiftpm .kotlin .cxx .phpunit.cache TestResults .nx "
    ".jekyll-cache .astro .bloop .metals .elixir_ls .scannerwork .eunit .phpunit.result.cache "
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb uv.lock poetry.lock "
    "Pipfile.lock Gemfile.lock Cargo.lock mix.lock pubspec.lock composer.lock Podfile.lock .terraform.lock.hcl"
)
"""Names of files and directories that a build or an install makes and can make again."""

BUILD_SUFFIXES = _words(
    "pyc pyo o obj a pdb class log tmp swp swo bak orig rej egg-info tsbuildinfo gcda gcno lcov prof coverage map "
    "cache pid lock~"
)
BUILD_NAME_PATTERN = compile_lazily(
    r"^(?:(?:cmake-build-|bazel-|\.coverage\.|npm-debug|yarn-error|core\.\d)|\.[\w.]+[-_.]?cache$)"
)

CACHE_DIRECTORY = compile_lazily(
    # By its name, below a directory that programs keep their things in: `~/.yarn/berry/cache`, `~/.npm/_cacache`.
    r"/(?:\.[^/]+|Library)/(?:[^/]+/)*(?:[\w.-]*[-._])?(?:ca)?[Cc]aches?(?:/|$)|/\.cache(?:/|$)"
    r"|/\.(?:[\w.-]+[-_.]|s?c)cache(?:/|$)"
    # What was downloaded is a cache of its source.
    r"|/\.cargo/(?:registry|git)|/go/pkg/mod|/\.pnpm-store|/\.local/share/pnpm/store|/\.m2/repository"
    r"|/\.rustup/downloads|/\.julia/(?:compiled|packages|artifacts)|/\.gradle/wrapper/dists|/\.npm/_npx|/\.hex/packages|/\.nuget/packages|/\.conda/pkgs|/\.cocoapods/repos|/Library/Developer/Xcode/DerivedData"
)
"""Directories below a home whose contents programs download or compute again by themselves."""

SYSTEM_DIRECTORIES = _words(
    "bin sbin lib lib32 lib64 libx32 usr etc boot dev proc sys var opt root run snap nix System Library Applications "
    "private cores home Users Volumes lost+found srv"
)
"""Top-level directories that belong to the machine rather than to a person."""

DISK_DEVICE = compile_lazily(
    r"/dev/(?:(?:sd|hd|vd|xvd)[a-z]+\d*|nvme\d.*|mmcblk\d.*|disk.*|rdisk.*|dm-\d+|md\d+|mapper/.*|loop\d+|sr\d|mem"
    r"|kmem|port|nbd\d+|zd\d+|ram\d+)$"
)
SINK_DEVICES = _words(
    "/dev/null /dev/stdout /dev/stderr /dev/stdin /dev/tty /dev/zero /dev/full /dev/random /dev/urandom /dev/ptmx NUL"
)

# `is_ordinary` rules out most paths with these before any glob is tried; test_target.py checks that they agree with
# the tables above.
SPECIAL_SUFFIXES = group_suffixes(
    "_rsa .pem .key .p12 .pfx .jks .keystore .kdbx .ppk .env .ovpn .kubeconfig .tfstate .pth .dat .db .bak .conf "
    ".plist _dsa _ecdsa _ed25519 .kdb .keychain .keychain-db .keyring .p8 .jceks .agekey .kwl .secret .secrets ~ old "
    "bkp backup orig original save saved copy prev previous swp 0 1 2 3 4 5 6 7 8 9".split()
)
SPECIAL_NAMES = frozenset(
    "governance.yaml credentials.json logins.json kubeconfig verdikt verdikt-hook verdikt-launch sitecustomize.py "
    "usercustomize.py _netrc".split()
) | {file.rpartition("/")[2] for file in _HOST_FILES if not file.endswith("/") and "/." not in f"/{file}"}
SPECIAL_PREFIXES = group_prefixes(
    "id_ client_secret service gcp-key secrets auth.json gen_ terraform.tfstate".split(), width=1
)
SPECIAL_DIRECTORIES = group_prefixes(
    "/etc /lib /usr/lib /usr/local/lib /var/spool /var/run /var/lib /var/db /var/root /run /proc /Library ~/Library "
    "~/_".split(),
    width=2,
)

# Names of one file, or of something made to try something out.
SCRATCH_NAME = compile_lazily(
    r"(?:^|/)(?:(?:repro|reproduce|reproduction|scratch|tmp|temp|debug|sandbox|playground|poc)(?:[-_.\d]\w*)*"
    r"|[\w-]+\.(?:py|js|ts|mjs|cjs|sh|rb|go|rs|c|cpp|java|json|txt|md|log|patch|diff|yaml|yml|toml|ini|csv|html|xml"
    r"|out|zip|gz))$"
)

HOME_PARENTS = frozenset(("/home", "/Users", "/export/home"))
HOME_PREFIXES = ("/home/", "/root", "/Users/", "/var/root", "/export/home/")
ANY_HOME = compile_lazily(r"^(?:/home/[^/]+|/root|/Users/[^/]+|/var/root|/export/home/[^/]+)(?=/|$)")
