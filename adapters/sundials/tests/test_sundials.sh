#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# SUNDIALS over RCX: the example on 1 to 8 ranks, a rank that is killed, and a comparison with
# nvector_parallel where that is installed.
# Usage: test_sundials.sh RCXRUN HEAT [CUTS [TWINS]]

# shellcheck source=adapters/tests/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tests/tap.sh"
takes "RCXRUN HEAT [CUTS [TWINS]]" "$@"
rcxrun=$(realpath "$1")
heat=$(realpath "$2")
cuts=${3:+$(realpath "$3")}
twins=${4:+$(realpath "$4")}
bound=(timeout -k 5 180)

# The exact norm at t = 0.1 of 200 cells of width 1/201, from the sum of the eigenmodes.
exact=$(awk 'BEGIN {
    pi = atan2(0, -1); n = 200
    for (i = 1; i <= n; i++) { x = i / (n + 1); u[i] = sin(pi * x) + (x > 0.3 && x < 0.6) }
    for (k = 1; k <= n; k++) {
        for (c = i = 0; ++i <= n;) c += 2 / (n + 1) * u[i] * sin(k * pi * i / (n + 1))
        s = 2 * (n + 1) * sin(k * pi / 2 / (n + 1))
        sum += (c * exp(-s * s * 0.1)) ^ 2 / 2 * (n + 1)
    }
    printf "%.9e", sqrt(sum / n) }')

for n in 1 2 4; do
    run 0 "$rcxrun" -n $n "$heat" 200 0.1 && [ "$(grep -c '^t ' "$out")" -eq 10 ] \
        && tail -n 1 "$out" | awk -v exact="$exact" '{ exit !($6 / exact - 1 < 1e-4 && 1 - $6 / exact < 1e-4) }'
    ok $? "CVODE on $n ranks: the heat that is left is that of the modes' sum"
done

cp "$out" "$scratch/first"
run 0 "$rcxrun" -n 4 "$heat" 200 0.1 && cmp "$out" "$scratch/first"
ok $? "two runs have the same steps, and norms to the last digit"

# In the canonical order, all elements are summed in one binary tree, over ranks and within them.
for cells in 200 1024; do
    code=0
    for n in 1 2 4 8; do
        run 0 "$rcxrun" -n $n -x RCX_ORDER=canonical "$heat" $cells 0.1 || code=1
        [ $n = 1 ] && cp "$out" "$scratch/alone"
        cmp "$out" "$scratch/alone" || code=1
    done
    ok $code "canonical order: CVODE of $cells cells has the same digits on 1, 2, 4 and 8 ranks"
done

# outputs SUM PROGRAM ARGUMENT...: how many different outputs the program has on 1 to 7 ranks
outputs() {
    local sum=$1
    shift
    for n in 1 2 3 4 7; do
        run 0 "$rcxrun" -n $n -x RCX_SUM="$sum" "$@" && md5sum <"$out" || echo "$n ranks: fails"
    done | sort -u | wc -l
}

[ "$(outputs exact "$heat" 200 0.1)" -eq 1 ]
ok $? "exact sums: CVODE's output has the same digits on 1, 2, 3, 4 and 7 ranks"
[ "$(outputs plain "$heat" 200 0.1)" -gt 1 ]
ok $? "without them it has not"

if [ -n "$cuts" ]; then
    for seed in 1 2; do
        [ "$(outputs exact "$cuts" $seed)" -eq 1 ] && { [ $seed = 1 ] || cmp "$out" "$scratch/cut"; }
        ok $? "exact sums: all sums, CVODE and KINSOL have the same bits on 1 to 7 ranks, cut $seed"
        cp "$out" "$scratch/cut"
    done
    [ "$(outputs plain "$cuts" 1)" -gt 2 ]
    ok $? "without them they have not"
    # shellcheck disable=SC2016
    run 0 "$rcxrun" -n 3 bash -c '[ "$PMIX_RANK" = 2 ] && export RCX_SUM=exact; exec "$0" 1' "$cuts" \
        && cmp "$out" "$scratch/cut"
    ok $? "exact sums that one rank asks for are those of all"
fi

run 1 "$rcxrun" -n 2 -x RCX_SUM=exat "$heat" 200 0.1 && grep -q 'RCX_SUM=exat: .* did you mean exact' "$err"
ok $? "another value of RCX_SUM is refused"

# shellcheck disable=SC2016
run 137 "$rcxrun" -k -n 3 -x RCX_TIMEOUT=4s bash -c '
    [ "$PMIX_RANK" != 1 ] && exec "$0" 2000 100
    exec timeout -s KILL 3 "$0" 2000 100' "$heat" \
    && [ "$(grep -c '^rank [02]: CVODE ends with -[0-9]*: .*rank 1' "$err")" -eq 2 ]
ok $? "a rank that is killed ends the others' CVODE with an error that names it"

run 1 "$rcxrun" -n 3 "$heat" 2 && grep -q 'needs at least one cell for each rank' "$err"
ok $? "fewer cells than ranks are refused"

if [ -n "$twins" ]; then
    for n in 1 2 4; do
        run 0 mpirun --allow-run-as-root --map-by :oversubscribe -n $n "$twins" && grep -q '^1\.\.[1-9]' "$out" \
            && ! grep '^not ok' "$out"
        ok $? "all operations and KINSOL as with nvector_parallel, on $n ranks"
    done
fi

end_tests
