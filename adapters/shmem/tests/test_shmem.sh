#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# OpenSHMEM's collectives over RCX: each one compared with its pshmem_ twin, the examples, and
# a process that is killed.
# Usage: test_shmem.sh LIBRARY TWINS READS PLATE TRANSPOSE SORT

# shellcheck source=adapters/tests/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tests/tap.sh"
takes "LIBRARY TWINS READS PLATE TRANSPOSE SORT" "$@"
library=$(realpath "$1")
twins=$(realpath "$2")
reads=$(realpath "$3")
plate=$(realpath "$4")
transpose=$(realpath "$5")
sort=$(realpath "$6")
bound=(timeout -k 5 60)
# without osc/rdma: with it, shmem_finalize() of Open MPI 4.1.4 crashes
oshrun=(oshrun --map-by :oversubscribe -mca osc '^rdma')
[ "$(id -u)" -ne 0 ] || oshrun+=(--allow-run-as-root)

for n in 1 2 3 4; do
    run 0 "${oshrun[@]}" -n $n -x LD_PRELOAD="$library" "$twins" \
        && grep -qxE '58 functions, [0-9]{3} comparisons, 0 failures' "$out"
    ok $? "all functions as their twins, on all processes and on strided sets of $n"
done
for n in 2 3; do
    run 0 "${oshrun[@]}" -n $n -x LD_PRELOAD="$library" "$reads" && grep -qx $((n == 2 ? 22 : 34)) "$out"
    ok $? "a process reads from others that wait for it in a collective, $n processes"
done
run 0 "${oshrun[@]}" -n 4 "$plate" && grep -qxE '[0-9]+ steps, off by [1-9]\.[0-9]e-07 on average' "$out"
ok $? "the example without RCX"
cp "$out" "$scratch/plain"
for n in 1 4; do
    run 0 "${oshrun[@]}" -n $n -x LD_PRELOAD="$library" "$plate" && cmp "$out" "$scratch/plain"
    ok $? "and with it, on $n processes: the same"
done
checksum=$(python3 -c '
keys = sorted((i * 2654435761 % 2**32) >> 8 for i in range(50000))
print(sum((place + 1 & 1023) * key for place, key in enumerate(keys)))')
for n in 1 4; do
    run 0 "${oshrun[@]}" -n $n -x LD_PRELOAD="$library" "$transpose" 120 7 \
        && grep -qx 'order 120, 7 times, 0 wrong elements' "$out"
    ok $? "a matrix is transposed on $n processes"
    run 0 "${oshrun[@]}" -n $n -x LD_PRELOAD="$library" "$sort" 50000 \
        && grep -qx "50000 keys, 0 out of order, checksum $checksum" "$out"
    ok $? "integers are sorted on $n processes, as Python sorts them"
done
# shellcheck disable=SC2016
run 137 "${oshrun[@]}" -n 3 -x LD_PRELOAD="$library" bash -c '
    [ "$OMPI_COMM_WORLD_RANK" != 1 ] && exec "$0" -1
    exec timeout -s KILL 2 "$0" -1' "$plate" && grep -q 'signal 9\|status 137\|code: *137' "$out" "$err"
ok $? "a process that is killed ends the job"

end_tests
