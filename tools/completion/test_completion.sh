#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Completion in bash, zsh and fish, each with the tools of this build.
# Usage: test_completion.sh COMPLETION_DIR TOOLS_DIR

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tests/support/tap.sh"
takes "COMPLETION_DIR TOOLS_DIR" "$@"
completion=$(realpath "$1")
tools=$(realpath "$2")
PATH=$tools:$PATH

# skip REASON SENTENCE
skip() {
    number=$((number + 1))
    echo "ok $number - $2 # SKIP $1"
}

# as they are installed
mkdir -p "$scratch/home/completions" "$scratch/files"
for tool in rcx_info rcx_perf rcx_sim rcx_top rcx_trace rcx_tune rcxrun; do
    ln -s "$completion/rcx_info" "$scratch/home/completions/$tool"
done
: >"$scratch/files/rank0.json"
cd "$scratch/files" || exit 2

# completed LINE: prints what bash completes the last word of LINE to. Bash
# splits a line at = as well.
completed() {
    (
        COMP_LINE=$1 COMP_POINT=${#1}
        # shellcheck disable=SC2034,SC2206
        COMP_WORDS=(${1//=/ = }) COMPREPLY=()
        [[ $1 != *[\ =] ]] || [[ $1 == *= ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        function=$(complete -p "${COMP_WORDS[0]##*/}" | sed 's/.*-F \([^ ]*\).*/\1/')
        "$function" "${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        echo "${COMPREPLY[*]-}"
    )
}

# completes LINE WORDS: to exactly these
completes() {
    completed "$1" >"$out" 2>"$err"
    [ "$(<"$out")" = "$2" ]
    ok $? "bash: $1"
}

# shellcheck source=/dev/null
source "$completion/rcx_info"
completes "rcx_info --mark" "--markdown"
completes "rcx_info --v" "--version"
completes "rcx_perf --se" "--segments"
completes "rcx_perf --coll allg" "allgather"
completes "rcx_perf -c allg" "allgather"
completes "rcx_tune --coll=redu" "reduce reduce_scatter"
completes "rcx_info --explain=barr" "barrier"
completes "rcx_sim ver" "verify"
completes "rcx_sim verify --nonc" ""
completes "rcx_sim verify --non" "--non-commutative"
completes "rcx_sim map --svg ma" "" # a file's name is bash's own to complete
completes "rcx_trace --js" "--json"
ln -s "$tools" "$scratch/tools" # a word of a line has no space
completes "$scratch/tools/rcx_sim reg" "regret"

# the tools of this build say what there is
missing() {
    local tool option
    for tool in rcx_info rcx_perf rcx_sim rcx_tune; do
        for option in $(completed "$tool -"); do
            [[ $option == --?* ]] || continue
            "$tool" "$option=x" --help 2>&1 </dev/null | grep -q "unrecognized option" && echo "$tool $option"
        done
    done
}
missing >"$out" 2>"$err"
[ ! -s "$out" ] && [ "$(completed "rcx_perf -" | wc -w)" -ge 30 ]
ok $? "bash: what it completes are options"

if command -v rcxrun >/dev/null; then
    completes "rcxrun --no" "--nodes"
    completes "rcxrun -n 4 rcx_per" "rcx_perf"
    completes "rcxrun -x A=B --bind rcx_per" "rcx_perf"
    completes "rcxrun -n 4 rcx_trace --js" "" # an argument of the program
else
    skip "no rcxrun in this build" "bash: rcxrun"
fi

# in an interactive shell, by a key
loader=/usr/share/bash-completion/bash_completion
if command -v script >/dev/null && [ -e $loader ]; then
    printf '%s\n' "source $loader" "PS1=; PATH=$tools:\$PATH" >"$scratch/bashrc"
    printf 'rcx_info --vers\t\nrcx_trace --json ran\t\nexit\n' \
        | BASH_COMPLETION_USER_DIR=$scratch/home script -qec "bash --rcfile $scratch/bashrc -i" /dev/null >"$out" 2>"$err"
    grep -q 'rcx_info (RCX) ' "$out"
    ok $? "bash-completion loads it by the tool's name, and Tab completes an option"
    grep -q 'rcx_trace: rank0.json: is no dump' "$out"
    ok $? "and a file"
else
    skip "needs script and bash-completion" "bash-completion loads it by the tool's name"
fi

if command -v fish >/dev/null; then
    HOME=$scratch/home fish --no-config -c "source $completion/rcx_perf.fish; complete --do-complete 'rcx_perf --seg'" >"$out" 2>"$err"
    [ "$(<"$out")" = "--segments" ]
    ok $? "fish completes an option"
else
    skip "no fish here" "fish completes an option"
fi

if command -v zsh >/dev/null && command -v script >/dev/null; then
    mkdir "$scratch/zsh"
    printf '%s\n' "PATH=$tools:\$PATH; PS1=" "fpath=($completion \$fpath)" "autoload -Uz compinit; compinit -u -D" >"$scratch/zsh/.zshrc"
    printf 'rcx_info --vers\t\nexit\n' | ZDOTDIR=$scratch/zsh TERM=dumb script -qec "zsh -i" /dev/null >"$out" 2>"$err"
    grep -q 'rcx_info (RCX) ' "$out"
    ok $? "zsh completes an option"
else
    skip "no zsh here" "zsh completes an option"
fi
end_tests
