#!/bin/sh
# guard.sh SECONDS closed|open HOOK [ARGUMENT...]
#
# Runs a hook and passes its output on only if it is a decision: status 0 or 2, and exactly one JSON object in ASCII,
# without a null or half a character, on one line of stdout. Anything else (a crash, a kill, a hang, a missing
# interpreter, a stray line) becomes a block where the agent is about to act (closed), and no opinion elsewhere (open),
# because the clients would run the tool.
#
# Signals are ignored: the client gets the decision, or within SECONDS the message that there is none.
trap : TERM INT HUP PIPE
# A program of the project that comes first in PATH must not stand in for one of ours. The hook gets PATH as it was.
path=$PATH
PATH=/usr/bin:/bin:/usr/local/bin:$PATH
[ $# -gt 2 ] || set -- 1 closed /
seconds=$1 mode=$2
shift 2
# The hook answers within ten seconds; only the native client waits longer, for people who have to approve a call.
[ "$seconds" -le 20 ] 2>/dev/null || seconds=20

# When installed, this file lies in `hooks/` of the data directory, beside the record of the wiring. The settings of a
# project, which may set variables for the hooks, must not be able to send them to another one.
here=${0%/*}
if [ "${here##*/}" = hooks ] && [ -e "${here%/*}/wiring.json" ]; then
    VERDIKT_HOME=${here%/*}
    export VERDIKT_HOME
fi

limit() {
    timeout=/usr/bin/timeout
    if [ -x "$timeout" ] || timeout=$(command -v timeout); then
        PATH=$path "$timeout" -s KILL "$seconds" "$@"
    else
        # macOS has no timeout(1), but it has perl.
        PATH=$path "$(command -v perl)" -e '$s = shift; $p = fork; defined $p or exit 70;
            if (!$p) { exec @ARGV; exit 127 }
            $SIG{ALRM} = sub { kill 9, $p }; alarm $s; waitpid $p, 0;
            exit($? & 127 ? 128 + ($? & 127) : $? >> 8)' "$seconds" "$@"
    fi
}

# The hook's output comes before the mark, which carries the status. Strings become s, other values v, and an object
# or list of those becomes v again, until one v is left. Gemini CLI believes stdout and not the status, so with status
# 2 the document must be a block as well.
judge='
index($0, mark) == 1 { status = substr($0, length(mark) + 1); exit }
NR == 1 { text = said = $0 }
NR > 2 || NR == 2 && $0 != "" { many = 1; exit }
END {
    if (status == 124 || status == 137) { print "- it was killed or took too long"; exit }
    if (status == 126 || status == 127) { print "- it could not be started"; exit }
    if (!many && status != 0 && status != 2) { print "- it failed with status " status; exit }
    hex = "[0-9A-Fa-f]"; low = hex hex
    unit = "\\\\u([0-9A-CE-Fa-ce-f]" hex "|[Dd][0-7])" low "|\\\\u[Dd][89ABab]" low "\\\\u[Dd][C-Fc-f]" low
    gsub("\"([]^-~ !#-[]|\\\\[\"\\\\/bfnrt]|" unit ")*\"", "s", text)
    gsub(/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?|true|false/, "v", text)
    gsub(/[ \t]/, "", text)
    while (gsub(/\[\]|\{\}|\[[sv](,[sv])*\]|\{s:[sv](,s:[sv])*\}/, "v", text)) { }
    fine = !many && status != "" && said ~ /^\{/ && text == "v"
    if (status == 2) fine = fine && said ~ /^\{"decision":"block","reason":"[^"]/
    print (fine ? status " " said : "- it did not answer with one decision")
}'

# The mark is printed twice, so that a decision and the mark are at least three lines, after which no more is awaited:
# a process that the hook has started may still hold its stdout.
said=$({ limit "$@"; mark="/$$/$?"; printf '\n%s\n%s\n' "$mark" "$mark" 2>/dev/null; } | head -n 3 |
    LC_ALL=C awk -v mark="/$$/" "$judge")
case $said in
"0 "* | "2 "*)
    printf '%s\n' "${said#??}" 2>/dev/null && exit "${said%% *}"
    # The client has ended, or its pipe is closed: then the status and stderr must carry the decision.
    [ "$mode" = open ] && exit 0
    printf '%s\n' "[verdikt] blocked, because the decision of the hook could not be written" >&2
    exit 2 ;;
"- "*) what=${said#??} ;;
*) what="it did not answer with one decision" ;;
esac

# The hook could not record this itself.
[ "${here##*/}" = hooks ] && printf '{"ts":%s,"hook":"guard","error":"HookFailed","message":"%s","note":"%s"}\n' \
    "$(date +%s)" "$what" "$mode" >>"$here/../_hook_crashes.jsonl" 2>/dev/null

if [ "$mode" = open ]; then
    printf '{}\n'
    exit 0
fi
why="[verdikt] blocked, because the hook that decides did not work: $what"
printf '%s\n' "$why" >&2
printf '{"decision":"block","reason":"%s\\nInstead: stop here and ask the person to run `verdikt doctor`"}\n' "$why"
exit 2
