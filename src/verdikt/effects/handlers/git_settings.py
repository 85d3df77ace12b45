"""git's settings: which of them make git run a program or talk to another place, and what that program does."""

from collections.abc import Iterator, Sequence

from verdikt.effects.arguments import word_set
from verdikt.effects.armed_text import judge_text
from verdikt.effects.execution_context import find_working_directory
from verdikt.effects.git_configuration import read_settings_file
from verdikt.effects.git_refspecs import find_remote_branch
from verdikt.effects.handlers.git_remotes import is_scratch_remote
from verdikt.effects.host import parse_host
from verdikt.effects.invocation import Invocation
from verdikt.effects.zone_effects import has_commit_check
from verdikt.model.effect import Effect, EffectClass, Target, Zone
from verdikt.model.lazy_regex import compile_lazily
from verdikt.shell.command import UNKNOWN, Word

_EXEC_KEYS = compile_lazily(
    r"^(?:core\.(?:hookspath|fsmonitor|sshcommand|gitproxy|askpass|pager|editor|alternaterefscommand|worktree)"
    r"|sequence\.editor|pager\..*|diff\.external|"
    r"diff\..*\.(?:command|textconv)|merge\..*\.driver|filter\..*\.(?:clean|smudge|process)"
    r"|credential\.(?:.*\.)?helper|gpg\.(?:.*\.)?program|"
    r"url\..*\.(?:push)?insteadof|include(?:if\..*)?\.path|init\.templatedir|protocol\..*allow|browser\..*\.cmd"
    r"|web\.browser|man\..*\.cmd|mergetool\..*\.cmd|"
    r"difftool\..*\.cmd|interactive\.difffilter|sendemail\..*cmd|uploadpack\.packobjectshook"
    r"|remote\..*\.(?:uploadpack|receivepack|proxy|vcs)|submodule\..*\.update|"
    r"receive\..*|http\.(?:.*\.)?(?:proxy|sslverify|cookiefile|extraheader)|trailer\..*\.(?:cmd|command)"
    r"|tar\..*\.command|instaweb\..*)$"
)
_HOOKS_PATH = "core.hookspath"
_PARAMETERS = compile_lazily(r"'([\w.-]+)'?='?([^']*)'")
_LEADS_TO_HOOKS = compile_lazily(r"^(?:core\.hookspath|include(?:if\..*)?\.path)$")
"""The settings by which git looks for its hooks elsewhere, by themselves or in another file."""
_PLAIN = word_set(
    "vim vi nvim nano emacs code subl less more cat bat delta diff-so-fancy meld kdiff3 vimdiff opendiff bcompare "
    "p4merge cache store osxkeychain manager manager-core libsecret wincred gpg gpg2 false true"
)
_SKIPS = {"HUSKY": ("0",), "HUSKY_SKIP_HOOKS": ("1", "true"), "LEFTHOOK": ("0", "false"), "SKIP": ()}
"""Variables by which tools that run hooks leave them out; pre-commit's names the hooks, and others may be left out."""
_REMOTE_KEY = compile_lazily(r"^remote\.(?:.*\.(?:url|pushurl|push|mirror)|pushdefault)$")
_HOOK_NAMES = (
    "applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg "
    "post-commit pre-rebase post-checkout post-merge pre-push post-rewrite pre-auto-gc post-index-change"
).split()
_PLAIN_KEYS = tuple("core.pager core.editor core.fsmonitor sequence.editor credential pager. diff. merge gpg".split())
_COMMAND_KEYS = tuple(
    "core. sequence. diff. filter. merge pager. credential gpg interactive mergetool difftool".split()
)
"""Settings whose value is a command line."""
_UNREAD_EFFECTS = ("unknown.parse", "code.unknown", "code.hidden", "code.remote", "code.build", "pkg.")
"""What runs files that are not named, so that nothing tells later when one of them changes."""
_SSH_SETTINGS = compile_lazily(r"\s-F\s*(\S+)")
_SSH_PROGRAM = compile_lazily(
    r"(?im)^\s*(?:proxycommand|localcommand|knownhostscommand|\w*provider|include|match\b.*\bexec)\b"
)
_GIVES_UP = {
    ("safe.directory", "*"),
    ("commit.gpgsign", "false"),
    ("tag.gpgsign", "false"),
    ("fetch.fsckobjects", "false"),
}


def classify_variables(call: Invocation) -> Iterator[Effect]:
    """Yield what variables before the command tell git to do: `-c` by another name, or hooks left out."""
    given = {name: value for name, value in call.command.assignments if name.startswith("GIT_CONFIG") or name in _SKIPS}
    for name, value in given.items():
        if name.startswith("GIT_CONFIG_KEY_"):
            worth = given.get(name.replace("_KEY_", "_VALUE_"), Word(""))
            yield from _configure(call, value.text.lower(), worth, passing=True)
        elif name == "GIT_CONFIG_PARAMETERS":
            if _HOOKS_PATH in value.text.lower():
                yield call.make_effect("git.hook.skip.path", note="changes which hooks git runs")
            for key, setting in _PARAMETERS.findall(value.text):
                yield from _configure(call, key.lower(), Word(setting), passing=True)
        elif name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM") and value.text not in ("", "/dev/null"):
            if has_commit_check(find_working_directory(call), call.facts):
                yield call.make_effect(
                    "git.hook.skip.path", (call.resolve_path(value),), note="may change which hooks git runs"
                )
        elif name in _SKIPS and value.text in _SKIPS[name]:
            yield skip_hooks(call, f"{name} leaves hooks out")
        elif name == "SKIP" and "verdikt" in value.text:
            yield skip_hooks(call, "leaves the commit check out")


def skip_hooks(call: Invocation, note: str) -> Effect:
    """Return the effect of skipping hooks once: verdikt's own, or others."""
    return call.make_effect(
        "git.hook.skip.check" if has_commit_check(find_working_directory(call), call.facts) else "git.hook.skip",
        note=note,
    )


def classify_setting(call: Invocation, text: str) -> Iterator[Effect]:
    """`-c key=value` for this one command."""
    key, _, value = text.partition("=")
    yield from _configure(call, key.lower(), Word(value), passing=True)


_IDENTITY_KEYS = ("user.", "author.", "committer.")


def _configure(call: Invocation, key: str, value: Word, *, passing: bool) -> Iterator[Effect]:
    text = value.text
    if key.startswith("alias.") and text.startswith("!"):
        effects = list(call.classify_shell(text[1:]))
        yield from effects
        if not passing:
            yield _set_program(call, key, value, effects, note="an alias that runs a program")
        return
    if _REMOTE_KEY.match(key):
        yield from _configure_remote(call, key, value)
        return
    if not _EXEC_KEYS.match(key) or _is_inert(key, text):
        if not passing and (key, text) in _GIVES_UP:
            yield call.make_effect("git.config.exec", (Target(f"{key}={text}", "other"),), note="gives a protection up")
        elif not passing and key.startswith(_IDENTITY_KEYS) and call.args.has_flag("--global --system"):
            yield call.make_effect("git.config.identity", (Target(key, "other"),))
        elif not passing:
            yield call.make_effect("git.config", (Target(key, "other"),))
        return
    if key.startswith("include") and (included := read_settings_file(call, text)) is not None:
        yield from _include(call, value, included, passing=passing)
        return
    if _LEADS_TO_HOOKS.match(key) and has_commit_check(find_working_directory(call), call.facts):
        yield call.make_effect("git.hook.skip.path", (Target(key, "other"),), note="changes which hooks git runs")
        return
    if key == _HOOKS_PATH:
        yield _set_hooks_directory(call, value, passing=passing)
        return
    yield from _configure_program(call, key, value, passing=passing)


def _include(call: Invocation, source: Word, settings: list[tuple[str, str]], *, passing: bool) -> Iterator[Effect]:
    """Classify settings that stand in a file; the file is remembered, so that a later change of it counts."""
    for name, value in settings:
        if name == _HOOKS_PATH:
            yield call.make_effect("git.config.exec", (Target(value, "other"),), note="changes which hooks git runs")
        yield from _configure(call, name, Word(value), passing=passing)
    if not passing:
        target = call.resolve_path(Word(f".git/{source.text}" if source.text[:1] not in "/~" else source.text))
        is_own = target.zone is Zone.PROJECT and not _is_for_everyone(call)
        yield call.make_effect("git.config" if is_own else "git.config.exec", (target,), note="takes in a file")


def _is_inert(key: str, text: str) -> bool:
    """Return whether a setting that can name a program or another place names neither."""
    if key.startswith("submodule."):
        return text in ("checkout", "rebase", "merge", "none")
    return key.startswith("url.") and _keeps_host(key, text)


def _set_hooks_directory(call: Invocation, value: Word, *, passing: bool) -> Effect:
    """Return the effect of another directory of hooks; those of the project are read, as far as they are there."""
    target = call.resolve_path(value) if value.text else Target(_HOOKS_PATH)
    note = "changes which hooks git runs"
    if target.zone is not Zone.PROJECT or passing:
        what = "persist.hook" if value.text not in ("", "/dev/null") else "git.hook.skip.path"
        return call.make_effect(what, (target,), note=note)
    if _is_for_everyone(call) or not target.path:
        return call.make_effect("git.config.exec", (target,), note=note)
    for name in _HOOK_NAMES:
        path = f"{target.path}/{name}"
        if call.facts.path(path, git=False).kind == "absent":
            continue
        text = call.facts.text(path)
        if text is None or call.shell_classifier is None:
            return call.make_effect("git.config.exec", (target,), note=f"the hook {name} can't be read")
        armed_text = judge_text(path, text, call.resolver, call.shell_classifier)
        if armed_text is not None:
            note = f"line {armed_text.line} of the hook {name} {armed_text.meaning}"
            return call.make_effect("git.config.exec", (target,), note=note)
    return call.make_effect("git.config", (target,))


def _keeps_host(key: str, replaced: str) -> bool:
    """Return whether an address is only written another way: `git@host:` as `https://host/`."""
    host = parse_host(key.removeprefix("url.").rpartition(".")[0])
    return bool(host) and UNKNOWN not in replaced and host == parse_host(replaced.removesuffix(":")).lower()


def _configure_remote(call: Invocation, key: str, value: Word) -> Iterator[Effect]:
    """Classify a setting by which a plain `git push` goes elsewhere, or overwrites what is there."""
    _, _, name = key.removeprefix("remote.").rpartition(".")
    text = value.text
    if name in ("url", "pushurl", "pushdefault"):
        remote = key.removeprefix("remote.").rpartition(".")[0]
        yield call.make_effect("git.remote.url", (Target(remote or key, "host"), Target(value.display_text, "host")))
    elif name == "mirror" and text != "false" and not is_scratch_remote(call, key.split(".")[1]):
        yield call.make_effect("git.push.mirror", (Target(key, "other"),), note="by every later push")
    elif name == "push" and text.startswith(("+", ":")) and text != ":":
        what = "git.push.delete" if text.startswith(":") else "git.push.force"
        branch = Target(find_remote_branch(text), "ref")
        yield call.make_effect(what, (branch,), note="by every later push that names no branch")
    else:
        yield call.make_effect("git.config", (Target(key, "other"),))


def _configure_program(call: Invocation, key: str, value: Word, *, passing: bool) -> Iterator[Effect]:
    """Classify a setting that names a program which git runs."""
    text = value.text
    if key in ("core.fsmonitor", "init.templatedir") and "/" in text and not passing:
        target = call.resolve_path(value)
        if target.zone is not Zone.PROJECT:
            yield call.make_effect("persist.hook", (target,), note="git would run what lies there")
            return
    first = text.lstrip("!").split()[0].rsplit("/", 1)[-1] if text.strip("! ") else ""
    if key.startswith("credential") and first == "store" and not passing:
        yield call.make_effect(
            "git.config.exec", (Target(f"{key}=store", "other"),), note="keeps passwords in the clear"
        )
        return
    if key.startswith(_PLAIN_KEYS) and (first in _PLAIN or first in ("true", "false", "")):
        if not passing:
            yield call.make_effect("git.config", (Target(key, "other"),))
        return
    effects: list[Effect] = []
    if key.startswith(_COMMAND_KEYS):
        effects = list(call.classify_shell(text.removeprefix("!")))
        yield from effects
    if (first == "ssh" and passing) or (key == "http.sslverify" and text != "false"):
        return
    # A helper gets passwords, and what signs gets keys: those stay the person's choice.
    if not passing and key.startswith(_COMMAND_KEYS) and not key.startswith(("credential", "gpg", "core.gitproxy")):
        yield _set_program(call, key, value, effects)
        return
    yield call.make_effect("git.config.exec", (Target(f"{key}={value.display_text}", "other"),))


def _set_program(call: Invocation, key: str, value: Word, effects: Sequence[Effect], note: str = "") -> Effect:
    """Return the effect of a setting whose command was classified: no more than that where all of it can be read.

    The files of the project that it runs are among the targets, so that a later git command is known to load them.
    """
    files = tuple(target for effect in effects if effect.what == "code.run" for target in effect.targets)
    # The settings of ssh can name programs, too.
    settings = _SSH_SETTINGS.search(value.text)
    settings_file = call.resolve_path(Word(settings[1])) if settings else None
    files += (settings_file,) if settings_file is not None else ()
    is_read = (
        call.shell_classifier is not None
        and UNKNOWN not in value.text
        and (settings_file is None or _names_no_program(call, settings_file))
        and not any(_is_unread(effect) for effect in effects)
        and all(_is_readable(call, target) for target in files)
    )
    only_looks = not files and all(effect.cls is EffectClass.READ for effect in effects)
    if is_read and (only_looks or not _is_for_everyone(call)):
        return call.make_effect("git.config", (Target(key, "other"), *files))
    shown = key if note else f"{key}={value.display_text}"
    return call.make_effect("git.config.exec", (Target(shown, "other"),), note=note)


def _names_no_program(call: Invocation, settings: Target) -> bool:
    """Return whether settings of ssh are there to be read, and name no program that it runs."""
    text = call.facts.text(settings.path) if settings.path else None
    return text is not None and _SSH_PROGRAM.search(text) is None


def _is_unread(effect: Effect) -> bool:
    return effect.what.startswith(_UNREAD_EFFECTS) or (effect.what == "unknown.program" and not effect.certain)


def _is_readable(call: Invocation, target: Target) -> bool:
    """Return whether a file that a setting names is text of the project, or is not there yet."""
    if target.zone is not Zone.PROJECT or not target.path:
        return False
    is_absent = call.facts.path(target.path, git=False).kind == "absent"
    return is_absent or call.facts.text(target.path) is not None


def _is_for_everyone(call: Invocation) -> bool:
    """Return whether a setting holds for more than this repository."""
    return call.args.has_flag("--global --system -f --file")


def classify_config(call: Invocation) -> Iterator[Effect]:
    """`git config`: what it changes for good."""
    args = call.args
    operands = list(args.operands)
    verb = operands[0].text if operands else ""
    if verb in ("set", "get", "list", "unset", "edit", "rename-section", "remove-section", "get-all"):
        operands = operands[1:]
    if verb in ("get", "list", "get-all") or args.has_flag(
        "--get --get-all --get-regexp --list -l --get-urlmatch --get-color --show-origin"
    ):
        yield call.make_effect("git.read")
        return
    if verb == "edit" or args.has_flag("-e --edit"):
        yield call.make_effect("git.config")
        return
    key = operands[0].text.lower() if operands else ""
    if verb == "unset" or args.has_flag("--unset --unset-all --remove-section --rename-section"):
        dropped = verb == "remove-section" or args.has_flag("--remove-section")
        what = (
            "git.config.exec"
            if key == _HOOKS_PATH or (dropped and args.has_flag("--global --system"))
            else "git.config"
        )
        if key in (_HOOKS_PATH, "core") and has_commit_check(find_working_directory(call), call.facts):
            what = "git.hook.skip.path"
        yield call.make_effect(what, (Target(key, "other"),))
        return
    if len(operands) < 2 and verb != "set":
        yield call.make_effect("git.read")
        return
    yield from _configure(call, key, operands[1] if len(operands) > 1 else Word(""), passing=False)
