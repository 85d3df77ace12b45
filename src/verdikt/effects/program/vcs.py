"""Version control other than git, and programs that write to people."""

from collections.abc import Iterator

from verdikt.effects.invocation import Invocation
from verdikt.effects.program.table import EffectSpec, Program, alias_programs
from verdikt.model.effect import Effect, Target

_READ = EffectSpec("git.read")
_WRITE = EffectSpec("git.write")
_DISCARD = EffectSpec("vcs.discard", "*", "path", without_target=True)
_LOSE = EffectSpec("vcs.lose", "*", "ref", without_target=True)


def _svn_delete(call: Invocation) -> Iterator[Effect]:
    """At an address the deletion is a commit of its own, for everybody."""
    there = tuple(Target(word.display_text, "resource") for word in call.args.operands if "://" in word.text)
    if there:
        yield call.make_effect("repo.delete", there)
    else:
        yield call.make_effect("git.write")


_HG: dict[str, Program | EffectSpec | tuple[EffectSpec, ...]] = {
    "strip": _LOSE,
    "debugstrip": _LOSE,
    "prune": _LOSE,
    "rollback": _LOSE,
    "revert": (EffectSpec("vcs.discard", "*", "path", when="-C --no-backup", without_target=True), _WRITE),
    "purge": _DISCARD,
    "clean": _DISCARD,
    "update": (EffectSpec("vcs.discard", "*", "path", when="-C --clean", without_target=True), _WRITE),
    "up": (EffectSpec("vcs.discard", "*", "path", when="-C --clean", without_target=True), _WRITE),
    "checkout": (EffectSpec("vcs.discard", "*", "path", when="-C --clean", without_target=True), _WRITE),
    "push": (EffectSpec("git.push.force", "*", "ref", when="-f --force", without_target=True), EffectSpec("git.push")),
    "histedit": _LOSE,
    "shelve": EffectSpec("vcs.lose", "*", "ref", when="-d --delete --cleanup", without_target=True),
    "bookmark": EffectSpec("vcs.lose", "*", "ref", when="-d --delete"),
    "commit": _WRITE,
    "ci": _WRITE,
    "pull": _WRITE,
    "merge": _WRITE,
}

PROGRAMS: dict[str, Program] = {
    **alias_programs(
        "hg sl chg",
        Program(
            _READ,
            value_flags="-R --repository --cwd --config -r --rev -m --message -u -d -b",
            dry_run_flags="-n --dry-run -p --print",
            subcommands=_HG,
        ),
    ),
    "svn": Program(
        _READ,
        value_flags="-m --message -r --revision --username --password -F --depth",
        dry_run_flags="--dry-run",
        subcommands={
            "delete": Program(classify=_svn_delete),
            "rm": Program(classify=_svn_delete),
            "del": Program(classify=_svn_delete),
            "remove": Program(classify=_svn_delete),
            "revert": _DISCARD,
            "cleanup": EffectSpec(
                "vcs.discard", "*", "path", when="--remove-unversioned --remove-ignored", without_target=True
            ),
            "commit": EffectSpec("git.push"),
            "ci": EffectSpec("git.push"),
            "update": _WRITE,
            "checkout": _WRITE,
            "propset": _WRITE,
            "switch": _WRITE,
        },
    ),
    "svnadmin": Program(
        _READ, subcommands={"dump": _READ, "load": _WRITE, "rmtxns": _LOSE, "setrevprop": _WRITE, "hotcopy": _READ}
    ),
    "jj": Program(
        _READ,
        value_flags="-R --repository -r --revision -m --message --at-op",
        subcommands={
            "abandon": _LOSE,
            "op abandon": _LOSE,
            "operation abandon": _LOSE,
            "util gc": _LOSE,
            "git push": (
                EffectSpec("git.push.delete", "--deleted", "ref", when="--deleted", without_target=True),
                EffectSpec("git.push"),
            ),
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
        subcommands={
            "revert": _DISCARD,
            "clean": _DISCARD,
            "purge": _LOSE,
            "push": EffectSpec("git.push"),
            "commit": EffectSpec("git.push"),
            "shun": _LOSE,
        },
    ),
    "p4": Program(
        _READ,
        value_flags="-c -u -p -P",
        dry_run_flags="-n",
        subcommands={
            "obliterate": EffectSpec("vcs.lose", "*", "ref", when="-y", without_target=True),
            "revert": _DISCARD,
            "delete": _WRITE,
            "submit": EffectSpec("git.push"),
            "client": _WRITE,
            "sync": (EffectSpec("vcs.discard", "*", "path", when="-f", without_target=True), _WRITE),
            "protect": EffectSpec("repo.admin"),
            "clean": _DISCARD,
        },
    ),
    "cvs": Program(
        _READ,
        value_flags="-d",
        subcommands={
            "remove": EffectSpec("vcs.discard", "*", "path", when="-f", without_target=True),
            "update": EffectSpec("vcs.discard", "*", "path", when="-C", without_target=True),
            "commit": EffectSpec("git.push"),
            "admin": _LOSE,
        },
    ),
    **alias_programs(
        "bzr brz",
        Program(
            _READ,
            subcommands={
                "revert": EffectSpec("vcs.discard", "*", "path", when="--no-backup", without_target=True),
                "uncommit": _LOSE,
                "clean-tree": _DISCARD,
                "push": (
                    EffectSpec("git.push.force", "*", "ref", when="--overwrite", without_target=True),
                    EffectSpec("git.push"),
                ),
            },
        ),
    ),
    "darcs": Program(
        _READ,
        dry_run_flags="--dry-run",
        subcommands={
            "obliterate": _LOSE,
            "unpull": _LOSE,
            "unrecord": _WRITE,
            "revert": _DISCARD,
            "push": EffectSpec("git.push"),
        },
    ),
    "repo": Program(
        _READ,
        subcommands={
            "forall": EffectSpec("code.run"),
            "sync": (
                EffectSpec("vcs.discard", when="--force-sync -d --detach --force-remove-dirty", without_target=True),
                _WRITE,
            ),
            "prune": _LOSE,
            "abandon": _LOSE,
            "upload": EffectSpec("git.push"),
        },
    ),
    "git-filter-repo": Program(
        EffectSpec("git.history.lose", without_target=True), dry_run_flags="--dry-run --analyze"
    ),
    "bfg": Program(EffectSpec("git.history.lose", without_target=True)),
    "git-lfs": Program(_READ, subcommands={"prune": EffectSpec("git.write"), "push": EffectSpec("git.push")}),
    **alias_programs(
        "slackcat  telegram-send pushover apprise",
        Program(EffectSpec("message.send", "*", "other", without_target=True)),
    ),
    **alias_programs(
        "neomutt s-nail nail aerc himalaya mailsend sendemail",
        Program(EffectSpec("message.send", "*", "other", without_target=True), value_flags="-s -a -c -b"),
    ),
}
