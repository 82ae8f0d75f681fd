#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Coarray programs of gfortran's over RCX: collectives, synchronisation, the example, ends.
# Usage: test_coarray.sh RCXRUN COLLECTIVES ENDS LEARN

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../../tests/support/tap.sh"
takes "RCXRUN COLLECTIVES ENDS LEARN" "$@"
rcxrun=$(realpath "$1")
collectives=$(realpath "$2")
ends=$(realpath "$3")
learn=$(realpath "$4")
bound=(timeout -k 5 60)

for n in 1 2 3 5; do
    run 0 "$rcxrun" -n $n "$collectives" && [ "$(cat "$out")" = "all is well" ] && [ ! -s "$err" ]
    ok $? "every collective on every kind, shape and form, synchronisation, on $n images"
done
run 0 "$rcxrun" -n 1 "$learn" && mv "$out" "$scratch/one" \
    && run 0 "$rcxrun" -n 4 "$learn" && diff <(cut -d ' ' -f 2- "$scratch/one") <(cut -d ' ' -f 2- "$out") \
    && grep -qx '4 images, mean square error [1-9]\.[0-9]*E-0[3-9]' "$out"
ok $? "the example learns on four images what it learns on one"

run 137 "$rcxrun" -k -n 3 -x RCX_TIMEOUT=5s "$ends" failed && [ "$(grep -cx 'image 2 failed' "$out")" -eq 2 ]
ok $? "an image that fails is stat_failed_image on the others, who know which it was"
run 7 "$rcxrun" -n 3 "$ends" error && grep -qx 'ERROR STOP 7' "$err"
ok $? "error stop ends all images, with its code"
run 3 "$rcxrun" -n 3 "$ends" stop && [ "$(grep -c STOP "$err")" -eq 1 ] && grep -qx 'STOP 3' "$err"
ok $? "stop ends one"
run 1 "$rcxrun" -n 2 "$ends" far && grep -qx 'image [12]: co_sum: no such image' "$err"
ok $? "what is wrong ends a program that has no stat="

end_tests
