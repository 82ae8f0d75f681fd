#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rcx_torch.all_reduce_(), its example as the pages print it, and its benchmark.
# Usage: test_direct.sh RCXRUN PYTHON FOLDER quick|full

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../../tests/support/tap.sh"
takes "RCXRUN PYTHON FOLDER EXTENT" "$@"
rcxrun=$(realpath "$1")
python=$2
export PYTHONPATH=$3 PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
within 120

is_done() { [ "$(grep -cx "$1 done" "$out")" -eq "$2" ]; } # WHAT COUNT: COUNT ranks say so
direct() { # RANKS STATUS COUNT WHAT...: COUNT ranks have done the first
    run "$2" "$rcxrun" -k -n "$1" "$python" "$here/direct.py" "${@:4}" && is_done "$4" "$3"
}
sizes=(1 3)
[ "$4" = quick ] || sizes=(1 2 3 5)
for n in "${sizes[@]}"; do
    direct "$n" 0 "$n" sums arguments comms
    ok $? "all_reduce_(), on $n ranks: sums are those of NumPy, rounded once where they accumulate in float"
    is_done arguments "$n"
    ok $? "all_reduce_() takes any strides, no elements, its own memory, and refuses the rest with RCX's text"
    is_done comms "$n"
    ok $? "all_reduce_() over parts of the processes, and beside torch.distributed"
done
direct 3 137 2 killed && [ "$(grep -cx 'it was rank 1' "$out")" -eq 2 ]
ok $? "all_reduce_(): a rank that is killed is an exception on the others"
direct 2 0 2 interrupted && grep -qx interrupted "$out"
ok $? "all_reduce_(): threads run while it waits, and Ctrl-C ends it"
for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 "${bound[@]}" "$python" "$here/direct.py" store "$scratch/direct_store" &
    processes[rank]=$!
done >"$out" 2>"$err"
wait "${processes[0]}" && wait "${processes[1]}" && [ "$(grep -cx 'store done' "$out")" -eq 2 ]
ok $? "all_reduce_() between processes that share a store"
read -ra bench < <(grep -m 1 '^    rcxrun .*direct_bench.py' "$here/direct_bench.py")
run 0 "$rcxrun" "${bench[@]:1:2}" "$python" "$here/direct_bench.py" 1 20 && [ "$(grep -c '^float32 .*Gloo' "$out")" -eq 6 ]
ok $? "its times beside RCX in C and Gloo"
# the commands of the example, as they stand in its head and in pages, whatever folder they name
while read -r line; do
    read -ra words <<<"$line"
    [ "$4" != quick ] || [ "${words[2]}" -lt 3 ] || continue # the same on more ranks
    run 0 "$rcxrun" "${words[@]:1:2}" "$python" "$here/../examples/${words[4]##*/}" "${words[@]:5}" \
        && grep -q "^${words[2]} ranks: equal to one within [1-9].*e-03 of" "$out" \
        && [ "$(grep -cE '^(rcx|gloo): [0-9]+ tokens per second$' "$out")" -eq $((${#words[@]} - 4)) ]
    ok $? "a divided transformer is equal to a whole one, as printed: $line"
done < <(grep -ho 'rcxrun -n .*transformer.py.*' "$here/../examples/transformer.py" "$here/../README.md" \
    "$here/../../../docs/howto/inference.md" | sed 's,bindings/torch/examples/,,' | sort -u)

end_tests
