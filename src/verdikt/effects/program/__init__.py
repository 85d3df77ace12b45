"""What programs do, one module per family; see `table.py` for the form. Families are loaded when one of their programs is met."""

from functools import cache
from importlib import import_module

from verdikt.effects.program.table import Program

FAMILIES: dict[str, str] = {
    "coreutils": (
        "rm rmdir unlink shred cp install mv ln touch mkdir mkfifo mknod chmod chown chgrp cat tac nl head tail ls dir "
        "vdir tee truncate split csplit dd"
    ),
    "archive": (
        "tar bsdtar gtar zip unzip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 lzma zcat bzcat xzcat zstdcat 7z "
        "7za 7zr rar unrar cpio pax ar"
    ),
    "find": (
        "find gfind fd fdfind locate mlocate plocate updatedb tree du stat file realpath readlink basename dirname wc "
        "cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum md5 namei pathchk mimetype exa "
        "eza lsd rmlint trash trash-put gio rmtrash trash-empty rename prename rimraf del-cli srm wipe scrub sdelete "
        "chattr setfacl getfacl lsattr setcap fallocate sync mktemp"
    ),
    "text": (
        "grep egrep fgrep zgrep rgrep bzgrep xzgrep ugrep ag ack ack-grep rg ripgrep sift pt sed gsed awk gawk mawk "
        "nawk busybox-awk sort gsort uniq cut paste join comm fold fmt pr expand unexpand rev column colrm tsort ptx "
        "look tr true: seq yes factor numfmt shuf strings od hexdump hd base32 basenc base64 gbase64 uuencode uudecode "
        "xxd diff cmp diff3 sdiff colordiff vimdiff wdiff icdiff difft delta patch jq gojq jaq fx yq xmllint xmlstarlet "
        "xsltproc csvcut csvgrep csvlook csvstat csvjson mlr tomlq htmlq pup dasel gron jc glow mdcat iconv enca tidy "
        "pandoc dos2unix unix2dos sponge less more most zless zmore bat batcat view pg vim vi nvim gvim ex emacs "
        "emacsclient nano pico micro joe hx helix kak mcedit ne subl gedit kate mate zed idea pycharm webstorm notepad "
        "ed red envsubst gettext ngettext m4 expr bc dc units cal ncal figlet cowsay lolcat toilet fortune banner tput "
        "clear reset stty tabs"
    ),
    "git": ("git"),
    "guard": ("verdikt"),
    "network": (
        "curl wget wget2 http https xh httpie aria2c axel ssh autossh mosh slogin scp rcp rsync nc ncat netcat "
        "nc.traditional nc.openbsd socat openssl telnet rlogin rsh tn3270 socket ftp lftp sftp ncftp tftp ncftpput dig "
        "nslookup host drill kdig delv whois ping ping6 traceroute traceroute6 tracepath mtr arping fping nmap masscan "
        "zmap rustscan nikto sqlmap gobuster ffuf hydra wfuzz dirb nuclei hping3 slowhttptest ab siege wrk hey vegeta "
        "locust k6 loadtest ngrok cloudflared localtunnel lt bore frpc chisel tailscale zerotier-cli pagekite serveo "
        "gost ligolo sshuttle tmate teleconsole gsocket gs-netcat tcpdump tshark wireshark dumpcap ettercap bettercap "
        "mail mailx sendmail mutt swaks msmtp ssmtp rclone"
    ),
    "shell": (
        "sh bash zsh dash ksh mksh ash fish csh tcsh rbash elvish nu xonsh yash source . cd pushd popd dirs echo printf "
        "true false : test [ [[ read wait jobs fg bg type hash which whence where command builtin let declare local "
        "typeset readonly return shift getopts times exit logout shopt complete compgen compopt bind enable mapfile "
        "readarray caller break continue help ulimit umask suspend eval exec trap time alias unalias sleep usleep "
        "coproc select unsetopt setopt autoload zmodload rehash zstyle print pwd tty nproc getconf powershell pwsh "
        "powershell.exe cmd cmd.exe command.com history ztcp unset set export disown nice ionice chrt taskset stdbuf "
        "unbuffer timeout gtimeout flock xargs parallel watch entr script expect rlwrap catchsegv numactl cgexec "
        "firejail bwrap strace ltrace ptrace perf valgrind gdb lldb busybox toybox hyperfine retry ts pv tsp chpst "
        "envdir dotenv direnv nohup setsid daemonize daemon start-stop-daemon screen tmux zellij dtach abduco byobu "
        "sudo doas run0 pkexec gosu su-exec dzdo please sudoedit su runuser chroot nsenter unshare systemd-nspawn "
        "pivot_root capsh env printenv claude codex gemini aider cursor-agent opencode goose copilot amp qwen crush "
        "cline code codium cursor windsurf"
    ),
    "interpreter": (
        "python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy pypy3 "
        "py micropython perl ruby node nodejs php lua luajit tclsh wish Rscript R julia groovy scala elixir iex jshell "
        "jrunscript jjs osascript raku guile racket sbcl swift kotlin ghci runghc ocaml crystal nim dart ts-node tsx "
        "deno java javaw irb ipython jupyter jupyter-lab jupyter-notebook"
    ),
    "build": (
        "make gmake cmake ninja meson bazel bazelisk buck buck2 scons ant mvn mvnw gradle gradlew sbt lein mill rake "
        "just task invoke inv gcc g++ cc c++ clang clang++ ld as nasm rustc javac kotlinc scalac ghc tsc swc esbuild "
        "rollup webpack vite parcel turbo nx lerna pytest py.test tox nox jest vitest mocha ava karma cypress "
        "playwright rspec minitest phpunit pest ctest gtest bats shellspec behave cucumber ruff black isort flake8 "
        "pylint pyflakes mypy pyright basedpyright bandit autopep8 yapf pydocstyle vulture eslint prettier biome "
        "stylelint tslint standard xo oxlint dprint rubocop standardrb reek golint golangci-lint staticcheck gofmt "
        "goimports rustfmt clippy-driver shellcheck shfmt hadolint yamllint ansible-lint markdownlint markdownlint-cli2 "
        "vale codespell typos actionlint tflint tfsec checkov trivy semgrep gitleaks clang-format clang-tidy cppcheck "
        "astyle indent uncrustify doxygen sphinx-build sphinx-quickstart mkdocs jekyll hugo gatsby next nuxt astro "
        "coverage lcov gcov genhtml nyc c8 pre-commit tox-quickstart cookiecutter yo plop protoc buf swag sqlc objdump "
        "nm readelf ldd otool size strip ctags etags cscope cloc tokei scc gprof virtualenv flutter xcodebuild "
        "swiftlint swiftformat cocoapods ng vue nest expo react-native rails spring artisan symfony phpstan psalm phpcs "
        "php-cs-fixer mix rebar3 dialyzer dvc snakemake nextflow luigi prefect wandb mlflow tensorboard nvcc nvidia-smi "
        "tldr man info apropos whatis"
    ),
}
"""Module → the programs that it knows."""

_HOME = {program: family for family, names in FAMILIES.items() for program in names.split()}


@cache
def lookup(name: str) -> Program | None:
    """What is known about a program of this name (without its directory)."""
    family = _HOME.get(name)
    if family is None:
        lowered = name.lower().removesuffix(".exe")
        return lookup(lowered) if lowered != name else None
    found: Program = import_module(f"verdikt.effects.program.{family}").PROGRAMS[name]
    return found
