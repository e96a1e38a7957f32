#!/bin/sh
# Compare the registry with tmux, record what is certain, and report the rest.
#
#   reconcile.sh --once [--emit-diff] [--dry-run]     one look
#   reconcile.sh [--interval S]                       until interrupted: tmuxreap watch
#
# --emit-diff prints a tab-separated line for each disagreement: NAME, the drift, `written` or `open`, and what was seen
# or the command that fixes it. AGENT_SESSIONS_YAML names the registry; SESSION_NAME limits output and count to one
# row. Each row knows its tmux server: TMUX_SERVER_NAME is not needed.
# Exit status: 0 registry and tmux agreed, 1 they did not, 2 unknown.
set -eu

refuse() {
    printf 'reconcile.sh: %s\n' "$1" >&2
    exit 2
}

tmuxreap=${TMUXREAP:-tmuxreap} once='' diff='' plan='' interval=''
while [ "$#" -gt 0 ]; do
    case $1 in
    --once) once=$1 ;;
    --emit-diff) diff=$1 ;;
    --dry-run) plan=$1 ;;
    --interval)
        [ "$#" -gt 1 ] || refuse 'could not read --interval: nothing follows it'
        interval=$2
        shift
        ;;
    *) refuse "could not read '$1'; it takes --once [--emit-diff] [--dry-run], or [--interval S]" ;;
    esac
    shift
done
for program in "$tmuxreap" python3; do
    command -v "$program" >/dev/null || refuse "could not find $program: install it (tmuxreap also by TMUXREAP=/path/to/it)"
done
if [ -n "${AGENT_SESSIONS_YAML-}" ]; then export TMUXREAP_REGISTRY="$AGENT_SESSIONS_YAML"; fi
if [ -z "$once" ]; then
    [ -z "$diff$plan" ] || refuse 'could not go on for ever: --emit-diff and --dry-run are for --once'
    exec "$tmuxreap" watch ${interval:+--interval "$interval"}
fi
[ -z "$interval" ] || refuse 'could not look again: --interval and --once exclude each other'

answer=$("$tmuxreap" reconcile --json ${plan:+--dry-run}) || {
    printf '%s\n' "$answer" | python3 -I -c '
import json, sys
error = json.load(sys.stdin)["error"]
sys.exit(error and "error: {message}\nhint: {hint}".format(**error))' || true
    exit 2
}
printf '%s\n' "$answer" | python3 -I -c '
import json, sys
shown, planned, only = sys.argv[1:]
answer = json.load(sys.stdin)
drifts = [one for one in answer["drifts"] if only in ("", one["name"])]
for one in drifts:
    settled = one["settled"] and not planned
    told = one["evidence"] if settled or not one["hint"] else one["hint"]
    if shown:
        print(one["name"] or "-", one["drift"], "written" if settled else "open", told, sep="\t")
for warning in answer["warnings"]:
    print("reconcile.sh:", warning, file=sys.stderr)
if not answer["tmux_confirmed"]:
    print("reconcile.sh: a tmux server could not be asked, and nothing is concluded from that", file=sys.stderr)
sys.exit(1 if drifts and answer["tmux_confirmed"] else 0 if answer["tmux_confirmed"] else 2)' "$diff" "$plan" "${SESSION_NAME-}"
