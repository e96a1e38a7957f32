# shellcheck shell=bash
# The camera of scripts/film and scripts/film-background: a stage with agents and a shell, each screen of which is kept;
# sourced after setup.sh and agents.sh, with the size in $width and $height, and the pane of the shell in $hand.

patience=${patience:-300} # polls, 50 ms apart
frames=$world/frames

stage() { tmux -u -f /dev/null -L stage "$@"; } # the visible screen: agents above, a shell below in the pane $hand
film() { tmux -u -f /dev/null -L film "$@"; }   # the camera: a client of the stage

# The model takes all agents with it; until then one of them may write into the folder.
the_end() {
    kill "$model"
    wait "$model" || true
}

fail() {
    printf 'film: %s; this is on the screen:\n' "$*" >&2
    film capture-pane -p -t camera: >&2 || true
    the_end
    exit 1
}

# shown TEXT [LINES]: wait until so many lines of the screen have it.
shown() {
    local look
    for ((look = 0; look < patience; look++)); do
        [ "$(film capture-pane -p -t camera: | grep -cF -- "$1")" -ge "${2:-1}" ] && return 0
        sleep 0.05
    done
    fail "'$1' never came"
}

typed() {
    local at
    for ((at = 0; at < ${#1}; at++)); do
        stage send-keys -t "$hand" -l "${1:at:1}"
        sleep 0.02
    done
    stage send-keys -t "$hand" Enter
}

# record [MS]: a frame every 60 ms until `cut`, named by its time, which begins there; film.py drops unchanged ones.
record() {
    local began now
    began=$(($(date +%s%N) - ${1:-0} * 1000000))
    echo "$began" >"$world/began"
    while [ ! -e "$world/cut" ]; do
        now=$((($(date +%s%N) - began) / 1000000))
        film capture-pane -e -p -t camera: >"$frames/$(printf '%08d' "$now")" || return 0
        sleep 0.06
    done
}

so_far() { # in milliseconds of the film
    echo "$((($(date +%s%N) - $(cat "$world/began")) / 1000000))"
}

# begin_agents AGENT...: with a model of their own; ended by the_end.
begin_agents() {
    export HOME=$world/home XDG_CACHE_HOME=$cache
    install_agents "$@"
    unset XDG_CACHE_HOME
    project=$HOME/shop
    mkdir -p "$project" "$frames"
    export TMUXREAP_REGISTRY=$project/.hermes/agent-sessions.yaml PATH=$HOME/bin:$PATH PS1='$ ' SHELL=/bin/sh
    unset NO_COLOR
    echo "set -g status off" >"$HOME/.tmux.conf"
    "${alone[@]}" python -m tests.real_agents.filmed "$cache" "$HOME" "$project" "$@" >"$world/said" &
    model=$!
    until grep -qs ready "$world/said"; do sleep 0.1; done
    unset PYTHONPATH
    cd "$project"
}

# agent_shows NAME TEXT [KEY]: the key is pressed until it does; one that comes too soon is lost.
agent_shows() {
    local look
    for ((look = 0; look < patience; look++)); do
        tmux capture-pane -p -t "=$1:" | grep -qE -- "$2" && return 0
        [ -z "${3:-}" ] || ((look % 10)) || tmux send-keys -t "=$1:" "$3"
        sleep 0.2
    done
    tmux capture-pane -p -t "=$1:" >&2
    fail "'$2' never came in $1"
}

# agent NAME PROMPT ANSWER COMMAND: begun by hand, as anybody would, and given one prompt.
agent() {
    tmux new-session -d -x 40 -y 14 -s "$1" "$4"
    agent_shows "$1" '^(❯|›| >)'
    sleep 4 # several draw their input before they read it
    tmux send-keys -t "=$1:" -l "$2"
    sleep 0.6 # an immediate Enter would be taken as part of a paste
    agent_shows "$1" "$3" Enter
}

# looking_at NAME: the command of an upper pane: the session, or a note once it is gone.
looking_at() {
    cat >"$world/look" <<'LOOK'
while :; do
    env -u TMUX -u TMUX_PANE tmux -u attach -t "=$1" 2>/dev/null
    clear; printf '\n  \033[2mno session %s\033[0m' "$1"
    until env -u TMUX tmux has-session -t "=$1" 2>/dev/null; do sleep 0.1; done
done
LOOK
    echo "sh $world/look $1"
}

# develop NAME STILL TITLE: the frames become docs/pictures/NAME.svg; STILL: the moment that stands without animation.
develop() {
    python "$top/scripts/film.py" "$frames" "$width" "$height" "$2" "$3" >"$top/docs/pictures/$1.svg"
    say "made docs/pictures/$1.svg: $(wc -c <"$top/docs/pictures/$1.svg") bytes"
}
