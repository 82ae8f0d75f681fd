#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rcx.dask: the example, calls and sessions, and workers that die. Usage: test_dask.sh PYTHON FOLDER

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../../tests/support/tap.sh"
takes "PYTHON FOLDER" "$@"
python=$1
export PYTHONPATH=$2 PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
within 100
"$python" -c 'import distributed, numpy' 2>"$err" || { echo "1..0 # SKIP needs Dask's distributed, and numpy"; exit 0; }
cd "$scratch" || exit 2 # Dask writes a folder

run 0 "$python" "$here/../examples/dask_fit.py" && [ "$(wc -l <"$out")" -eq 2 ] \
    && grep -qxE "4 workers: linear .* off NumPy's by [0-9]e-1[0-9], equal on all" "$out" \
    && grep -qxE "4 workers: logistic .* off NumPy's by [0-9]e-1[0-9], equal on all" "$out"
ok $? "the example: two regressions on 4 workers, as NumPy has them"

# workers WHAT SENTENCE
workers() {
    run 0 "$python" "$here/workers.py" "$1" && grep -qx "$1 done" "$out"
    ok $? "$2"
}
workers calls "results, arrays in place, overlapping calls and sessions, subsets, other threads, exceptions"
grep -q '^rcx.dask: session [0-9a-f]* opens among 3 workers$' "$err"
ok $? "verbose: it prints what it does"
workers given "functions get all arguments, also those named like Dask's and RCX's own; the end has a deadline"
workers left "a session that ends while calls are in progress ends these"
workers killed "a worker is killed: an error on the others, and new sessions go on, without it and with its successor"
workers restarted "workers are restarted: their session has ended, and a new one goes on"
workers missing "a worker dies during the start, which is an error and leaves nothing"

end_tests
