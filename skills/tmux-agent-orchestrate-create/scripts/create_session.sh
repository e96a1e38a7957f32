#!/bin/sh
# Start an agent in its own tmux session and register it; for the row of an ended session, as it was started before.
#
#   create_session.sh --session NAME [--agent A] [--cwd DIR] [--server L] [--tag X]... [--task-id ID] [--ttl T]
#                     [--replace] [--dry-run] [--json] [--quiet] [-- COMMAND...]
#
# SESSION_NAME replaces --session and TMUX_SERVER_NAME --server; AGENT_SESSIONS_YAML names the registry, which is
# created if needed. Exit status: that of `tmuxreap start`.
set -eu

refuse() {
    printf 'create_session.sh: %s\n' "$1" >&2
    exit 2
}

tmuxreap=${TMUXREAP:-tmuxreap} session=${SESSION_NAME-} server=${TMUX_SERVER_NAME-} left=$#
while [ "$left" -gt 0 ]; do
    word=$1 left=$((left - 1))
    shift
    case $word in
    --session | --server | --agent | --cwd | --tag | --task-id | --ttl)
        [ "$left" -gt 0 ] || refuse "could not read $word: nothing follows it"
        value=$1 left=$((left - 1))
        shift
        case $word in
        --session) session=$value ;;
        --server) server=$value ;;
        *) set -- "$@" "$word" "$value" ;;
        esac
        ;;
    --replace | --dry-run | --json | --quiet) set -- "$@" "$word" ;;
    --)
        set -- "$@" -- # the rest is the command, unchanged
        while [ "$left" -gt 0 ]; do
            left=$((left - 1))
            set -- "$@" "$1"
            shift
        done
        ;;
    *) refuse "could not read '$word'; it takes --session NAME [--agent A] [--cwd DIR] ... [-- COMMAND...]" ;;
    esac
done
[ -n "$session" ] || refuse "could not choose a session: give --session NAME, or set SESSION_NAME"
command -v "$tmuxreap" >/dev/null || refuse "could not find $tmuxreap: install it, or name it with TMUXREAP=/path/to/tmuxreap"
if [ -n "${AGENT_SESSIONS_YAML-}" ]; then export TMUXREAP_REGISTRY="$AGENT_SESSIONS_YAML"; fi
exec "$tmuxreap" start ${server:+--server "$server"} "$session" "$@"
