#!/bin/sh
# service_machine.sh DIRECTORY COMMAND...
#
# Runs a command as root on a copy of this machine: its /etc, /var/lib, /opt and /run are private to the command, and
# `systemctl enable` starts the unit as systemd would. Call it in mount and process namespaces of its own.
set -e
base=$1
shift
mount -t tmpfs none "$base"
chmod 755 "$base"
for name in etc var/lib; do
    mkdir -p "$base/upper/$name" "$base/work/$name"
    mount -t overlay none -o "lowerdir=/$name,upperdir=$base/upper/$name,workdir=$base/work/$name" "/$name"
done
mount -t tmpfs none /opt
mount -t tmpfs none /run
chmod 755 /opt /run
mkdir -p /run/systemd/system
cat > "$base/systemctl" <<'END'
#!/bin/sh
[ "$1" = enable ] || exit 0
unit=/etc/systemd/system/verdikt.service
user=$(sed -n 's/^User=//p' $unit)
install -d -o "$user" -g "$user" /run/verdikt
install -d -m 700 -o "$user" -g "$user" /var/lib/verdikt
umask 077
setpriv --reuid="$user" --regid="$user" --init-groups $(sed -n 's/^ExecStart=//p' $unit) < /dev/null > /run/output 2>&1 &
for _ in $(seq 100); do
    [ -S /run/verdikt/daemon.sock ] && exit 0
    sleep 0.1
done
cat /run/output >&2
exit 1
END
chmod 755 "$base/systemctl"
mount --bind "$base/systemctl" /usr/bin/systemctl
"$@"
