# shellcheck shell=bash
# A command that is asked for help prints its head; sourced before it prepares or begins anything.

case ${1:-} in
-h | --help)
    sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
