#!/bin/sh
# The tmux plugin: one key opens a popup with the agents' sessions, and a status line segment that you place yourself.
# Load it with TPM, or with: run-shell /path/to/tmuxreap.tmux. See docs/tmux.md.
#
#   tmuxreap.tmux                       load: bind the key; repeating it is harmless
#   tmuxreap.tmux open CLIENT PANE      what the key does
#   tmuxreap.tmux unload                remove the key and our options
#
# It changes none of your options, and takes no bound key.

key=A # unused by tmux itself, up to 3.5
# A popup over a session must not carry its marks: it would be ended with the session.
clean='exec env -u TMUXREAP_ID -u TMUX_PANE'
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
self=$here/$(basename -- "$0")

option() { tmux show-options -gqv "$1"; }

# say TEXT [CLIENT]: show TEXT in the status line.
say() {
    text=$(printf 'tmuxreap: %s' "$1" | unexpanded)
    if [ -n "${2:-}" ]; then
        tmux display-message -c "$2" -d 8000 "$text"
    else
        tmux display-message -d 8000 "$text" 2>/dev/null || printf '%s\n' "$text" >&2
    fi
}

# quoted TEXT: TEXT as one shell word.
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }

new_enough() {
    number=$(tmux -V | sed -n 's/^[^0-9]*\([0-9][0-9]*\)\.\([0-9][0-9]*\).*/\1 \2/p')
    [ -n "$number" ] || return 0 # a build without a version number counts as newest
    [ "${number% *}" -gt 3 ] || { [ "${number% *}" -eq 3 ] && [ "${number#* }" -ge 2 ]; }
}

# unexpanded: escape what tmux would expand as a format.
unexpanded() { sed 's/#/##/g'; }

# binding KEY: the key's current binding, empty if it is free. tmux 3.7 prints nothing when asked for a single key.
binding() {
    tmux list-keys -T prefix 2>/dev/null | wanted=$1 awk '{
        for (i = 1; i < NF; i++) if ($i == "prefix") {
            if ($(i + 1) == ENVIRON["wanted"] || $(i + 1) == "\\" ENVIRON["wanted"]) print
            next
        }
    }'
}

is_ours() {
    case $1 in
        *"tmuxreap.tmux"*" open "*) return 0 ;;
        *) return 1 ;;
    esac
}

load() {
    new_enough || {
        say "could not load: popups need tmux 3.2 or later, this is $(tmux -V)"
        return 1
    }
    wanted=$(option @tmuxreap-key)
    before=$(option @tmuxreap-bound)
    [ -z "$before" ] || [ "$before" = "${wanted:-$key}" ] || release "$before"
    # A key chosen by the user is always bound; the default gives way.
    if [ -z "$wanted" ] && now=$(binding "$key") && [ -n "$now" ] && ! is_ours "$now"; then
        say "could not bind $key: it is taken; choose another with: set -g @tmuxreap-key KEY"
        return 0
    fi
    tmux bind-key -N 'See and end the agents (tmuxreap)' -T prefix "${wanted:-$key}" \
        run-shell -b "$clean $(quoted "$self" | unexpanded) open '#{client_name}' '#{pane_id}'" \; \
        set-option -g @tmuxreap-bound "${wanted:-$key}"
}

release() {
    now=$(binding "$1") && is_ours "$now" && tmux unbind-key -T prefix "$1"
}

unload() {
    before=$(option @tmuxreap-bound)
    [ -z "$before" ] || release "$before"
    tmux set-option -gqu @tmuxreap-bound \; set-option -gqu @tmuxreap-status
}

# program: the shell command that runs it; empty if it is not found.
program() {
    given=$(option @tmuxreap-command)
    if [ -n "$given" ]; then
        printf '%s\n' "$given"
        return
    fi
    for one in "$(command -v tmuxreap)" "${HOME:-}/.local/bin/tmuxreap" "$here/.venv/bin/tmuxreap"; do
        if [ -x "$one" ]; then
            quoted "$one"
            return
        fi
    done
    if command -v python3 >/dev/null; then
        # Neither `-c` in the pane's folder nor `-m`: both import modules that lie there.
        (cd / && PYTHONPATH=$here exec python3 -c 'import sys, typer, yaml, tmuxreap; sys.exit(sys.version_info < (3, 10))') \
            >/dev/null 2>&1 && printf 'python3 %s\n' "$(quoted "$here/tmuxreap/__main__.py")"
    fi
}

why_not() {
    if command -v python3 >/dev/null; then
        echo "it is not installed with all extras; in the checkout: pipx install --force '.[all]', or set @tmuxreap-command"
    else
        echo "it is not installed, and neither is python3; install Python 3.10 or later, then in the checkout: pipx install --force '.[all]'"
    fi
}

open_popup() {
    words=$(program)
    [ -n "$words" ] || {
        say "could not open the popup: $(why_not)" "$1"
        return 0
    }
    socket=${TMUX%,*}
    words="$words popup --client $(quoted "$1") --socket $(quoted "${socket%,*}")"
    registry=$(option @tmuxreap-registry)
    [ -z "$registry" ] || words="$words --registry $(quoted "$registry")"
    width=$(option @tmuxreap-width)
    height=$(option @tmuxreap-height)
    # With -EE an error stays visible until Escape. The size must be the popup's, not that of tmux's own terminal.
    tmux display-popup -EE -c "$1" -t "$2" -d '#{pane_current_path}' -w "${width:-90%}" -h "${height:-80%}" \
        "$clean -u TMUX -u COLUMNS -u LINES $words" || true
}

case ${1:-load} in
    load) load ;;
    unload) unload ;;
    open) open_popup "$2" "$3" ;;
    *)
        echo "tmuxreap.tmux: could not do '$1': there is load, unload, and open CLIENT PANE" >&2
        exit 2
        ;;
esac
