"""What programs do, one module per family; this file lists which family knows which program.

`table.py` defines the form of an entry and imports a family when one of its programs is met.
"""

from __future__ import annotations

PROGRAMS_BY_FAMILY: dict[str, str] = {
    "coreutils": (
        "rm rmdir unlink shred cp install mv ln touch mkdir mkfifo mknod chmod chown chgrp cat tac nl head tail ls "
        "dir vdir tee truncate split csplit dd fallocate"
    ),
    "archive": (
        "tar bsdtar gtar zip unzip gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 lzma zcat bzcat xzcat zstdcat "
        "7z 7za 7zr rar unrar cpio pax ar"
    ),
    "find": (
        "find gfind fd fdfind locate mlocate plocate updatedb tree du stat file realpath readlink basename dirname "
        "wc cksum sum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum shasum md5 namei pathchk mimetype "
        "exa eza lsd rmlint trash trash-put gio rmtrash trash-empty rename prename rimraf del-cli srm wipe scrub "
        "sdelete chattr setfacl getfacl lsattr setcap sync mktemp"
    ),
    "text": (
        "grep egrep fgrep zgrep rgrep bzgrep xzgrep ugrep ag ack ack-grep rg ripgrep sift pt sed gsed awk gawk mawk "
        "nawk busybox-awk sort gsort uniq cut paste join comm fold fmt pr expand unexpand rev column colrm tsort ptx "
        "look tr true: seq yes factor numfmt shuf ul cpp pygmentize highlight ccat bsdcat strings od hexdump hd "
        "base32 basenc base64 gbase64 uuencode uudecode xxd diff cmp diff3 sdiff colordiff vimdiff wdiff icdiff "
        "difft delta patch jq gojq jaq fx yq xmllint xmlstarlet xsltproc csvcut csvgrep csvlook csvstat csvjson mlr "
        "tomlq htmlq pup dasel gron jc glow mdcat iconv enca tidy pandoc dos2unix unix2dos sponge less more most "
        "zless zmore bat batcat view pg vim vi nvim gvim ex emacs emacsclient nano pico micro joe hx helix kak "
        "mcedit ne subl gedit kate mate zed idea pycharm webstorm notepad man ed red envsubst gettext ngettext m4 "
        "expr bc dc units cal ncal figlet cowsay lolcat toilet fortune banner tput clear reset stty tabs"
    ),
    "git": ("git"),
    "guard": ("verdikt"),
    "network": (
        "curl wget wget2 http https xh httpie aria2c axel ssh autossh mosh slogin scp rcp rsync nc ncat netcat "
        "nc.traditional nc.openbsd socat openssl telnet rlogin rsh tn3270 socket ftp lftp sftp ncftp tftp ncftpput "
        "dig nslookup host drill kdig delv whois ping ping6 traceroute traceroute6 tracepath mtr arping fping nmap "
        "masscan zmap rustscan nikto sqlmap gobuster ffuf hydra wfuzz dirb nuclei hping3 slowhttptest ab siege wrk "
        "hey vegeta locust k6 loadtest ngrok cloudflared localtunnel lt bore frpc chisel tailscale zerotier-cli "
        "pagekite serveo gost ligolo sshuttle tmate teleconsole gsocket gs-netcat tcpdump tshark wireshark dumpcap "
        "ettercap croc wormhole wormhole-william pastebinit wgetpaste transfer transfersh ffsend termbin gist haste "
        "sprunge ix bashupload smbclient logger mail mailx sendmail mutt swaks msmtp ssmtp"
    ),
    "shell": (
        "sh bash zsh dash ksh mksh ash fish csh tcsh rbash elvish nu xonsh yash source . cd pushd popd dirs true "
        "false : test [ [[ read wait jobs fg bg type hash which whence where command builtin let return shift "
        "getopts times exit logout shopt complete compgen compopt bind enable mapfile readarray caller break "
        "continue help ulimit umask suspend eval exec trap time alias unalias sleep usleep coproc select unsetopt "
        "setopt autoload zmodload rehash zstyle print pwd tty nproc getconf echo printf history ztcp unset set "
        "export declare typeset local readonly disown nice ionice chrt taskset stdbuf unbuffer timeout gtimeout "
        "flock xargs parallel watch entr script expect rlwrap catchsegv numactl cgexec firejail bwrap strace ltrace "
        "ptrace gcore reptyr injcode perf valgrind gdb lldb busybox toybox hyperfine retry ts pv tsp chpst envdir "
        "dotenv direnv nohup setsid daemonize daemon start-stop-daemon screen tmux zellij dtach abduco byobu sudo "
        "doas run0 pkexec gosu su-exec dzdo please sudoedit su runuser chroot nsenter unshare systemd-nspawn "
        "pivot_root capsh env printenv claude codex gemini aider cursor-agent opencode copilot amp qwen crush cline "
        "code codium cursor windsurf"
    ),
    "interpreter": (
        "python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy "
        "pypy3 py micropython perl ruby node nodejs php lua luajit tclsh wish Rscript R julia groovy scala elixir "
        "iex jshell jrunscript jjs osascript raku guile racket sbcl swift kotlin ghci runghc ocaml crystal nim dart "
        "ts-node tsx deno java javaw irb ipython jupyter jupyter-lab jupyter-notebook"
    ),
    "build": (
        "make gmake cmake ninja meson bazel bazelisk buck buck2 scons ant lein mill just task invoke inv gcc g++ cc "
        "c++ clang clang++ ld as nasm rustc javac kotlinc scalac ghc tsc swc esbuild rollup webpack vite parcel "
        "turbo nx pytest py.test tox nox jest vitest mocha ava karma cypress playwright rspec minitest phpunit pest "
        "ctest gtest bats shellspec behave cucumber ruff black isort flake8 pylint pyflakes mypy pyright "
        "basedpyright bandit autopep8 yapf pydocstyle vulture eslint prettier biome stylelint tslint standard xo "
        "oxlint dprint rubocop standardrb reek golint golangci-lint staticcheck gofmt goimports rustfmt "
        "clippy-driver shellcheck shfmt hadolint yamllint ansible-lint markdownlint markdownlint-cli2 vale codespell "
        "typos actionlint tflint tfsec checkov trivy semgrep gitleaks clang-format clang-tidy cppcheck astyle indent "
        "uncrustify doxygen sphinx-build sphinx-quickstart mkdocs jekyll hugo gatsby next nuxt astro coverage lcov "
        "gcov genhtml nyc c8 pre-commit lefthook husky tox-quickstart cookiecutter yo plop protoc buf swag sqlc "
        "objdump nm readelf ldd otool size strip ctags etags cscope cloc tokei scc gprof virtualenv xcodebuild "
        "swiftlint swiftformat cocoapods ng vue nest expo react-native spring phpstan psalm phpcs php-cs-fixer "
        "rebar3 dialyzer dvc snakemake nextflow luigi prefect wandb mlflow tensorboard nvcc nvidia-smi tldr info "
        "apropos whatis"
    ),
    "package": (
        "pip pip3 pip2 pip3.9 pip3.10 pip3.11 pip3.12 pip3.13 pip3.14 pip-sync uv uvx pipx poetry pdm hatch flit rye "
        "pipenv twine setup.py anaconda conda mamba micromamba cargo go gem bundle bundler composer mvn mvnw gradle "
        "gradlew sbt dotnet nuget pod cabal stack luarocks cpan cpanm conan flutter pub rustup nvm fnm volta pyenv "
        "rbenv asdf mise sdk jenv n goenv tfenv nodenv rtx sdkman"
    ),
    "node": (
        "npm pnpm yarn bun cnpm yarnpkg npx bunx pnpx lerna changeset semantic-release release-it np auto-release "
        "goreleaser vsce ovsx jsr"
    ),
    "distribution": (
        "apt apt-get aptitude nala apt-cache apt-file apt-config apt-mark dpkg-query debsums add-apt-repository "
        "apt-add-repository apt-key dpkg dnf yum microdnf zypper tdnf dnf5 rpm pacman yay paru apk emerge "
        "xbps-install eopkg swupd opkg pkg pkg_add xbps-remove pkg_delete brew port snap flatpak nix-collect-garbage "
        "nix-env nix nix-shell nix-channel nixos-rebuild winget choco chocolatey cinst cuninst scoop"
    ),
    "container": (
        "docker podman nerdctl finch docker-compose podman-compose buildah skopeo crane oras ko crictl ctr dive "
        "devcontainer"
    ),
    "kubernetes": (
        "kubectl k oc kubecolor microk8s.kubectl kustomize helm helm3 helmfile argocd flux istioctl linkerd minikube "
        "kind k3d ctlptl eksctl kops gardenctl rosa tanzu clusterctl vcluster rancher capi kubermatic kubeadm "
        "etcdctl k9s stern kail kubetail popeye kube-linter kubeval kubeconform kube-score pluto polaris kubent "
        "conftest datree kubescape click kubectx kubens skaffold tilt telepresence kn odo kapp ytt kbld okteto werf "
        "kubeseal"
    ),
    "infrastructure": (
        "terraform tofu terragrunt tf opentofu pulumi ansible ansible-playbook ansible-doc ansible-inventory "
        "ansible-config ansible-console molecule ansible-galaxy ansible-pull ansible-vault cdk cdktf sst serverless "
        "sls sam chalice zappa up vagrant packer chef-client chef-solo cinc-client puppet knife salt salt-call "
        "salt-key salt-ssh pssh pdsh clush parallel-ssh cssh fab nomad consul copier boundary waypoint infracost "
        "terraform-docs terrascan driftctl tfswitch terratag kamal cap dokku nixops"
    ),
    "cloud": (
        "aws awslocal gcloud az bq doctl hcloud linode-cli scw vultr-cli oci ibmcloud civo exo upctl openstack nova "
        "ovhcloud gscloud metal cntb aliyun tccli"
    ),
    "platform": (
        "heroku fly flyctl vercel vc now netlify ntl wrangler firebase supabase railway cf eb amplify deck "
        "dnscontrol octodns-sync fastlane render neonctl neon pscale turso koyeb northflank zeabur deployctl stripe "
        "twilio algolia sentry-cli auth0 okta databricks snow confluent upstash caprover clever scalingo gigalixir "
        "nhost appwrite convex sanity contentful shopify eas fastly ldcli pd datadog-ci newrelic grafana-cli grr "
        "amtool apigeecli flarectl cfcli jenkins-cli tkn argo spin octopus terminus platform upsun balena particle "
        "hcp ecs-cli crc minishift rafay tsuru convox porter encore mailgun postmark svix opsgenie statuspage "
        "mongocli aiven avn yc nsc cmctl dapr consul-k8s conjur imperva akamai cli53 lexicon hub-tool"
    ),
    "storage": (
        "rclone gsutil mc mcli s3cmd s4cmd azcopy s5cmd b2 restic borg duplicity timeshift snapper kopia barman "
        "pgbackrest wal-g velero rdiff-backup rsnapshot proxmox-backup-client"
    ),
    "database": (
        "psql pgcli mysql mariadb mycli cockroach ysqlsh yugabyte clickhouse-client clickhouse cqlsh sqlcmd bcp osql "
        "snowsql beeline hive impala-shell spark-sql trino presto sqlplus usql isql db2 monetdb-client mclient vsql "
        "nzsql sqlite3 sqlite sqlite-utils litecli sqlcipher duckdb mongosh mongo mongodump mongoexport mongostat "
        "mongotop mongorestore mongoimport redis-cli valkey-cli keydb-cli dragonfly-cli iredis cypher-shell influx "
        "dropdb dropuser createuser createdb pg_dump pg_dumpall pg_isready pgbench pg_basebackup pg_config vacuumdb "
        "reindexdb clusterdb mysqldump mariadb-dump mysqlshow mysqlcheck sqldiff pg_lsclusters pg_amcheck pg_restore "
        "pg_ctl pg_ctlcluster pg_dropcluster pg_resetwal initdb mysqladmin mariadb-admin mysql_secure_installation "
        "curator_cli curator"
    ),
    "migration": (
        "alembic flask prisma manage.py django-admin django-admin.py rails rake artisan sail ddev lando lerd symfony "
        "doctrine console doctrine-migrations wp drush drupal bench phinx mix flyway liquibase knex sequelize "
        "sequelize-cli typeorm mikro-orm dbmate migrate migra node-pg-migrate db-migrate sql-migrate sqitch yoyo "
        "aerich tern pgroll bytebase goose drizzle-kit atlas hasura dbt"
    ),
    "disk": (
        "mkfs mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.ntfs mkfs.exfat mkfs.f2fs "
        "mkfs.minix mkfs.msdos mkfs.cramfs mkfs.bfs mke2fs mkdosfs mkntfs mkexfatfs newfs newfs_apfs newfs_hfs "
        "mkswap mkfs.jfs mkfs.reiserfs mkfs.erofs wipefs fdisk cfdisk gdisk cgdisk sfdisk sgdisk parted blkdiscard "
        "nvme hdparm badblocks lvremove vgremove pvremove vgreduce lvreduce thin_delete vdo lvcreate lvextend "
        "lvresize lvrename vgcreate vgextend vgrename pvcreate pvresize vgchange lvchange lvconvert vgexport "
        "vgimport pvmove lvs vgs pvs lvdisplay vgdisplay pvdisplay lvscan vgscan pvscan lsblk blkid findmnt df "
        "smartctl lsscsi lshw partprobe dumpe2fs debugfs e2label xfs_info iostat iotop swapon fio xfs_db zpool zfs "
        "btrfs cryptsetup mdadm mount umount udisksctl gvfs-mount pmount pumount fusermount fusermount3 swapoff fsck "
        "e2fsck xfs_repair fsck.ext4 fsck.xfs fsck.vfat ntfsfix dosfsck btrfsck resize2fs tune2fs xfs_growfs "
        "xfs_admin ntfsresize fatlabel e4crypt growpart losetup qemu-nbd kpartx dmsetup dcfldd ddrescue dc3dd "
        "grub-install grub2-install lilo extlinux syslinux bootctl efibootmgr update-grub grub-mkconfig "
        "grub2-mkconfig update-initramfs dracut mkinitcpio flashrom"
    ),
    "system": (
        "systemctl service rc-service initctl rc-update chkconfig update-rc.d insserv shutdown reboot halt poweroff "
        "ipmitool racadm init telinit kexec crontab at batch atq atrm systemd-run iptables ip6tables iptables-legacy "
        "iptables-nft ebtables arptables iptables-save ip6tables-save iptables-restore ip6tables-restore "
        "iptables-apply nft ufw firewall-cmd pfctl fail2ban-client setenforce getenforce sestatus aa-status "
        "apparmor_status ausearch aureport getsebool setsebool semanage semodule restorecon chcon aa-teardown "
        "aa-disable aa-complain aa-remove-unknown apparmor_parser auditctl sysctl modprobe insmod rmmod depmod kmod "
        "dkms bpftool dmesg ldconfig update-alternatives alternatives update-ca-certificates update-ca-trust "
        "update-crypto-policies authselect pam-auth-update hostnamectl timedatectl localectl hostname date hwclock "
        "ntpdate chronyc ip ifconfig ifdown ifup dhclient dhcpcd brctl vconfig wg-quick openvpn wpa_cli iwconfig "
        "rfkill route arp tc ethtool nmcli resolvectl journalctl logrotate faillog wall write quotacheck ipcrm"
    ),
    "process": (
        "loginctl kill pkill killall killall5 skill snice xkill fuser renice cpulimit prlimit utmpdump last lastb "
        "lastlog who w uptime free vmstat lscpu lsusb lspci dmidecode lsmod modinfo uname arch getent id groups "
        "whoami logname users finger ps top htop atop btop pgrep pidof pstree lsof ss netstat sar mpstat pidstat "
        "systemd-analyze systemd-cgls systemd-cgtop coredumpctl systemd-detect-virt busctl lsb_release sensors nstat "
        "ipcs"
    ),
    "account": (
        "useradd usermod adduser userdel deluser groupadd groupmod groupdel addgroup delgroup groupmems newusers "
        "chage chfn chsh vipw vigr newgrp passwd chpasswd gpasswd visudo"
    ),
    "secret": (
        "gpg gpg2 gpg1 pass gopass passage op bw lpass keepassxc-cli dashlane enpass rbw bws dcli akeyless keybase "
        "vault bao security secret-tool kwallet-query cmdkey ssh-keygen ssh-add ssh-copy-id ssh-keyscan ssh-agent "
        "keytool certutil sops age rage age-keygen doppler infisical chamber aws-vault teller berglas envchain phase "
        "credstash git-crypt git-credential docker-credential-desktop docker-credential-osxkeychain "
        "docker-credential-secretservice docker-credential-pass docker-credential-wincred "
        "docker-credential-ecr-login git-credential-osxkeychain git-credential-manager git-credential-store "
        "git-credential-libsecret trufflehog detect-secrets git-secrets ggshield talisman kinit kdestroy klist ykman "
        "step unshadow john hashcat mimikatz lazagne pypykatz secretsdump secretsdump.py impacket-secretsdump "
        "linpeas linpeas.sh winpeas pspy responder crackmapexec netexec hashdump gsecdump wce medusa ncrack kerbrute "
        "evil-winrm metasploit msfconsole msfvenom"
    ),
    "offence": (
        "xmrig xmr-stak minerd cpuminer ccminer cgminer bfgminer ethminer nbminer lolminer lolMiner t-rex "
        "teamredminer phoenixminer srbminer-multi cpuminer-multi nheqminer gminer kawpowminer xmrigdaemon arpspoof "
        "dnsspoof dsniff urlsnarf aircrack-ng airodump-ng aireplay-ng airmon-ng wifite reaver bettercap mitmf "
        "yersinia macof patator wpscan dirbuster feroxbuster amass subfinder theharvester enum4linux smbmap "
        "rpcclient bloodhound-python sharphound rubeus beef-xss setoolkit empire havoc sliver-server sliver-client "
        "cobaltstrike veil shellter weevely commix xsser ghauri hoaxshell villain pupy pwncat pwncat-cs slowloris "
        "goldeneye hulk mdk4 thc-hydra crowbar brutespray impacket-psexec impacket-wmiexec impacket-smbexec "
        "psexec.py wmiexec.py smbexec.py"
    ),
    "forge": (
        "gh glab gl hub tea jira acli linear circleci act gitlab-runner drone woodpecker-cli buildkite-agent travis"
    ),
    "queue": (
        "kafka-topics kafka-topics.sh kafka-configs kafka-configs.sh kafka-consumer-groups kafka-consumer-groups.sh "
        "kafka-delete-records kafka-delete-records.sh kafka-console-producer kafka-console-producer.sh "
        "kafka-console-consumer kafka-console-consumer.sh kafka-acls kafka-acls.sh kafka-reassign-partitions "
        "kafka-reassign-partitions.sh kafka-streams-application-reset kafka-streams-application-reset.sh "
        "kafka-get-offsets kafka-get-offsets.sh kcat kafkacat rabbitmqctl rabbitmqadmin rabbitmq-plugins "
        "rabbitmq-diagnostics rabbitmq-queues nats celery pulsar-admin pulsarctl rpk kaf temporal tctl hermes "
        "nsqadmin emqx_ctl mosquitto_pub mosquitto_sub rq airflow nginx apachectl apache2ctl httpd a2ensite "
        "a2dissite a2enmod a2dismod caddy haproxy traefik envoy lighttpd varnishadm certbot supervisorctl pm2 "
        "forever circusctl monit supervisord sv svc s6-svc runsvdir"
    ),
    "machine": (
        "virsh vboxmanage VBoxManage qemu-img multipass lxc incus lxc-destroy lxc-stop lxd limactl colima orb orbctl "
        "qm pct pvesh pvecm govc xe esxcli vim-cmd xl prlctl vmrun utmctl tart machinectl vctl wsl wsl.exe adb "
        "fastboot"
    ),
    "vcs": (
        "hg sl chg svn svnadmin jj fossil p4 cvs bzr brz darcs repo git-filter-repo bfg git-lfs slackcat "
        "telegram-send pushover apprise neomutt s-nail nail aerc himalaya mailsend sendemail"
    ),
    "macos": (
        "diskutil asr hdiutil defaults launchctl tmutil csrutil spctl fdesetup dscl dseditgroup sysadminctl "
        "dsenableroot pwpolicy nvram pmset softwareupdate scutil networksetup systemsetup bless kextload kextunload "
        "tccutil profiles xattr installer pkgutil sw_vers system_profiler mdfind mdls ioreg vm_stat pbpaste pbcopy "
        "open say caffeinate screencapture codesign lipo dyld_info sips textutil plutil afplay xcode-select xcrun "
        "mdutil PlistBuddy"
    ),
    "windows": (
        "powershell pwsh cmd format format.com diskpart reg regedit net net1 sc schtasks taskkill tasklist netsh "
        "vssadmin wbadmin wmic bcdedit wevtutil cipher fsutil takeown icacls cacls rd del erase manage-bde mshta "
        "regsvr32 rundll32 installutil wscript cscript bitsadmin mountvol runas attrib robocopy powercfg dism setx "
        "sfc w32tm systeminfo ipconfig getmac driverquery qwinsta quser nbtstat ver where.exe clip reagentc auditpol"
    ),
}
"""Module → the programs that it knows. Kept apart from the modules, so that looking a name up imports none of them."""
