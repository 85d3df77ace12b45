"""Words made of random pieces expand as bash itself expands them; bash only prints its arguments."""

import random
import subprocess

import pytest

from verdikt.shell import analyse

SETTING = "a=one; b='two words'; c=; d=/usr/local/bin/foo.tar.gz; e='a b  c'; n=a; x1=3; arr=(p 'q r' s); "
PIECES = [
    *(
        "${a}",
        "$a",
        "$b",
        '"$b"',
        "$c",
        '"$c"',
        "${c:-def}",
        "${zz:-x y}",
        '"${zz:-x y}"',
        "${a:+alt}",
        "${c:+alt}",
        "${a-x}",
    ),
    *(
        "${zz-y}",
        "${c-y}",
        "${zz=kept}",
        "${d##*/}",
        "${d#*/}",
        "${d%.*}",
        "${d%%.*}",
        "${d/o/0}",
        "${d//o/0}",
        "${d/#\\/usr/X}",
    ),
    *(
        "${d/%gz/Y}",
        "${d//[aeiou]/_}",
        "${d#/*/}",
        "${d##*[/.]}",
        "${a/n*/N}",
        "${a^^}",
        "${a^}",
        "${d:1:3}",
        "${d: -3}",
        "${d:4}",
    ),
    *(
        "${#d}",
        "${!n}",
        "$((1+2*3))",
        "$((2**5%7))",
        "$(( (1+2) * 3 ))",
        "$((0x1f))",
        "$((5>3?1:0))",
        "$((x1+4))",
        "$((-7/2))",
    ),
    *(
        "{a,b}",
        "{1..3}",
        "{01..03}",
        "{c..a}",
        "x{a,b}y",
        "{a,{b,c}}",
        "{a}",
        "{,x}",
        "'s q'",
        '"d q"',
        "\\ ",
        "\\$a",
        "'$a'",
    ),
    *(
        '"\\$a"',
        "$'\\x41\\n\\u0042\\t'",
        '$"hi"',
        "''",
        '""',
        '"a\\\nb"',
        "\\\n",
        "a",
        "b/c",
        "-x",
        "=",
        "a=b",
        '"~"',
        "@",
        "%",
        "+",
    ),
    *(
        "$(echo hi)",
        "$(printf '%s-%s' a b)",
        "`echo bt`",
        '"$(echo "q r")"',
        "$(echo a   b)",
        "$(echo a; echo b)",
        "$(seq 3)",
    ),
    *(
        "$(basename /a/b.c .c)",
        "$(dirname /a/b.c)",
        "$(printf '\\x41')",
        "$(cat <<E\nhd $a\nE\n)",
        "$(echo $(echo deep))",
    ),
    *(
        "${arr[0]}",
        "${arr[@]}",
        '"${arr[@]}"',
        '"${arr[*]}"',
        "${#arr[@]}",
        "${arr[@]:1}",
        '"x${arr[@]}y"',
        "${e}",
        '"${e// /-}"',
    ),
    *(
        "$(echo cm0= | base64 -d)",
        "$(echo mr | rev)",
        "$(echo HELLO | tr A-Z a-z)",
        "$(printf %03d 7)",
        "$(printf '%5s|' ab)",
    ),
]


def build_argument_lists(seed: int) -> list[str]:
    """Return argument lists; empty quotes between pieces keep `$a` and `b` from becoming the unset variable `$ab`."""
    generator = random.Random(seed)
    argument_lists = []
    for _ in range(150):
        words = []
        for _ in range(generator.randint(1, 4)):
            pieces = generator.choices(PIECES, k=generator.randint(1, 3))
            words.append("''".join(pieces))
        argument_lists.append(" ".join(words))
    return argument_lists


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_words_expand_as_in_bash(seed: int) -> None:
    """Every argument of every list is the one that bash prints."""
    argument_lists = build_argument_lists(seed)
    print_commands = "".join(f"(printf '%s\\0' {line}; printf '\\001')\n" for line in argument_lists)
    completed_process = subprocess.run(
        ["bash", "--norc", "-c", f"{SETTING}set -f\n{print_commands}"],
        capture_output=True,
        check=True,
        env={"HOME": "/home/dev", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        timeout=60,
    )

    for line, printed in zip(argument_lists, completed_process.stdout.decode().split("\x01")[:-1], strict=True):
        script = analyse(f"{SETTING}run {line}", home="/home/dev", cwd="/")
        argv = next(command.argv for command in script.commands if command.name == "run")
        assert ([word.text for word in argv[1:]] or [""]) == printed.split("\0")[:-1], line
