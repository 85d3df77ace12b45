"""Programs that read, search, change and show text."""

from collections.abc import Iterator

from verdikt.effects.argument import Arguments, words
from verdikt.effects.call import Call
from verdikt.effects.program.table import Does, Program, programs
from verdikt.model.effect import Effect, Target, Zone
from verdikt.model.regex import regex
from verdikt.shell.command import Word


def _grep(call: Call) -> Iterator[Effect]:
    args = call.args
    given = args.has("-e --regexp -f --file --files --type-list")
    files = call.on("fs.read", args.operands if given else args.operands[1:])
    if any(target.zone is Zone.SECRET for effect in files for target in effect.targets) and _is_plain(
        args, given=given
    ):
        files = call.on("fs.list", args.operands if given else args.operands[1:])
    yield from files
    if (command := args.value("--pre")) is not None:
        yield from call.shell(command.text)
    if args.operands and args.has("-r -R --recursive --hidden") and args.operands[-1].text[:1] in ("/", "~"):
        yield from _hunted(call, args.operands if given else args.operands[1:], args.operands[0].text)
    if call.command.pipe_from is not None and not args.has("-c --count -q --quiet --silent"):
        yield from _secret_lines(call, args.all("-e --regexp") or args.operands[:1])


_SETTINGS = regex(r"^[\^(]*(?:[A-Z][A-Z_]{2,}[=:]?\|?)+\)?[=:]?$")


def _is_plain(args: Arguments, *, given: bool) -> bool:
    """Whether only settings are looked for that hold no secret."""
    patterns = args.all("-e --regexp") if given else args.operands[:1]
    whole = args.has("-v --invert-match -A -B -C -r -R")
    return bool(patterns) and not whole and all(_is_plain_setting(word.text) for word in patterns)


def _is_plain_setting(pattern: str) -> bool:
    """Whether a pattern names settings that hold no secret: `PORT|NODE_ENV`."""
    from verdikt.effects.program.network import SECRET_NAME

    pattern = pattern.replace("\\|", "|")
    return (
        _SETTINGS.match(pattern) is not None
        and SECRET_NAME.search(pattern) is None
        and not any(part in pattern for part in ("URL", "URI", "DSN", "CONN"))
    )


_SECRETS = regex(r"(?i)BEGIN .*PRIVATE|passw(?:or)?d|secret|api[_.-]?key|access[_.-]?key|aws_|AKIA|token|credential")


def _hunted(call: Call, places: list[Word], pattern: str) -> Iterator[Effect]:
    """Passwords looked for in everything that a person or the machine has."""
    if _SECRETS.search(pattern):
        found = tuple(t for t in map(call.path, places) if t.zone in (Zone.HOME, Zone.SECRET) or t.path in _EVERYTHING)
        if found:
            yield call.effect("cred.read", found, possible=True, note=f"looks for {pattern}")


_SHOW_VARIABLES = words("env printenv export set declare history")
_EVERYTHING = words("/ /etc /home /root /var /opt /srv /usr /Users /mnt")


def _secret_lines(call: Call, patterns: list[Word]) -> Iterator[Effect]:
    """`env | grep TOKEN`: shows a secret, unless what follows keeps only its name."""
    from verdikt.effects.program.network import SECRET_NAME

    below = call.commands[call.command.pipe_to].name if call.command.pipe_to is not None else ""
    if below in ("cut", "sed", "awk", "wc") or not any(SECRET_NAME.search(word.text) for word in patterns):
        return
    source = next(call.upstream())
    if any(c.name in _SHOW_VARIABLES for c in (source, *call.within(source))):
        yield call.effect("env.read.secret", tuple(Target(word.shown, "other") for word in patterns))


def _jq(call: Call) -> Iterator[Effect]:
    """Every variable of the environment, where the program takes them all."""
    program = call.args.operands[0].text if call.args.operands else ""
    if "env" in program.lower() and _ENVIRONMENT.search(program):
        yield call.effect("env.read.all")


_ENVIRONMENT = regex(r"(?<![\w.$\"])(?:env|\$ENV)(?![\w\"])(?!\s*[.\[:(])(?!\s*\|\s*keys)")


def _cut(call: Call) -> Iterator[Effect]:
    """Reads; of `NAME=value` the names alone are no secret."""
    by, fields = call.args.value("-d --delimiter"), call.args.value("-f --fields")
    names = by is not None and fields is not None and by.text in ("=", "") and fields.text == "1"
    yield from call.on("fs.list" if names else "fs.read", call.args.operands)


_NAMES_ALONE = (
    "s/=.*//",
    "s/=.*$//",
    "s/=.*/=/",
    "s/=.*/=***/",
    "s/=.*/=<redacted>/",
    "s/=.*/=REDACTED/",
    "s/=.*/=.../",
)


def _sed(call: Call) -> Iterator[Effect]:
    args = call.args
    given = args.has("-e --expression -f --file")
    files = args.operands if given else args.operands[1:]
    if args.has("-i --in-place -I"):
        every = not given and args.operands and args.operands[0].text.replace(" ", "") in ("d", "1,$d", "/.*/d", "/^/d")
        yield from call.on("fs.truncate" if every else "fs.write", files)
    else:
        names = not args.has("-n") and not given and args.operands and args.operands[0].text in _NAMES_ALONE
        yield from call.on("fs.list" if names else "fs.read", files)
    for script in [*args.all("-e --expression"), *([] if given else args.operands[:1])]:
        yield from _sed_script(call, script)


def _sed_script(call: Call, script: Word) -> Iterator[Effect]:
    """A sed script can write files (`w file`) and run commands (`e command`, the `e` flag of `s`)."""
    text = script.text
    for part in text.replace(";", "\n").split("\n"):
        line = part.strip().lstrip("0123456789,$!")
        if line.startswith(("w ", "W ")):
            yield from call.on("fs.overwrite", [Word(line[2:].strip())])
        elif line.startswith("e ") and len(line) > 2:
            yield from call.shell(line[2:])
    parts = text.split(text[1]) if len(text) > 4 and text[0] == "s" and not text[1].isalnum() else []
    if len(parts) == 4 and "e" in parts[3].split(" ")[0] and "w" not in parts[3]:
        if call.command.stdin:
            yield from call.shell(call.command.stdin)
        if "&" not in parts[2] and "\\" not in parts[2]:
            yield from call.shell(parts[2])
        yield call.effect("code.unknown", note="sed runs the text that it makes", possible=True)
    elif len(parts) == 4 and parts[3].startswith(("w ", "gw ")):
        yield from call.on("fs.overwrite", [Word(parts[3].split(" ", 1)[1])])


def _awk(call: Call) -> Iterator[Effect]:
    args = call.args
    files = args.operands if args.has("-f --file") else args.operands[1:]
    if args.has("-i") and any(value.text == "inplace" for value in args.all("-i")):
        yield from call.on("fs.write", files)
    yield from call.on("fs.read", [word for word in files if "=" not in word.text])
    yield from call.on("fs.read", args.all("-f --file"))
    from verdikt.effects.code.script import read_script

    program = args.value("-e --source") or (None if args.has("-f --file") else next(iter(args.operands), None))
    if program is not None:
        yield from read_script("awk", program.text, call)


def _sort(call: Call) -> Iterator[Effect]:
    yield from call.on("fs.read", call.args.operands)
    yield from call.on("fs.overwrite", call.args.all("-o --output"))
    if (program := call.args.value("--compress-program")) is not None:
        yield from call.shell(program.text)


_EDITOR_DELETES = regex(r"""(?:\bdelete\(\s*(?:[\w.]*expand\(\s*)?|\(delete-(?:directory|file)\s)\s*["']([^"']+)["']""")


def _editor(call: Call) -> Iterator[Effect]:
    """An editor opened by an agent writes what it opens; its commands can run a shell."""
    for script in [*call.args.all("-c --cmd -eval --eval"), *(w for w in call.args.operands if w.text.startswith("+"))]:
        text = script.text.lstrip("+").lstrip(":").strip()
        text = text.removeprefix("silent ").removeprefix("silent! ").removeprefix("exec ").strip()
        if text.startswith("!"):
            yield from call.shell(text[1:])
        elif found := _EDITOR_DELETES.search(text):
            yield from call.on("fs.delete.tree", [Word(found.group(1), found.group(1))])
        elif text.startswith(("%d", "1,$d")):
            yield from call.on("fs.truncate", [w for w in call.args.operands if not w.text.startswith("+")])
        elif "!" in text or "system(" in text or "shell-command" in text:
            inner = text[text.index("!") + 1 :] if "!" in text else text.partition('"')[2].partition('"')[0]
            yield from call.shell(inner)
    yield from call.on("fs.write", [w for w in call.args.operands if not w.text.startswith("+")])


def _ed(call: Call) -> Iterator[Effect]:
    lines = (call.command.stdin or "").splitlines()
    emptied = bool({"1,$d", "%d", ",d"} & set(lines))
    yield from call.on("fs.truncate" if emptied else "fs.write", call.args.operands)
    for line in lines:
        if line.startswith("!"):
            yield from call.shell(line[1:])


def _man(call: Call) -> Iterator[Effect]:
    if (pager := call.args.value("-P --pager")) is not None:
        yield from call.shell(pager.text)
    yield call.effect("sys.read")


def _uniq(call: Call) -> Iterator[Effect]:
    yield from call.on("fs.read", call.args.operands[:1])
    yield from call.on("fs.overwrite", call.args.operands[1:2])


def _xxd(call: Call) -> Iterator[Effect]:
    yield from call.on("fs.read", call.args.operands[:1])
    yield from call.on("fs.overwrite", call.args.operands[1:2])


def _yq(call: Call) -> Iterator[Effect]:
    operands = call.args.operands
    files = operands[2:] if operands and operands[0].text in ("eval", "e", "eval-all", "ea") else operands[1:]
    yield from call.on("fs.write" if call.args.has("-i --inplace --in-place") else "fs.read", files)


def _patch(call: Call) -> Iterator[Effect]:
    yield from call.on("fs.read", call.args.all("-i --input"))
    yield from call.on(
        "fs.write",
        [*call.args.operands[:1], *call.args.all("-o --output")] or [call.args.value("-d --directory") or Word(".")],
    )


_GREP = Program(
    call=_grep,
    values="-e --regexp -f --file -A -B -C --after-context --before-context --context -m --max-count -d -D --include --exclude --exclude-dir --exclude-from --color --colour --label",
)
_RG = Program(
    call=_grep,
    values="-e --regexp -f --file -A -B -C --after-context --before-context --context -m --max-count -g --glob --iglob -t --type -T --type-not -j --threads -r --replace -M --max-columns "
    "-E --encoding --sort --sortr --pre --max-depth --maxdepth --max-filesize -G --ignore-dir -p --path-to-ignore --ignore --depth --color --colors -d",
)
_READ = Program(Does("fs.read", "*"))
_EDITOR = Program(call=_editor, values="-c --cmd -S -u -T -w -W -i -eval --eval -l --load -q", dry="-R --version")

PROGRAMS: dict[str, Program] = {
    **programs("grep egrep fgrep zgrep rgrep bzgrep xzgrep ugrep", _GREP),
    **programs("ag ack ack-grep rg ripgrep sift pt", _RG),
    **programs("sed gsed", Program(call=_sed, values="-e --expression -f --file -l --line-length -E+")),
    **programs("awk gawk mawk nawk busybox-awk", Program(call=_awk, values="-F -v -f -i --assign --field-separator --file --include -e --source")),
    **programs("sort gsort", Program(call=_sort, values="-o --output -k --key -t --field-separator -S -T --buffer-size --temporary-directory --parallel --compress-program --batch-size")),
    "uniq": Program(call=_uniq, values="-f -s -w --skip-fields --skip-chars --check-chars"),
    "cut": Program(call=_cut, values="-d -f -c -b -w -s --delimiter --fields --characters --bytes --output-delimiter"),
    **programs("paste join comm fold fmt pr expand unexpand rev column colrm tsort ptx look", Program(Does("fs.read", "*"), values="-d -f -c -b -w -t -s -e -o -1 -2 -j -v --delimiter --fields --characters --bytes --width --tabs --output-delimiter --delimiters -l")),
    **programs("tr true: seq yes factor numfmt", Program()),
    **programs("od", Program(Does("fs.read", "*"), values="-N -j -A -t -w -S --width --format --skip-bytes --read-bytes --address-radix")),
    **programs("shuf ul m4 cpp pygmentize highlight lolcat ccat bsdcat", Program(Does("fs.read", "*"), Does("fs.overwrite", "-o --output --outfile"), values="-n --head-count -o --output --outfile -i -e -l -f -O -S --syntax --out-format")),
    **programs("strings hexdump hd base32 basenc base64 gbase64 uuencode uudecode", Program(Does("fs.read", "*"), values="-n -w --wrap -t -N -j -A -s -e -c -l -S -i -o -b")),
    "xxd": Program(call=_xxd, values="-c -g -l -o -s -n"),
    **programs("diff cmp diff3 sdiff colordiff vimdiff wdiff icdiff difft delta", Program(Does("fs.read", "*"), Does("fs.overwrite", "-o --output"), values="-U -C -x --exclude -I -o --output --label -F -X -W --from-file --to-file")),
    "patch": Program(call=_patch, values="-i --input -o --output -d --directory -p -r -D -B -z -F", dry="--dry-run -C --check"),
    **programs("jq gojq jaq fx", Program(Does("fs.read", "1:"), Does("fs.read", "-f --from-file --slurpfile --rawfile"), call=_jq, values="--arg --argjson -f --from-file --slurpfile --rawfile --indent -L")),
    **programs("yq", Program(call=_yq, values="-o -p -I --output-format --input-format -P+ --indent --prettyPrint+")),
    **programs("xmllint xmlstarlet xsltproc csvcut csvgrep csvlook csvstat csvjson mlr tomlq htmlq pup dasel gron jc glow mdcat iconv enca tidy pandoc", Program(Does("fs.read", "*"), Does("fs.overwrite", "-o --output"), values="-o --output -f -t --from --to -d --xpath -c")),
    **programs("dos2unix unix2dos", Program(Does("fs.write", "*"))),
    "sponge": Program(Does("fs.append", "*", when="-a"), Does("fs.overwrite", "*", unless="-a")),
    **programs("less more most zless zmore bat batcat view pg", Program(Does("fs.read", "*"), values="-n -p -P -t -l -r --language --style --line-range --theme --color --paging")),
    **programs("vim vi nvim gvim ex emacs emacsclient", _EDITOR),
    **programs("nano pico micro joe hx helix kak mcedit ne subl gedit kate mate zed idea pycharm webstorm notepad", Program(call=_editor, values="-r --rcfile -T -c --goto+ -o -Y")),
    "man": Program(call=_man, values="-P --pager -S -s -M -m -L -l -p"),
    **programs("ed red", Program(call=_ed, values="-p")),
    **programs("envsubst gettext ngettext expr bc dc units cal ncal figlet cowsay toilet fortune banner tput clear reset stty tabs", Program()),
}  # fmt: skip
