#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rcx.spawn: results, failures, and that no process remains. Usage: test_spawn.sh PYTHON FOLDER

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../../tests/support/tap.sh"
takes "PYTHON FOLDER" "$@"
python=$1
export PYTHONPATH=$2 PYTHONDONTWRITEBYTECODE=1
here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
within 100
"$python" -c 'import numpy' 2>"$err" || { echo "1..0 # SKIP needs numpy"; exit 0; }

# spawning WHAT [METHOD]
spawning() {
    rm -f "$scratch"/{flag,pids}
    run 0 "$python" "$here/spawning.py" "$1" "$scratch/flag" "$scratch/pids" "${@:2}" && grep -qx "$1 done" "$out"
}

for method in spawn forkserver fork; do
    spawning returns $method
    ok $? "results in the order of ranks, joined at once or later: $method"
    spawning fails $method
    ok $? "a rank that fails is an error with its cause, and the others are ended: $method"
done
for method in spawn fork; do
    spawning blames $method
    ok $? "the rank that failed first is named, whatever it raised: $method"
done
spawning received spawn
ok $? "a result is received while its process lives, or the error names its rank"
spawning refused
ok $? "wrong arguments and unsafe forks are refused; errors can be pickled"
spawning interrupted
ok $? "Ctrl-C ends all processes"

gone() {
    local pid
    for pid; do
        case $(sed -n 's/.*) \(.\) .*/\1/p' "/proc/$pid/stat" 2>/dev/null) in '' | Z | X) ;; *) return 1 ;; esac
    done
}
rm -f "$scratch/pids"
"$python" "$here/spawning.py" orphans - "$scratch/pids" >"$out" 2>"$err" </dev/null &
parent=$!
until [ "$(cat "$scratch/pids" 2>/dev/null | wc -w)" = 3 ] || gone $parent; do sleep 0.05; done
read -ra pids <"$scratch/pids"
kill -KILL $parent
wait $parent 2>/dev/null
for ((i = 0; i < 600; i++)); do
    gone "${pids[@]}" && break
    sleep 0.1
done
[ ${#pids[@]} -eq 3 ] && gone "${pids[@]}"
ok $? "if the process that started them is killed, they end"

end_tests
