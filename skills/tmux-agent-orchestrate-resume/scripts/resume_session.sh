#!/bin/sh
# Resume the recorded conversation of an ended session, in its folder and on its tmux server.
#
#   resume_session.sh --session NAME [--print] [--confirm S] [--json] [--quiet]
#
# SESSION_NAME replaces --session, and AGENT_SESSIONS_YAML names the registry. A row knows its tmux server:
# TMUX_SERVER_NAME is not needed. Exit status: that of `tmuxreap resume`.
set -eu

refuse() {
    printf 'resume_session.sh: %s\n' "$1" >&2
    exit 2
}

tmuxreap=${TMUXREAP:-tmuxreap} session=${SESSION_NAME-} left=$#
while [ "$left" -gt 0 ]; do
    word=$1 left=$((left - 1))
    shift
    case $word in
    --session | --confirm)
        [ "$left" -gt 0 ] || refuse "could not read $word: nothing follows it"
        value=$1 left=$((left - 1))
        shift
        if [ "$word" = --session ]; then session=$value; else set -- "$@" "$word" "$value"; fi
        ;;
    --print | --json | --quiet) set -- "$@" "$word" ;;
    *) refuse "could not read '$word'; it takes --session NAME [--print] [--confirm S]" ;;
    esac
done
case $session in
'') refuse "could not choose a session: give --session NAME, or set SESSION_NAME" ;;
all | - | *[*?[]* | tag:* | agent:* | task:* | tree:* | pid:*) refuse "could not resume '$session': that is no name of one session" ;;
esac
command -v "$tmuxreap" >/dev/null || refuse "could not find $tmuxreap: install it, or name it with TMUXREAP=/path/to/tmuxreap"
if [ -n "${AGENT_SESSIONS_YAML-}" ]; then export TMUXREAP_REGISTRY="$AGENT_SESSIONS_YAML"; fi
exec "$tmuxreap" resume "$@" -- "$session"
