# shellcheck shell=bash
# What scripts/test-agents and scripts/film have in common: real agents in a private folder; sourced after setup.sh,
# with the folder in $cache. setup.sh has set $top.

export PYTHONPATH=$top
command -v npm >/dev/null || give_up "find npm" "install Node.js, version 20 or later"

install_agent() {
    case $2 in
        pypi:*) python -m venv "$cache/$1/venv" && "$cache/$1/venv/bin/python" -m pip install --quiet --upgrade "${2#pypi:}" ;;
        *) npm install --silent --no-audit --no-fund --prefix "$cache/$1" "$2@latest" ;;
    esac
}

newest() {
    case $1 in
        pypi:*) python -m pip index versions "${1#pypi:}" 2>/dev/null | sed -n '1s/.*(\(.*\))/\1/p' ;;
        *) npm view "$1" version 2>/dev/null ;;
    esac </dev/null || echo "not to be asked"
}

installed() {
    python -c 'import sys; from pathlib import Path; from tests.real_agents.setups import version_of
print(version_of(Path(sys.argv[1]), sys.argv[2]))' "$cache" "$1"
}

# install_agents [AGENT[:ROW]...]: the newest version of each (all of them) once; again if $update is set.
install_agents() {
    local agent package verified
    while read -r agent package verified; do
        case " ${*:-$agent} " in *" $agent "* | *" $agent:"*) ;; *) continue ;; esac
        if [ -n "${update:-}" ] || ! installed "$agent" >/dev/null 2>&1; then
            if ! install_agent "$agent" "$package" </dev/null >&2; then
                say "could not install $package (the lines above say why): the cells of $agent are not played"
                continue
            fi
        fi
        say "$agent: newest $(newest "$package"), installed $(installed "$agent"), verified $verified"
    done < <(python -c 'from tests.real_agents.setups import SETUPS
from tmuxreap.agents.load import load_profiles
for name, setup in SETUPS.items(): print(name, setup.package, load_profiles(None).agents[name].verified)')
}

# Only loopback for what is started by "${alone[@]}", so that nothing is contacted.
alone=()
if unshare -n true 2>/dev/null; then
    alone=(unshare -n)
elif unshare -rn true 2>/dev/null; then
    alone=(unshare -rn)
fi
if [ ${#alone[@]} -gt 0 ]; then
    alone+=(sh -c 'ip link set lo up && exec "$@"' sh)
else
    say "no network namespace can be made here: the agents could reach the network"
fi
