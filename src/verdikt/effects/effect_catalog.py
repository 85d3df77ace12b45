"""The catalog of effects: for each name its class, whether it can be undone, and what it means in words.

A name is dotted; one that is not in the table belongs to its nearest parent that is (`fs.delete.tree` → `fs.delete`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from verdikt.model.effect import EffectClass

R, W, N, X, S, D = (
    EffectClass.READ,
    EffectClass.WRITE,
    EffectClass.NETWORK,
    EffectClass.EXECUTE,
    EffectClass.SPAWN,
    EffectClass.DESTRUCTIVE,
)


class CatalogEntry(NamedTuple):
    """What all effects of one name have in common."""

    cls: EffectClass
    recoverable: bool
    meaning: str


# Slots and no named tuple: read for every effect that is made, and a slot is read in a third of the time.
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EffectTraits:
    """What the name of an effect tells: its class, whether it can be undone, what must be known about its paths."""

    cls: EffectClass
    recoverable: bool
    needs_path_state: bool
    loses_content: bool


_PATH_STATE_PREFIXES = (
    "fs.write",
    "fs.append",
    "fs.overwrite",
    "fs.truncate",
    "fs.delete",
    "fs.shred",
    "fs.move",
    "fs.link",
    "fs.install",
)
"""Effects that ask the disk about their paths; reading does not, so that most commands cause no file access."""
_LOSS_PREFIXES = ("fs.truncate", "fs.delete", "fs.shred")


EFFECT_CATALOG: dict[str, CatalogEntry] = {
    # files: `recoverable` of a path effect comes from the path's zone and git state, not from here
    "fs.read": CatalogEntry(R, True, "reads a file's contents"),
    "fs.list": CatalogEntry(R, True, "looks at names, sizes, dates"),
    "fs.write": CatalogEntry(W, True, "creates or edits a file"),
    "fs.append": CatalogEntry(W, True, "adds to the end of a file"),
    "fs.overwrite": CatalogEntry(W, False, "replaces what a file held"),
    "fs.truncate": CatalogEntry(D, False, "empties a file"),
    "fs.delete": CatalogEntry(D, False, "deletes a file"),
    "fs.delete.tree": CatalogEntry(D, False, "deletes a directory and everything in it"),
    "fs.shred": CatalogEntry(D, False, "overwrites a file so that nothing can restore it"),
    "fs.move": CatalogEntry(W, True, "moves or renames"),
    "fs.move.all": CatalogEntry(W, False, "moves a whole project or home away"),
    "fs.link": CatalogEntry(W, True, "creates a link"),
    "fs.install": CatalogEntry(W, True, "puts a program of the project among the person's own"),
    "fs.link.out": CatalogEntry(W, True, "creates a link that leads out of the project"),
    "fs.chmod": CatalogEntry(W, True, "changes permissions"),
    "fs.chmod.open": CatalogEntry(W, False, "lets everybody write"),
    "fs.chmod.tree": CatalogEntry(D, False, "changes the permissions of a whole tree, which nothing remembers"),
    "fs.chown": CatalogEntry(W, False, "changes owners"),
    "fs.chown.tree": CatalogEntry(D, False, "changes the owners of a whole tree, which nothing remembers"),
    "fs.fill": CatalogEntry(D, False, "fills the disk"),
    # git
    "git.read": CatalogEntry(R, True, "looks at a repository"),
    "git.write": CatalogEntry(W, True, "adds to a repository"),
    "git.amend": CatalogEntry(W, True, "replaces the last commit; the reflog keeps the old one"),
    "git.history.rewrite": CatalogEntry(W, True, "rewrites commits; the reflog keeps the old ones"),
    "git.history.lose": CatalogEntry(D, False, "removes commits for good"),
    "git.discard": CatalogEntry(D, False, "throws away uncommitted changes"),
    "git.discard.all": CatalogEntry(D, False, "throws away every uncommitted change"),
    "git.reset": CatalogEntry(W, True, "moves the branch; the reflog keeps where it was"),
    "git.clean": CatalogEntry(D, False, "deletes untracked files"),
    "git.stash.drop": CatalogEntry(D, False, "throws away stashed changes"),
    "git.stash.drop.all": CatalogEntry(D, False, "throws away all stashed changes"),
    "git.branch.delete": CatalogEntry(D, False, "deletes a branch that may not be merged"),
    "git.tag.delete": CatalogEntry(W, True, "deletes a tag"),
    "git.ref.delete": CatalogEntry(D, False, "deletes a reference"),
    "git.worktree.remove": CatalogEntry(D, False, "removes a worktree with its changes"),
    "git.push": CatalogEntry(N, True, "publishes commits"),
    "git.push.shared": CatalogEntry(N, True, "publishes commits under the name of another branch"),
    "git.push.lease": CatalogEntry(N, True, "replaces published commits unless others added to them"),
    "git.push.force": CatalogEntry(D, False, "overwrites published commits"),
    "git.push.delete": CatalogEntry(D, False, "deletes a published branch or tag"),
    "git.push.mirror": CatalogEntry(D, False, "makes the remote equal to this repository, deletions included"),
    "git.fetch": CatalogEntry(N, True, "downloads commits"),
    "git.remote": CatalogEntry(W, True, "changes where commits go or come from"),
    "git.remote.url": CatalogEntry(W, False, "sends later pushes elsewhere"),
    "git.config": CatalogEntry(W, True, "changes git's settings"),
    "git.config.exec": CatalogEntry(W, False, "makes git run a program"),
    "git.config.identity": CatalogEntry(W, True, "changes who commits are from, in every repository"),
    "git.hook.skip": CatalogEntry(W, True, "skips the repository's checks"),
    "git.hook.skip.check": CatalogEntry(W, True, "skips verdikt's own check of commits"),
    "git.hook.skip.path": CatalogEntry(W, True, "makes git look for its checks elsewhere"),
    "vcs.discard": CatalogEntry(D, False, "throws away changes that are in no commit"),
    "vcs.lose": CatalogEntry(D, False, "removes commits or changes"),
    # network
    "net.fetch": CatalogEntry(N, True, "downloads"),
    "net.send": CatalogEntry(N, False, "sends data out"),
    "net.connect": CatalogEntry(N, True, "opens a connection"),
    "net.listen": CatalogEntry(S, True, "accepts connections"),
    "net.tunnel": CatalogEntry(S, False, "opens a way in or out past the network's limits"),
    "net.lookup": CatalogEntry(N, True, "asks for an address"),
    "net.unlisted": CatalogEntry(N, True, "sends to a host for the first time after a secret was read"),
    "net.delete": CatalogEntry(N, False, "asks a server to delete"),
    "net.send.file": CatalogEntry(N, False, "uploads a file"),
    "net.scan": CatalogEntry(N, True, "probes other machines"),
    "net.shell": CatalogEntry(S, False, "gives another machine a shell on this one"),
    "net.local": CatalogEntry(N, True, "talks to this machine"),
    # processes
    "proc.exec": CatalogEntry(X, True, "runs a program"),
    "proc.spawn": CatalogEntry(S, True, "starts a program that goes on by itself"),
    "proc.kill": CatalogEntry(X, True, "ends a process"),
    "proc.kill.all": CatalogEntry(D, False, "ends every process of a kind"),
    "proc.trace": CatalogEntry(X, True, "takes hold of a running process and can read its memory"),
    "proc.mine": CatalogEntry(S, False, "uses this machine to mine coins"),
    "proc.read": CatalogEntry(R, True, "looks at processes"),
    # credentials
    "cred.read": CatalogEntry(R, False, "reads a secret"),
    "cred.read.key": CatalogEntry(R, False, "shows a private key for logging in or signing"),
    "cred.read.hidden": CatalogEntry(R, False, "reads a secret in a way that hides it"),
    "cred.write": CatalogEntry(W, False, "changes a credential"),
    "cred.send": CatalogEntry(N, False, "sends a secret out"),
    "cred.copy": CatalogEntry(W, True, "puts a secret into another file"),
    "cred.create": CatalogEntry(W, False, "makes a new credential"),
    "cred.delete": CatalogEntry(D, False, "destroys a credential"),
    "cred.destroy": CatalogEntry(D, False, "destroys a secret for good"),
    "keys.list": CatalogEntry(R, True, "looks at names of secrets, or at what is public"),
    "cred.steal": CatalogEntry(R, False, "takes passwords and keys from where they lie"),
    "env.read": CatalogEntry(R, True, "shows the environment, which often holds secrets"),
    "env.read.all": CatalogEntry(R, False, "shows the whole environment with every secret in it"),
    "env.read.secret": CatalogEntry(R, False, "shows a secret from the environment"),
    # databases
    "db.read": CatalogEntry(R, True, "queries a database"),
    "db.write": CatalogEntry(W, True, "changes rows"),
    "db.schema": CatalogEntry(W, True, "changes tables"),
    "db.delete": CatalogEntry(D, False, "deletes rows"),
    "db.delete.all": CatalogEntry(D, False, "deletes every row of a table"),
    "db.write.all": CatalogEntry(D, False, "changes every row of a table"),
    "db.drop": CatalogEntry(D, False, "drops a table or a database"),
    "db.admin": CatalogEntry(W, False, "changes accounts, rights or settings of a database"),
    "db.restore": CatalogEntry(D, False, "replaces a database by a dump"),
    "db.schema.drop": CatalogEntry(W, True, "drops what can be made again: an index, a view, a function"),
    "db.write.live": CatalogEntry(W, True, "changes what others read at once"),
    "db.exec": CatalogEntry(X, False, "makes the database's machine run a program or touch its files"),
    "db.migrate.back": CatalogEntry(D, False, "takes a schema back, with the columns that came since"),
    "db.migrate.live": CatalogEntry(W, False, "changes the schema of a database that others may use"),
    # packages
    "pkg.read": CatalogEntry(R, True, "looks at packages"),
    "pkg.install": CatalogEntry(X, True, "installs packages, which may run their scripts"),
    "pkg.foreign": CatalogEntry(X, False, "installs code from an address instead of the registry"),
    "pkg.run": CatalogEntry(X, True, "downloads a package and runs it"),
    "pkg.remove": CatalogEntry(W, True, "removes packages"),
    "pkg.remove.all": CatalogEntry(W, False, "removes every package of an environment"),
    "pkg.system": CatalogEntry(X, False, "installs or upgrades the machine's packages"),
    "pkg.system.remove": CatalogEntry(D, False, "removes the machine's packages"),
    "pkg.publish": CatalogEntry(N, False, "publishes a package"),
    "pkg.unpublish": CatalogEntry(D, False, "takes a published package away"),
    "pkg.admin": CatalogEntry(N, False, "changes who may publish a package, or what others get of it"),
    "pkg.source": CatalogEntry(W, False, "takes packages from somewhere else from now on"),
    "pkg.setting": CatalogEntry(W, True, "changes a setting of a package manager"),
    # rights
    "priv.escalate": CatalogEntry(X, True, "runs with more rights"),
    "priv.setuid": CatalogEntry(W, False, "lets a program run with its owner's rights"),
    "priv.grant": CatalogEntry(W, False, "gives an account more rights"),
    # this guard, other guards, what runs again later
    "guard.tamper": CatalogEntry(D, False, "changes what watches over the agent"),
    "guard.tamper.set": CatalogEntry(D, False, "changes what watches over the agent, among other files"),
    "guard.environment": CatalogEntry(S, False, "sends an agent around its policy or its log"),
    "guard.handle": CatalogEntry(W, False, "hands a file that watches over the agent to a program that may change it"),
    "guard.config": CatalogEntry(W, False, "changes what an agent may do or can do"),
    "guard.forge": CatalogEntry(X, False, "may write to the log of what watches over the agent"),
    "guard.bypass": CatalogEntry(S, False, "starts an agent without its guard"),
    "guard.child": CatalogEntry(S, False, "starts an agent that no policy watches"),
    "guard.reader": CatalogEntry(S, False, "starts an agent that no policy watches, and that can only read"),
    "persist.write": CatalogEntry(W, False, "makes something run again later"),
    "persist.cron": CatalogEntry(W, False, "schedules something"),
    "persist.unit": CatalogEntry(W, False, "registers a service"),
    "persist.hook": CatalogEntry(W, False, "makes something run at every git operation"),
    # code
    "code.run": CatalogEntry(X, True, "runs a script"),
    "code.remote": CatalogEntry(X, False, "runs code straight from the network"),
    "code.hidden": CatalogEntry(X, False, "runs code that is hidden by an encoding"),
    "code.unknown": CatalogEntry(X, False, "runs code that the text does not show"),
    "code.unknown.download": CatalogEntry(X, False, "runs what was downloaded and not read since"),
    "code.ci": CatalogEntry(W, True, "changes what runs on every push"),
    "code.lifecycle": CatalogEntry(W, False, "changes what runs when a package is installed"),
    "code.armed": CatalogEntry(X, False, "may load a file that would do what can't be undone"),
    "code.build": CatalogEntry(X, True, "builds, tests, formats or checks"),
    # the machine
    "sys.read": CatalogEntry(R, True, "looks at the machine"),
    "sys.power": CatalogEntry(D, False, "turns the machine off or restarts it"),
    "sys.service": CatalogEntry(W, True, "starts or restarts a service"),
    "sys.service.stop": CatalogEntry(D, True, "stops a service"),
    "sys.user": CatalogEntry(W, False, "changes an account"),
    "sys.user.delete": CatalogEntry(D, False, "deletes an account"),
    "sys.firewall": CatalogEntry(W, False, "changes the firewall"),
    "sys.mount": CatalogEntry(W, True, "mounts or unmounts"),
    "sys.kernel": CatalogEntry(W, False, "changes the kernel's settings or modules"),
    "sys.security": CatalogEntry(D, False, "turns a protection off"),
    "sys.log": CatalogEntry(D, False, "removes traces: logs or history"),
    "sys.setting": CatalogEntry(W, True, "changes a setting of the machine"),
    "sys.crash": CatalogEntry(D, False, "makes the machine unusable"),
    "sys.network": CatalogEntry(W, True, "changes the machine's network"),
    "sys.boot": CatalogEntry(W, False, "changes how the machine starts"),
    "sys.server": CatalogEntry(W, True, "starts or reloads a server of the machine"),
    "sys.quarantine": CatalogEntry(W, True, "lets a file run that was held back"),
    "cron.delete": CatalogEntry(D, False, "removes every scheduled job"),
    "log.wipe": CatalogEntry(D, False, "empties the record of what happened"),
    "reg.delete": CatalogEntry(D, False, "deletes settings of the machine"),
    "disk.read": CatalogEntry(R, True, "reads a device"),
    "disk.write": CatalogEntry(D, False, "writes over a device"),
    "disk.format": CatalogEntry(D, False, "makes a new file system, losing the old one"),
    "disk.partition": CatalogEntry(D, False, "changes partitions or volumes"),
    "disk.look": CatalogEntry(R, True, "looks at disks"),
    "disk.repair": CatalogEntry(W, False, "repairs or resizes a file system, which may lose files"),
    "disk.rollback": CatalogEntry(D, False, "goes back to a snapshot, losing what came after"),
    "backup.read": CatalogEntry(R, True, "looks at backups"),
    "backup.write": CatalogEntry(W, True, "makes a backup"),
    "backup.compact": CatalogEntry(W, False, "frees what no backup names"),
    "backup.delete": CatalogEntry(D, False, "deletes backups"),
    # containers, clusters, clouds
    "container.read": CatalogEntry(R, True, "looks at containers and images"),
    "container.build": CatalogEntry(X, True, "builds an image"),
    "container.run": CatalogEntry(X, True, "runs a container"),
    "container.escape": CatalogEntry(X, False, "runs a container that can reach the machine itself"),
    "container.exec": CatalogEntry(X, True, "runs a command in a container"),
    "container.stop.all": CatalogEntry(W, True, "stops every container"),
    "container.stop": CatalogEntry(W, True, "stops a container"),
    "container.remove": CatalogEntry(W, True, "removes a container or an image"),
    "container.prune": CatalogEntry(D, True, "removes everything that is not in use"),
    "container.volume.remove": CatalogEntry(D, False, "removes a volume with its data"),
    "container.push": CatalogEntry(N, True, "publishes an image"),
    "container.remove.force": CatalogEntry(D, True, "removes containers that may be running, with what they wrote"),
    "container.image.remove": CatalogEntry(D, True, "removes every image that is not in use"),
    "container.prune.containers": CatalogEntry(D, True, "removes what no container uses now"),
    "container.down.volumes": CatalogEntry(D, True, "removes the volumes of this project's services"),
    "container.host": CatalogEntry(X, True, "shares the machine's network with a container"),
    "vm.read": CatalogEntry(R, True, "looks at virtual machines"),
    "vm.run": CatalogEntry(X, True, "starts, makes or sets up a virtual machine"),
    "vm.stop": CatalogEntry(W, True, "stops or changes a virtual machine"),
    "vm.delete": CatalogEntry(D, False, "deletes a virtual machine or its disk"),
    "k8s.read": CatalogEntry(R, True, "looks at a cluster"),
    "k8s.write": CatalogEntry(W, True, "changes a cluster"),
    "k8s.delete": CatalogEntry(D, False, "deletes a resource of a cluster"),
    "k8s.delete.all": CatalogEntry(D, False, "deletes a namespace or everything of a kind"),
    "k8s.drain": CatalogEntry(D, True, "takes a node or a workload out of service"),
    "k8s.exec": CatalogEntry(X, True, "runs a command in a pod"),
    "k8s.shell": CatalogEntry(X, True, "opens a shell in a pod"),
    "k8s.local": CatalogEntry(W, True, "changes a cluster on this machine"),
    "k8s.delete.data": CatalogEntry(D, False, "deletes what holds a cluster's data"),
    "k8s.drain.force": CatalogEntry(D, False, "takes a node out of service, and pods with it for good"),
    "k8s.context": CatalogEntry(W, True, "changes which cluster or machine is meant from now on"),
    "cloud.read": CatalogEntry(R, True, "looks at a cloud account"),
    "cloud.write": CatalogEntry(W, True, "changes a cloud account"),
    "cloud.delete": CatalogEntry(D, False, "deletes a cloud resource"),
    "cloud.iam": CatalogEntry(W, False, "changes who may do what in a cloud account"),
    "cloud.open": CatalogEntry(W, False, "lets others reach a cloud resource"),
    "cloud.expose": CatalogEntry(W, False, "makes a cloud resource public"),
    "infra.read": CatalogEntry(R, True, "plans or shows infrastructure"),
    "infra.apply": CatalogEntry(W, False, "changes infrastructure"),
    "infra.destroy": CatalogEntry(D, False, "destroys infrastructure"),
    "infra.state": CatalogEntry(D, False, "changes what the tool knows of the infrastructure"),
    "infra.run": CatalogEntry(X, False, "runs commands on other machines"),
    "queue.read": CatalogEntry(R, True, "looks at a queue"),
    "queue.write": CatalogEntry(W, True, "changes a queue"),
    "queue.delete": CatalogEntry(D, False, "deletes a queue or what is in it"),
    "queue.local": CatalogEntry(W, True, "changes a queue on this machine"),
    # forges, messages, agents
    "repo.read": CatalogEntry(R, True, "looks at a forge"),
    "repo.write": CatalogEntry(N, True, "writes to a forge: issues, pull requests, comments"),
    "repo.merge": CatalogEntry(N, False, "merges a pull request"),
    "repo.release": CatalogEntry(N, False, "publishes a release"),
    "repo.admin": CatalogEntry(N, False, "changes a repository's settings, rights or secrets"),
    "repo.delete": CatalogEntry(D, False, "deletes something at the forge"),
    "repo.close": CatalogEntry(N, True, "closes a pull request or an issue, or cancels a run"),
    "repo.expose": CatalogEntry(N, False, "makes a private repository readable by others"),
    "repo.gist": CatalogEntry(N, False, "puts a file where others can read it"),
    "repo.write.api": CatalogEntry(N, True, "writes to a forge through its interface"),
    "message.send": CatalogEntry(N, False, "sends a message to people"),
    "agent.run": CatalogEntry(S, True, "starts another agent"),
    "browser.use": CatalogEntry(N, True, "drives a browser"),
    "mcp.read": CatalogEntry(R, True, "asks a connected service"),
    "mcp.write": CatalogEntry(W, True, "changes something in a connected service"),
    "mcp.send": CatalogEntry(N, False, "sends something through a connected service"),
    "mcp.run": CatalogEntry(X, False, "has a connected service run something"),
    "mcp.pay": CatalogEntry(N, False, "moves money through a connected service"),
    "mcp.delete": CatalogEntry(D, False, "deletes something in a connected service"),
    "none": CatalogEntry(R, True, "changes nothing"),
    # what is not known
    "unknown": CatalogEntry(X, False, "does something that the text does not tell"),
    "unknown.parse": CatalogEntry(X, False, "is not understood as shell"),
    "unknown.program": CatalogEntry(X, True, "runs a program that verdikt does not know"),
    "unknown.destroy": CatalogEntry(D, False, "is told to destroy something, by a program that verdikt does not know"),
    "unknown.tool": CatalogEntry(X, False, "is a tool that verdikt does not know"),
}
"""Name → class, can it be undone, words. Every name in a program table is listed here, or its parent is."""


@cache
def find_entry(what: str) -> CatalogEntry:
    """Return the entry of a name or of its nearest listed parent; `unknown` if there is none."""
    while what:
        if what in EFFECT_CATALOG:
            return EFFECT_CATALOG[what]
        what = what.rpartition(".")[0]
    return EFFECT_CATALOG["unknown"]


@cache
def find_traits(what: str) -> EffectTraits:
    """Return the entry of a name together with what must be known about its paths."""
    entry = find_entry(what)
    needs_path_state, loses_content = what.startswith(_PATH_STATE_PREFIXES), what.startswith(_LOSS_PREFIXES)
    return EffectTraits(entry.cls, entry.recoverable, needs_path_state, loses_content)
