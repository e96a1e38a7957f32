# shellcheck shell=bash
# Common setup of the commands in scripts/; sourced after `set -euo pipefail`.
# It needs Python 3.10+ and creates the rest: a private venv in .venv, tmux if it is missing, an isolated environment.
# It asks nothing, and touches neither HOME, nor the default tmux socket, nor an existing registry.

# shellcheck source=scripts/help.sh
source "$(dirname "${BASH_SOURCE[0]}")/help.sh"
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$top/.venv
lock=$top/requirements-dev.lock
stamp=$venv/installed-from
oldest_tmux=302 # 3.2
unset PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE # without bytecode every start compiles again

say() { printf '== %s\n' "$*" >&2; }

# give_up WHAT HINT: exit 2 means "could not be set up", and is never mistaken for a failing test.
give_up() {
    printf 'setup: could not %s\n       %s\n' "$1" "$2" >&2
    exit 2
}

# as_root COMMAND...: directly if root, else with sudo if that asks for no password.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo -n "$@"
    fi
}

can_install() {
    command -v apt-get >/dev/null && { [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null; }
}

apt_install() {
    say "installing $* with apt-get"
    if [ -z "${lists_are_new:-}" ]; then
        as_root apt-get update -qq </dev/null >&2 || say "apt-get update failed, trying with the lists that are there"
        lists_are_new=1
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" </dev/null >&2
}

# find_python [MODULE]: the first interpreter that is new enough and can import MODULE. Broken shims are skipped.
find_python() {
    local name
    for name in "${TMUXREAP_PYTHON:-python3}" python3 python3.13 python3.12 python3.11 python3.10 python; do
        if "$name" -c "import sys, ${1:-sys}; sys.exit(sys.version_info < (3, 10))" >/dev/null 2>&1 </dev/null; then
            "$name" -c 'import sys; print(sys.executable)' </dev/null
            return 0
        fi
    done
    return 1
}

# Debian ships venv without ensurepip.
choose_python() {
    local bare
    find_python ensurepip && return 0
    bare=$(find_python) || give_up "find Python 3.10 or later" "install it (or name it: TMUXREAP_PYTHON=/path/to/python3), then run this again"
    give_up "make a venv: $bare has no ensurepip" "install python3-venv (Debian, Ubuntu: apt-get install python3-venv), then run this again"
}

wanted() {
    printf '%s\n' "$top"
    cat "$lock" "$top/pyproject.toml"
}

pip_install() {
    PIP_NO_CACHE_DIR=1 PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_REQUIRE_VIRTUALENV=0 PIP_USER=0 \
        "$venv/bin/python" -m pip install --quiet "$@" </dev/null >&2 ||
        give_up "install the packages of ${lock##*/}" "the lines above say why; with a network (or PIP_INDEX_URL) run this again"
}

# Reinstall only if the lock, the metadata or the checkout's path changed.
ensure_venv() {
    local python
    if [ "$(wanted)" = "$(cat "$stamp" 2>/dev/null)" ] && "$venv/bin/python" -c '' 2>/dev/null; then
        return 0
    fi
    # pip asks rustc for its version, and rustup's rustc proxy creates a folder in HOME.
    [ -d "${HOME:-/nonexistent}/.rustup" ] || export RUSTUP_HOME=${RUSTUP_HOME:-$venv/rustup}
    if ! "$venv/bin/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
        python=$(choose_python) || exit $?
        say "making .venv with $python"
        "$python" -m venv --clear "$venv" </dev/null >&2 || give_up "make a venv in $venv" "the lines above say why"
    fi
    say "installing the locked development set into .venv"
    rm -f "$stamp"
    pip_install --no-compile --requirement "$lock" # what is imported is compiled then: a third of it
    pip_install --no-deps --no-build-isolation --editable "$top"
    wanted >"$stamp"
}

# The version as major * 100 + minor. Without a number ("tmux master") it counts as newest.
tmux_version() {
    local text
    text=$(tmux -V 2>/dev/null) || return 1
    if [[ $text =~ ([0-9]+)\.([0-9]+) ]]; then
        echo $((BASH_REMATCH[1] * 100 + BASH_REMATCH[2]))
    else
        echo 9999
    fi
}

tmux_is_there() {
    local version
    version=$(tmux_version) && [ "$version" -ge "$oldest_tmux" ]
}

ensure_tmux() {
    tmux_is_there && return 0
    if ! can_install && command -v brew >/dev/null; then
        say "installing tmux with brew"
        HOMEBREW_NO_AUTO_UPDATE=1 NONINTERACTIVE=1 brew install tmux </dev/null >&2 || true
    fi
    hash -r
    tmux_is_there || give_up "find tmux 3.2 or later (have: $(tmux -V 2>/dev/null || echo none))" "install it with your package manager, then run this again"
}

# ensure_packages TOOL[:PACKAGE]...: install everything missing at once. Only some tests need the tools: a missing tool
# is reported but is no error. Required programs are checked later.
ensure_packages() {
    local name needed=() tools=()
    tmux_is_there || needed+=(tmux)
    [ -x "$venv/bin/python" ] || find_python ensurepip >/dev/null || needed+=(python3-venv)
    for name in "$@"; do
        PATH=$PATH:/usr/sbin command -v "${name%%:*}" >/dev/null || tools+=("${name#*:}")
    done
    [ $((${#needed[@]} + ${#tools[@]})) -gt 0 ] || return 0
    if ! can_install || ! apt_install ${needed[@]+"${needed[@]}"} ${tools[@]+"${tools[@]}"}; then
        # A single unknown name would make apt-get install nothing.
        for name in ${needed[@]+"${needed[@]}"} ${tools[@]+"${tools[@]}"}; do
            if ! can_install || ! apt_install "$name"; then
                say "NOT INSTALLED: $name"
            fi
        done
    fi
    hash -r
}

# step NAME COMMAND...: run it and report its time or its failure.
step() {
    local name=$1 status=0 began=$SECONDS
    shift
    say "$name: $*"
    "$@" </dev/null || status=$?
    if [ "$status" -ne 0 ]; then
        printf '%s: %s failed (exit %d)\n' "${0##*/}" "$name" "$status" >&2
        exit 1
    fi
    say "$name took $((SECONDS - began)) s"
}

# In memory if there is room: thousands of tests each create and remove a folder. The name is short, for sockets.
quick_folder() {
    local free_kb
    free_kb=$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1) || free_kb=0
    if [ -w /dev/shm ] && [ "${free_kb:-0}" -gt 1000000 ]; then
        echo /dev/shm
    else
        echo /tmp
    fi
}

# From here on there is an empty HOME, a private tmux, no registry and no agent's store.
enter_private_world() {
    local name
    world=$(mktemp -d /tmp/tmuxreap.XXXXXX)
    trap leave_private_world EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
    scratch=$(mktemp -d "$(quick_folder)/t.XXXX")
    mkdir "$world/home" "$world/tmux"
    while read -r name; do
        case $name in
            TMUX | TMUX_PANE | TMUXREAP_* | XDG_* | CLAUDE* | CODEX_* | GEMINI_* | OPENCODE_* | QWEN_* | COPILOT_*) unset "$name" ;;
        esac
    done < <(compgen -e)
    export HOME=$world/home TMUX_TMPDIR=$world/tmux PATH=$venv/bin:$PATH
}

# The tmux servers in it are all ours; nothing else is ended.
leave_private_world() {
    local status=$? socket job
    for job in $(jobs -p); do
        kill "$job" 2>/dev/null || true
    done
    for socket in "$world"/tmux/*/* "$world"/tmux/*/*/*; do
        if [ -S "$socket" ]; then
            tmux -S "$socket" kill-server 2>/dev/null || true
        fi
    done
    rm -rf "$world" "$scratch"
    exit "$status"
}

# ensure_both TOOL[:PACKAGE]...: the packages, and meanwhile the venv if one can be made without them.
ensure_both() {
    local packages
    if [ ! -x "$venv/bin/python" ] && ! find_python ensurepip >/dev/null; then
        ensure_packages "$@"
        ensure_venv
        return
    fi
    ensure_packages "$@" &
    packages=$!
    # shellcheck disable=SC2064 # the number of now; apt-get is not left behind if no venv can be made
    trap "wait $packages" EXIT
    ensure_venv
    trap - EXIT
    wait "$packages"
}

# shellcheck disable=SC2086 # separate names
ensure_both ${test_tools:-}
ensure_tmux
enter_private_world
