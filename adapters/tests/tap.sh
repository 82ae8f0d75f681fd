# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Sourced by the tests: their arguments, a scratch folder, the output of the last
# command in it, and TAP. What the shell has set of RCX is not what they test.

set -u
unset "${!RCX_@}"

# takes "NAME... [NAME]" "$@": ends the test unless it got these arguments
takes() {
    local names
    read -ra names <<<"$1"
    local -r most=${#names[@]} optional=${1//[^[]/}
    (($# - 1 <= most && $# - 1 >= most - ${#optional})) && return
    echo "usage: $0 $1" >&2
    exit 2
}

scratch=$(mktemp -d)
out=$scratch/out
err=$scratch/err
trap 'rm -rf "$scratch"' EXIT
: >"$out" >"$err"

number=0
failed=0

# ok STATUS SENTENCE
ok() {
    number=$((number + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $number - $2"
    else
        echo "not ok $number - $2"
        sed 's/^/# stdout: /' "$out" | tail -30
        sed 's/^/# stderr: /' "$err" | tail -30
        failed=$((failed + 1))
    fi
}

# skip REASON SENTENCE
skip() {
    number=$((number + 1))
    echo "ok $number - $2 # SKIP $1"
}

bound=() # a command that bounds the time of those that follow

# run STATUS COMMAND...: true if it exits with that status.
run() {
    local -r want=$1
    shift
    "${bound[@]}" "$@" >"$out" 2>"$err" </dev/null
    local -r got=$?
    [ $got -eq "$want" ] && return 0
    echo "# $*: exit status $got, not $want"
    return 1
}

# The plan, and the exit status.
end_tests() {
    echo "1..$number"
    exit $((failed > 0))
}
