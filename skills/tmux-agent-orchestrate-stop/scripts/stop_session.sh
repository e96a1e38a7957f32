#!/bin/sh
# Stop the agent session of one registry row. Repeating it reports that and writes nothing.
#
#   stop_session.sh --session NAME [--reason R] [--purge-conversation [--yes]] [--force-no-yaml]
#                   [--dry-run] [--json] [--quiet]
#
# SESSION_NAME replaces --session, and AGENT_SESSIONS_YAML names the registry. A row knows its tmux server:
# TMUX_SERVER_NAME counts only for a session without a row. Exit status: that of `tmuxreap stop`.
set -eu

refuse() {
    printf 'stop_session.sh: %s\n' "$1" >&2
    exit 2
}

tmuxreap=${TMUXREAP:-tmuxreap} session=${SESSION_NAME-} force='' left=$#
while [ "$left" -gt 0 ]; do
    word=$1 left=$((left - 1))
    shift
    case $word in
    --session | --reason)
        [ "$left" -gt 0 ] || refuse "could not read $word: nothing follows it"
        value=$1 left=$((left - 1))
        shift
        if [ "$word" = --session ]; then session=$value; else set -- "$@" "$word" "$value"; fi
        ;;
    --force-no-yaml) force=$word && set -- "$@" "$word" ;;
    --purge-conversation | --yes | --dry-run | --json | --quiet) set -- "$@" "$word" ;;
    *) refuse "could not read '$word'; it takes --session NAME [--reason R] [--purge-conversation [--yes]] [--force-no-yaml]" ;;
    esac
done
case $session in
'') refuse "could not choose a session: give --session NAME, or set SESSION_NAME" ;;
all | - | *[*?[]* | tag:* | agent:* | task:* | tree:* | pid:*) refuse "could not stop '$session': that is no name of one session" ;;
esac
command -v "$tmuxreap" >/dev/null || refuse "could not find $tmuxreap: install it, or name it with TMUXREAP=/path/to/tmuxreap"
if [ -n "${AGENT_SESSIONS_YAML-}" ]; then export TMUXREAP_REGISTRY="$AGENT_SESSIONS_YAML"; fi

# Without a row only the caller knows the server: the session gets a temporary row, in a temporary registry.
if [ -n "$force" ] && [ -n "${TMUX_SERVER_NAME-}" ]; then
    known=0
    "$tmuxreap" show --quiet -- "$session" >/dev/null 2>&1 || known=$?
    if [ "$known" -eq 3 ] || [ "$known" -eq 6 ]; then
        elsewhere=$(mktemp -d)
        trap 'rm -rf "$elsewhere"' EXIT
        quoted() { printf '%s' "$1" | sed "s/'/''/g"; }
        printf "tmux_sessions:\n  - name: '%s'\n    status: running\n    tmux_server: '%s'\n" \
            "$(quoted "$session")" "$(quoted "$TMUX_SERVER_NAME")" >"$elsewhere/agent-sessions.yaml"
        set -- "$@" --registry "$elsewhere/agent-sessions.yaml"
    fi
fi

status=0
said=$("$tmuxreap" stop "$@" -- "$session") || status=$?
case $said in
"$session: already "*) said=${said#"$session: "} ;;
esac
if [ -n "$said" ]; then printf '%s\n' "$said"; fi
exit "$status"
