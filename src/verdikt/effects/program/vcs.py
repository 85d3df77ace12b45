"""Version control other than git, and programs that write to people."""

from collections.abc import Iterator

from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target

_READ = Does("git.read")
_WRITE = Does("git.write")
_DISCARD = Does("vcs.discard", "*", "path", bare=True)
_LOSE = Does("vcs.lose", "*", "ref", bare=True)


def _svn_delete(call: Call) -> Iterator[Effect]:
    """At an address the deletion is a commit of its own, for everybody."""
    there = tuple(Target(word.shown, "resource") for word in call.args.operands if "://" in word.text)
    if there:
        yield call.effect("repo.delete", there)
    else:
        yield call.effect("git.write")


_HG: dict[str, Program | Does | tuple[Does, ...]] = {
    "strip": _LOSE,
    "debugstrip": _LOSE,
    "prune": _LOSE,
    "rollback": _LOSE,
    "revert": (Does("vcs.discard", "*", "path", when="-C --no-backup", bare=True), _WRITE),
    "purge": _DISCARD,
    "clean": _DISCARD,
    "update": (Does("vcs.discard", "*", "path", when="-C --clean", bare=True), _WRITE),
    "up": (Does("vcs.discard", "*", "path", when="-C --clean", bare=True), _WRITE),
    "checkout": (Does("vcs.discard", "*", "path", when="-C --clean", bare=True), _WRITE),
    "push": (Does("git.push.force", "*", "ref", when="-f --force", bare=True), Does("git.push")),
    "histedit": _LOSE,
    "shelve": Does("vcs.lose", "*", "ref", when="-d --delete --cleanup", bare=True),
    "bookmark": Does("vcs.lose", "*", "ref", when="-d --delete"),
    "commit": _WRITE,
    "ci": _WRITE,
    "pull": _WRITE,
    "merge": _WRITE,
}

PROGRAMS: dict[str, Program] = {
    **programs(
        "hg sl chg",
        Program(
            _READ,
            values="-R --repository --cwd --config -r --rev -m --message -u -d -b",
            dry="-n --dry-run -p --print",
            subs=_HG,
        ),
    ),
    "svn": Program(
        _READ,
        values="-m --message -r --revision --username --password -F --depth",
        dry="--dry-run",
        subs={
            "delete": Program(call=_svn_delete),
            "rm": Program(call=_svn_delete),
            "del": Program(call=_svn_delete),
            "remove": Program(call=_svn_delete),
            "revert": _DISCARD,
            "cleanup": Does("vcs.discard", "*", "path", when="--remove-unversioned --remove-ignored", bare=True),
            "commit": Does("git.push"),
            "ci": Does("git.push"),
            "update": _WRITE,
            "checkout": _WRITE,
            "propset": _WRITE,
            "switch": _WRITE,
        },
    ),
    "svnadmin": Program(
        _READ, subs={"dump": _READ, "load": _WRITE, "rmtxns": _LOSE, "setrevprop": _WRITE, "hotcopy": _READ}
    ),
    "jj": Program(
        _READ,
        values="-R --repository -r --revision -m --message --at-op",
        subs={
            "abandon": _LOSE,
            "op abandon": _LOSE,
            "operation abandon": _LOSE,
            "util gc": _LOSE,
            "git push": (Does("git.push.delete", "--deleted", "ref", when="--deleted", bare=True), Does("git.push")),
            "restore": _WRITE,
            "new": _WRITE,
            "describe": _WRITE,
            "undo": _WRITE,
            "squash": _WRITE,
            "rebase": _WRITE,
            "bookmark delete": _LOSE,
        },
    ),
    "fossil": Program(
        _READ,
        subs={
            "revert": _DISCARD,
            "clean": _DISCARD,
            "purge": _LOSE,
            "push": Does("git.push"),
            "commit": Does("git.push"),
            "shun": _LOSE,
        },
    ),
    "p4": Program(
        _READ,
        values="-c -u -p -P",
        dry="-n",
        subs={
            "obliterate": Does("vcs.lose", "*", "ref", when="-y", bare=True),
            "revert": _DISCARD,
            "delete": _WRITE,
            "submit": Does("git.push"),
            "client": _WRITE,
            "sync": (Does("vcs.discard", "*", "path", when="-f", bare=True), _WRITE),
            "protect": Does("repo.admin"),
            "clean": _DISCARD,
        },
    ),
    "cvs": Program(
        _READ,
        values="-d",
        subs={
            "remove": Does("vcs.discard", "*", "path", when="-f", bare=True),
            "update": Does("vcs.discard", "*", "path", when="-C", bare=True),
            "commit": Does("git.push"),
            "admin": _LOSE,
        },
    ),
    **programs(
        "bzr brz",
        Program(
            _READ,
            subs={
                "revert": Does("vcs.discard", "*", "path", when="--no-backup", bare=True),
                "uncommit": _LOSE,
                "clean-tree": _DISCARD,
                "push": (Does("git.push.force", "*", "ref", when="--overwrite", bare=True), Does("git.push")),
            },
        ),
    ),
    "darcs": Program(
        _READ,
        dry="--dry-run",
        subs={"obliterate": _LOSE, "unpull": _LOSE, "unrecord": _WRITE, "revert": _DISCARD, "push": Does("git.push")},
    ),
    "repo": Program(
        _READ,
        subs={
            "forall": Does("code.run"),
            "sync": (Does("vcs.discard", when="--force-sync -d --detach --force-remove-dirty", bare=True), _WRITE),
            "prune": _LOSE,
            "abandon": _LOSE,
            "upload": Does("git.push"),
        },
    ),
    "git-filter-repo": Program(Does("git.history.lose", bare=True), dry="--dry-run --analyze"),
    "bfg": Program(Does("git.history.lose", bare=True)),
    "git-lfs": Program(_READ, subs={"prune": Does("git.write"), "push": Does("git.push")}),
    **programs("slackcat  telegram-send pushover apprise", Program(Does("message.send", "*", "other", bare=True))),
    **programs(
        "neomutt s-nail nail aerc himalaya mailsend sendemail",
        Program(Does("message.send", "*", "other", bare=True), values="-s -a -c -b"),
    ),
}
