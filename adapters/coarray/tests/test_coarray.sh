#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs compiled with gfortran -fcoarray=lib, linked with libcaf_rcx. Runs the tests of
# collectives, remote memory (by loads and stores, and by messages), the examples, and images
# that end.
# Usage: test_coarray.sh RCXRUN COLLECTIVES REMOTE ENDS LEARN WAVE

# shellcheck source=adapters/tests/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tests/tap.sh"
takes "RCXRUN COLLECTIVES REMOTE ENDS LEARN WAVE" "$@"
rcxrun=$(realpath "$1")
collectives=$(realpath "$2")
remote=$(realpath "$3")
ends=$(realpath "$4")
learn=$(realpath "$5")
wave=$(realpath "$6")
bound=(timeout -k 5 60)
messages=(-x RCX_LANES=ucp)
tcp=(-x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo)

for n in 1 2 3 5; do
    run 0 "$rcxrun" -n $n "$collectives" && [ "$(cat "$out")" = "all is well" ] && [ ! -s "$err" ]
    ok $? "every collective on every kind, shape and form, synchronisation, on $n images"
done
# reaches N WHAT OPTION...: run REMOTE on N images with these options of rcxrun
reaches()
{
    local -r n=$1 what=$2
    shift 2
    run 0 "$rcxrun" -n "$n" "$@" "$remote" && [ "$(cat "$out")" = "all is well" ] && [ ! -s "$err" ]
    ok $? "memory of others, atomics, locks, events, teams: $n images $what"
}
for n in 1 2 3 6; do
    reaches $n "by loads and stores"
done
reaches 3 "by messages" "${messages[@]}"
reaches 4 "over TCP" "${tcp[@]}"
reaches 4 "where two share a node" --nodes 2

run 0 "$rcxrun" -n 1 "$learn" && mv "$out" "$scratch/one" \
    && run 0 "$rcxrun" -n 4 "$learn" && diff <(cut -d ' ' -f 2- "$scratch/one") <(cut -d ' ' -f 2- "$out") \
    && grep -qx '4 images, mean square error [1-9]\.[0-9]*E-0[3-9]' "$out"
ok $? "the example learns on four images what it learns on one"

run 0 "$rcxrun" -n 1 "$wave" && mv "$out" "$scratch/one" && [ "$(wc -l < "$scratch/one")" -gt 3 ]
ok $? "a wave goes round on one image"
for n in 2 3 4; do
    run 0 "$rcxrun" -n $n "$wave" && diff "$scratch/one" "$out"
    ok $? "and is the same to the bit on $n"
done

run 137 "$rcxrun" -k -n 3 -x RCX_TIMEOUT=5s "$ends" failed && [ "$(grep -cx 'image 2 failed' "$out")" -eq 2 ]
ok $? "an image that fails is stat_failed_image on the others, and is named"
for way in "" "${messages[*]}"; do
    # shellcheck disable=SC2086
    run 137 "$rcxrun" -k -n 3 $way -x RCX_TIMEOUT=3s "$ends" remote && [ "$(grep -cx 'image 2 failed' "$out")" -eq 2 ]
    ok $? "so it is in accesses to its memory and in waits, and a lock that it held is free${way:+, by messages}"
    # shellcheck disable=SC2086
    run 0 "$rcxrun" -n 3 $way "$ends" stopped && [ "$(grep -cx 'image 2 stopped' "$out")" -eq 2 ]
    ok $? "an image that stops is stat_stopped_image for images that wait for it${way:+, by messages}"
    # shellcheck disable=SC2086
    run 0 "$rcxrun" -n 3 $way "$ends" alone && [ "$(cat "$out")" = "image 3 stopped" ]
    ok $? "also in pairs, but not for earlier operations${way:+, by messages}"
done
run 137 "$rcxrun" -k -n 3 "${messages[@]}" -x RCX_TIMEOUT=3s "$ends" puts && grep -qx 'image 2 failed' "$out"
ok $? "puts to other images than the one that failed are complete once answered"
run 7 "$rcxrun" -n 3 "$ends" error && grep -qx 'ERROR STOP 7' "$err"
ok $? "error stop ends all images, with its code"
run 3 "$rcxrun" -n 3 "$ends" stop && [ "$(grep -c STOP "$err")" -eq 1 ] && grep -qx 'STOP 3' "$err"
ok $? "stop ends one"
run 1 "$rcxrun" -n 2 "$ends" far && grep -qx 'image [12]: co_sum: no such image' "$err"
ok $? "an error ends a program that has no stat="

end_tests
