#!/bin/sh
# guard.sh SECONDS closed|open HOOK [ARGUMENT...]
#
# Runs a hook and hands on what it says only if it is a decision: status 0 or 2, and exactly one JSON object, without a null,
# on one line of stdout. Anything else (a crash, a kill, a hang, a missing interpreter, a stray line) becomes a block where
# the agent is about to act (closed), and no opinion elsewhere (open), because the clients would run the tool.
#
# What comes first in PATH must not be able to speak for the hook.
PATH=/usr/bin:/bin:/usr/local/bin:$PATH
[ $# -gt 2 ] || set -- 1 closed false
seconds=$1 mode=$2
shift 2

limit() {
    if command -v timeout >/dev/null 2>&1; then
        timeout -s KILL "$seconds" "$@"
    else
        # macOS has no timeout(1), but it has perl.
        perl -e '$s = shift; $p = fork; defined $p or exit 70; if (!$p) { exec @ARGV; exit 127 }
            $SIG{ALRM} = sub { kill 9, $p }; alarm $s; waitpid $p, 0; exit($? & 127 ? 128 + ($? & 127) : $? >> 8)' "$seconds" "$@"
    fi
}

# Strings become s, other values v, and an object or list of those becomes v again, until one v is left.
one_object='
{ text = text $0 }
END {
    if (NR != 1 || text !~ /^\{/) exit 1
    gsub(/"([^"\\\001-\037]|\\["\\\/bfnrt]|\\u[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f])*"/, "s", text)
    gsub(/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false/, "v", text)
    gsub(/[ \t]/, "", text)
    while (gsub(/\[\]|\{\}|\[[sv](,[sv])*\]|\{s:[sv](,s:[sv])*\}/, "v", text)) { }
    exit text != "v"
}'

said=$(limit "$@"; printf '%s' "/$?")
status=${said##*/}
said=${said%/*}
said=${said%"
"}

case $status in
0 | 2)
    # Gemini CLI believes stdout and not the status, so a 2 must be a block in words as well.
    case $status$said in 0* | '2{"decision":"block","reason":"'[!\"]*)
        if printf '%s\n' "$said" | awk "$one_object"; then
            printf '%s\n' "$said"
            exit "$status"
        fi ;;
    esac
    what="it did not answer with one decision" ;;
124 | 137) what="it was killed or took too long" ;;
126 | 127) what="it could not be started" ;;
*) what="it failed with status $status" ;;
esac

# The hook could not write this down itself. Installed, this file lies in `hooks/` of verdikt's data directory.
here=${0%/*}
[ "${here##*/}" = hooks ] && printf '{"ts":%s,"hook":"guard","error":"HookFailed","message":"%s","note":"%s"}\n' \
    "$(date +%s)" "$what" "$mode" >>"$here/../_hook_crashes.jsonl" 2>/dev/null

if [ "$mode" = open ]; then
    printf '{}\n'
    exit 0
fi
printf '%s\n' "[verdikt] blocked, because the hook that decides did not work: $what" >&2
printf '{"decision":"block","reason":"[verdikt] blocked, because the hook that decides did not work: %s\\nInstead: stop here and ask the person to run `verdikt doctor`"}\n' "$what"
exit 2
