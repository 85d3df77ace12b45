"""The names of effects: for each its class, whether it can be undone, and what it means in words.

A name is dotted; one that is not in the table belongs to its nearest parent that is (`fs.delete.tree` → `fs.delete`).
"""

from __future__ import annotations

from functools import cache

from verdikt.model.effect import EffectClass
from verdikt.model.row import Row

R, W, N, X, S, D = (
    EffectClass.READ,
    EffectClass.WRITE,
    EffectClass.NETWORK,
    EffectClass.EXECUTE,
    EffectClass.SPAWN,
    EffectClass.DESTRUCTIVE,
)


class Name(Row):
    """What every effect of one name has in common."""

    cls: EffectClass
    recoverable: bool
    words: str


class Manner(Row):
    """How an effect of one name is to be looked into: `looks` needs to know what is at its path, `loses` what git has of it."""

    entry: Name
    looks: bool
    loses: bool


_LOOKS = ("fs.write", "fs.append", "fs.overwrite", "fs.truncate", "fs.delete", "fs.shred", "fs.move", "fs.link")
"""Reading does not look, so that ordinary commands ask the disk nothing."""
_LOSES = ("fs.truncate", "fs.delete", "fs.shred")


NAMES: dict[str, Name] = {
    # files: `recoverable` of a path effect comes from the path's zone and git state, not from here
    "fs.read": Name(R, True, "reads a file's contents"),
    "fs.list": Name(R, True, "looks at names, sizes, dates"),
    "fs.write": Name(W, True, "creates or edits a file"),
    "fs.append": Name(W, True, "adds to the end of a file"),
    "fs.overwrite": Name(W, False, "replaces what a file held"),
    "fs.truncate": Name(D, False, "empties a file"),
    "fs.delete": Name(D, False, "deletes a file"),
    "fs.delete.tree": Name(D, False, "deletes a directory and everything in it"),
    "fs.shred": Name(D, False, "overwrites a file so that nothing can restore it"),
    "fs.move": Name(W, True, "moves or renames"),
    "fs.move.all": Name(W, False, "moves a whole project or home away"),
    "fs.link": Name(W, True, "creates a link"),
    "fs.link.out": Name(W, True, "creates a link that leads out of the project"),
    "fs.chmod": Name(W, True, "changes permissions"),
    "fs.chmod.open": Name(W, False, "lets everybody write"),
    "fs.chmod.tree": Name(D, False, "changes the permissions of a whole tree, which nothing remembers"),
    "fs.chown": Name(W, False, "changes owners"),
    "fs.chown.tree": Name(D, False, "changes the owners of a whole tree, which nothing remembers"),
    "fs.fill": Name(D, False, "fills the disk"),
    # git
    "git.read": Name(R, True, "looks at a repository"),
    "git.write": Name(W, True, "adds to a repository"),
    "git.amend": Name(W, True, "replaces the last commit; the reflog keeps the old one"),
    "git.history.rewrite": Name(W, True, "rewrites commits; the reflog keeps the old ones"),
    "git.history.lose": Name(D, False, "removes commits for good"),
    "git.discard": Name(D, False, "throws away uncommitted changes"),
    "git.discard.all": Name(D, False, "throws away every uncommitted change"),
    "git.reset": Name(W, True, "moves the branch; the reflog keeps where it was"),
    "git.clean": Name(D, False, "deletes untracked files"),
    "git.stash.drop": Name(D, False, "throws away stashed changes"),
    "git.stash.drop.all": Name(D, False, "throws away all stashed changes"),
    "git.branch.delete": Name(D, False, "deletes a branch that may not be merged"),
    "git.tag.delete": Name(W, True, "deletes a tag"),
    "git.ref.delete": Name(D, False, "deletes a reference"),
    "git.worktree.remove": Name(D, False, "removes a worktree with its changes"),
    "git.push": Name(N, True, "publishes commits"),
    "git.push.lease": Name(N, True, "replaces published commits unless somebody added to them"),
    "git.push.force": Name(D, False, "overwrites published commits"),
    "git.push.delete": Name(D, False, "deletes a published branch or tag"),
    "git.push.mirror": Name(D, False, "makes the remote equal to this repository, deletions included"),
    "git.fetch": Name(N, True, "downloads commits"),
    "git.remote": Name(W, True, "changes where commits go or come from"),
    "git.remote.url": Name(W, False, "sends later pushes elsewhere"),
    "git.config": Name(W, True, "changes git's settings"),
    "git.config.exec": Name(W, False, "makes git run a program"),
    "git.hook.skip": Name(W, True, "skips the repository's checks"),
    "git.hook.skip.check": Name(W, True, "skips verdikt's own check of commits"),
    "git.hook.skip.path": Name(W, True, "makes git look for its checks elsewhere"),
    "vcs.discard": Name(D, False, "throws away changes that are in no commit"),
    "vcs.lose": Name(D, False, "removes commits or changes"),
    # network
    "net.fetch": Name(N, True, "downloads"),
    "net.send": Name(N, False, "sends data out"),
    "net.connect": Name(N, True, "opens a connection"),
    "net.listen": Name(S, True, "accepts connections"),
    "net.tunnel": Name(S, False, "opens a way in or out past the network's limits"),
    "net.lookup": Name(N, True, "asks for an address"),
    "net.delete": Name(N, False, "asks a server to delete"),
    "net.send.file": Name(N, False, "uploads a file"),
    "net.scan": Name(N, True, "probes other machines"),
    "net.shell": Name(S, False, "gives somebody else a shell on this machine"),
    "net.local": Name(N, True, "talks to this machine"),
    # processes
    "proc.exec": Name(X, True, "runs a program"),
    "proc.spawn": Name(S, True, "starts a program that goes on by itself"),
    "proc.kill": Name(X, True, "ends a process"),
    "proc.kill.all": Name(D, False, "ends every process of a kind"),
    "proc.trace": Name(X, True, "takes hold of a running process and can read its memory"),
    "proc.mine": Name(S, False, "uses this machine to mine coins"),
    "proc.read": Name(R, True, "looks at processes"),
    # credentials
    "cred.read": Name(R, False, "reads a secret"),
    "cred.read.hidden": Name(R, False, "reads a secret in a way that hides it"),
    "cred.write": Name(W, False, "changes a credential"),
    "cred.send": Name(N, False, "sends a secret out"),
    "cred.create": Name(W, False, "makes a new credential"),
    "cred.delete": Name(D, False, "destroys a credential"),
    "cred.destroy": Name(D, False, "destroys a secret for good"),
    "keys.list": Name(R, True, "looks at names of secrets, or at what is public"),
    "cred.steal": Name(R, False, "takes passwords and keys from where they lie"),
    "env.read": Name(R, True, "shows the environment, which often holds secrets"),
    "env.read.all": Name(R, False, "shows the whole environment with every secret in it"),
    "env.read.secret": Name(R, False, "shows a secret from the environment"),
    # databases
    "db.read": Name(R, True, "queries a database"),
    "db.write": Name(W, True, "changes rows"),
    "db.schema": Name(W, True, "changes tables"),
    "db.delete": Name(D, False, "deletes rows"),
    "db.delete.all": Name(D, False, "deletes every row of a table"),
    "db.write.all": Name(D, False, "changes every row of a table"),
    "db.drop": Name(D, False, "drops a table or a database"),
    "db.admin": Name(W, False, "changes accounts, rights or settings of a database"),
    "db.restore": Name(D, False, "replaces a database by a dump"),
    "db.schema.drop": Name(W, True, "drops what can be made again: an index, a view, a function"),
    "db.write.live": Name(W, True, "changes what others read at once"),
    "db.exec": Name(X, False, "makes the database's machine run a program or touch its files"),
    "db.migrate.back": Name(D, False, "takes a schema back, with the columns that came since"),
    "db.migrate.live": Name(W, False, "changes the schema of a database that others may use"),
    # packages
    "pkg.read": Name(R, True, "looks at packages"),
    "pkg.install": Name(X, True, "installs packages, which may run their scripts"),
    "pkg.foreign": Name(X, False, "installs code from an address instead of the registry"),
    "pkg.run": Name(X, True, "downloads a package and runs it"),
    "pkg.remove": Name(W, True, "removes packages"),
    "pkg.remove.all": Name(W, False, "removes every package of an environment"),
    "pkg.system": Name(X, False, "installs or upgrades the machine's packages"),
    "pkg.system.remove": Name(D, False, "removes the machine's packages"),
    "pkg.publish": Name(N, False, "publishes a package"),
    "pkg.unpublish": Name(D, False, "takes a published package away"),
    "pkg.admin": Name(N, False, "changes who may publish a package, or what others get of it"),
    "pkg.source": Name(W, False, "takes packages from somewhere else from now on"),
    "pkg.setting": Name(W, True, "changes a setting of a package manager"),
    # rights
    "priv.escalate": Name(X, True, "runs with more rights"),
    "priv.setuid": Name(W, False, "lets a program run with its owner's rights"),
    "priv.grant": Name(W, False, "gives somebody more rights"),
    # this guard, other guards, what runs again later
    "guard.tamper": Name(D, False, "changes what watches over the agent"),
    "guard.environment": Name(S, False, "sends an agent around its policy or its log"),
    "guard.config": Name(W, False, "changes what an agent may do or can do"),
    "guard.forge": Name(X, False, "may write to the log of what watches over the agent"),
    "guard.bypass": Name(S, False, "starts an agent that nobody watches"),
    "persist.write": Name(W, False, "makes something run again later"),
    "persist.cron": Name(W, False, "schedules something"),
    "persist.unit": Name(W, False, "registers a service"),
    "persist.hook": Name(W, False, "makes something run at every git operation"),
    # code
    "code.run": Name(X, True, "runs a script"),
    "code.remote": Name(X, False, "runs code straight from the network"),
    "code.hidden": Name(X, False, "runs code that is hidden by an encoding"),
    "code.unknown": Name(X, False, "runs code that the text does not show"),
    "code.ci": Name(W, True, "changes what runs on every push"),
    "code.lifecycle": Name(W, False, "changes what runs when a package is installed"),
    "code.build": Name(X, True, "builds, tests, formats or checks"),
    # the machine
    "sys.read": Name(R, True, "looks at the machine"),
    "sys.power": Name(D, False, "turns the machine off or restarts it"),
    "sys.service": Name(W, True, "starts or restarts a service"),
    "sys.service.stop": Name(D, True, "stops a service"),
    "sys.user": Name(W, False, "changes an account"),
    "sys.user.delete": Name(D, False, "deletes an account"),
    "sys.firewall": Name(W, False, "changes the firewall"),
    "sys.mount": Name(W, True, "mounts or unmounts"),
    "sys.kernel": Name(W, False, "changes the kernel's settings or modules"),
    "sys.security": Name(D, False, "turns a protection off"),
    "sys.log": Name(D, False, "removes traces: logs or history"),
    "sys.setting": Name(W, True, "changes a setting of the machine"),
    "sys.crash": Name(D, False, "makes the machine unusable"),
    "sys.network": Name(W, True, "changes the machine's network"),
    "sys.boot": Name(W, False, "changes how the machine starts"),
    "sys.server": Name(W, True, "starts or reloads a server of the machine"),
    "sys.quarantine": Name(W, True, "lets a file run that was held back"),
    "cron.delete": Name(D, False, "removes every scheduled job"),
    "log.wipe": Name(D, False, "empties the record of what happened"),
    "reg.delete": Name(D, False, "deletes settings of the machine"),
    "disk.read": Name(R, True, "reads a device"),
    "disk.write": Name(D, False, "writes over a device"),
    "disk.format": Name(D, False, "makes a new file system, losing the old one"),
    "disk.partition": Name(D, False, "changes partitions or volumes"),
    "disk.look": Name(R, True, "looks at disks"),
    "disk.repair": Name(W, False, "repairs or resizes a file system, which may lose files"),
    "disk.rollback": Name(D, False, "goes back to a snapshot, losing what came after"),
    "backup.read": Name(R, True, "looks at backups"),
    "backup.write": Name(W, True, "makes a backup"),
    "backup.compact": Name(W, False, "frees what no backup names"),
    "backup.delete": Name(D, False, "deletes backups"),
    # containers, clusters, clouds
    "container.read": Name(R, True, "looks at containers and images"),
    "container.build": Name(X, True, "builds an image"),
    "container.run": Name(X, True, "runs a container"),
    "container.escape": Name(X, False, "runs a container that can reach the machine itself"),
    "container.exec": Name(X, True, "runs a command in a container"),
    "container.stop.all": Name(W, True, "stops every container"),
    "container.stop": Name(W, True, "stops a container"),
    "container.remove": Name(W, True, "removes a container or an image"),
    "container.prune": Name(D, True, "removes everything that is not in use"),
    "container.volume.remove": Name(D, False, "removes a volume with its data"),
    "container.push": Name(N, True, "publishes an image"),
    "container.remove.force": Name(D, True, "removes containers that may be running, with what they wrote"),
    "container.image.remove": Name(D, True, "removes every image that is not in use"),
    "container.prune.containers": Name(D, True, "removes what no container uses now"),
    "container.down.volumes": Name(D, True, "removes the volumes of this project's services"),
    "container.host": Name(X, True, "shares the machine's network with a container"),
    "vm.read": Name(R, True, "looks at virtual machines"),
    "vm.run": Name(X, True, "starts, makes or sets up a virtual machine"),
    "vm.stop": Name(W, True, "stops or changes a virtual machine"),
    "vm.delete": Name(D, False, "deletes a virtual machine or its disk"),
    "k8s.read": Name(R, True, "looks at a cluster"),
    "k8s.write": Name(W, True, "changes a cluster"),
    "k8s.delete": Name(D, False, "deletes a resource of a cluster"),
    "k8s.delete.all": Name(D, False, "deletes a namespace or everything of a kind"),
    "k8s.drain": Name(D, True, "takes a node or a workload out of service"),
    "k8s.exec": Name(X, True, "runs a command in a pod"),
    "k8s.shell": Name(X, True, "opens a shell in a pod"),
    "k8s.local": Name(W, True, "changes a cluster on this machine"),
    "k8s.delete.data": Name(D, False, "deletes what holds a cluster's data"),
    "k8s.drain.force": Name(D, False, "takes a node out of service, and pods with it for good"),
    "k8s.context": Name(W, True, "changes which cluster or machine is meant from now on"),
    "cloud.read": Name(R, True, "looks at a cloud account"),
    "cloud.write": Name(W, True, "changes a cloud account"),
    "cloud.delete": Name(D, False, "deletes a cloud resource"),
    "cloud.iam": Name(W, False, "changes who may do what in a cloud account"),
    "cloud.open": Name(W, False, "lets others reach a cloud resource"),
    "cloud.expose": Name(W, False, "makes a cloud resource public"),
    "infra.read": Name(R, True, "plans or shows infrastructure"),
    "infra.apply": Name(W, False, "changes infrastructure"),
    "infra.destroy": Name(D, False, "destroys infrastructure"),
    "infra.state": Name(D, False, "changes what the tool knows of the infrastructure"),
    "infra.run": Name(X, False, "runs commands on other machines"),
    "queue.read": Name(R, True, "looks at a queue"),
    "queue.write": Name(W, True, "changes a queue"),
    "queue.delete": Name(D, False, "deletes a queue or what is in it"),
    "queue.local": Name(W, True, "changes a queue on this machine"),
    # forges, messages, agents
    "repo.read": Name(R, True, "looks at a forge"),
    "repo.write": Name(N, True, "writes to a forge: issues, pull requests, comments"),
    "repo.merge": Name(N, False, "merges on a forge"),
    "repo.release": Name(N, False, "publishes a release"),
    "repo.admin": Name(N, False, "changes a repository's settings, rights or secrets"),
    "repo.delete": Name(D, False, "deletes on a forge"),
    "repo.close": Name(N, True, "turns work away or cuts it off at a forge"),
    "repo.expose": Name(N, False, "makes a private repository readable by others"),
    "repo.gist": Name(N, False, "puts a file where others can read it"),
    "repo.write.api": Name(N, True, "writes to a forge through its interface"),
    "message.send": Name(N, False, "sends a message to people"),
    "agent.run": Name(S, True, "starts another agent"),
    "browser.use": Name(N, True, "drives a browser"),
    "mcp.read": Name(R, True, "asks a connected service"),
    "mcp.write": Name(W, True, "changes something in a connected service"),
    "mcp.send": Name(N, False, "sends something through a connected service"),
    "mcp.run": Name(X, False, "has a connected service run something"),
    "mcp.pay": Name(N, False, "moves money through a connected service"),
    "mcp.delete": Name(D, False, "deletes something in a connected service"),
    "none": Name(R, True, "changes nothing"),
    # what is not known
    "unknown": Name(X, False, "does something that the text does not tell"),
    "unknown.parse": Name(X, False, "is not understood as shell"),
    "unknown.program": Name(X, True, "runs a program that verdikt does not know"),
    "unknown.destroy": Name(D, False, "is told to destroy something, by a program that verdikt does not know"),
    "unknown.tool": Name(X, False, "is a tool that verdikt does not know"),
}
"""Name → class, can it be undone, words. Every name used by a program table stands here or below one that does."""


@cache
def named(what: str) -> Name:
    """The entry of a name, or of its nearest parent; a name without any is unknown."""
    while what:
        if what in NAMES:
            return NAMES[what]
        what = what.rpartition(".")[0]
    return NAMES["unknown"]


@cache
def manner(what: str) -> Manner:
    """How effects of this name are looked into."""
    return Manner(named(what), what.startswith(_LOOKS), what.startswith(_LOSES))
