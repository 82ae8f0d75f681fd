#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The program of docs/tutorial/embedding.md, whose processes are started without
# a launcher. Usage: test_embedding.sh PROGRAM

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "PROGRAM" "$@"
program=$(realpath "$1")
within 60
export UCX_LOG_LEVEL=fatal RCX_TIMEOUT=30s

# begins ROUNDS RANK...: start these ranks of 3
begins() {
    local r
    for r in "${@:2}"; do
        begin "rank $r" env RCX_LOG=info RCX_ROOT="file:$room/start" RCX_SIZE=3 RCX_RANK="$r" \
            "$program" "$room" "$1"
    done
}

# ended NAME LINE: the process ends well and prints this line
ended() {
    end "$1" 0 && grep -qx "rank [0-9]*: $2 at the end" "$out"
}

room=$(mktemp -d "$scratch/XXXX")
begins 200 0 1 2
good=0
for r in 0 1 2; do
    ended "rank $r" 3 || good=1
done
ok $good "three processes sum in their event loops"

# start VICTIM ROUNDS: three processes, of which one can be killed by its id, pid
start() {
    room=$(mktemp -d "$scratch/XXXX")
    env RCX_LOG=info RCX_ROOT="file:$room/start" RCX_SIZE=3 RCX_RANK="$1" \
        "$program" "$room" 1000000 2>"$scratch/victim" &
    pid=$!
    rm -f "$scratch/rank 0.err"
    begins "$2" $(seq 0 2 | grep -v "$1")
    while ! grep -qs 'started in' "$scratch/victim" "$scratch/rank 0.err" && kill -0 $pid; do
        sleep 0.1
    done
}

# stop: the victim is killed
stop() {
    kill -KILL $pid
    wait $pid
    [ $? -eq 137 ]
}

# lose VICTIM ROUNDS: three processes, of which one is killed when it runs
lose() {
    start "$@"
    sleep 0.3
    stop
}

# seat: a process asks to join, and dies when it has got its seat
seat() {
    : >"$room/wanted"
    until [ -L "$room/seat" ] || ! kill -0 "${begun[rank 2]}"; do
        sleep 0.001
    done
    rm "$room/seat"
}

for victim in 1 0; do
    lose $victim 3000
    good=$?
    for r in $(seq 0 2 | grep -v $victim); do
        ended "rank $r" 2 || good=1
    done
    ok $good "two go on where rank $victim is killed"
done

lose 1 4000
good=$?
begin new "$program" "$room" 4000 join
for r in 0 2; do
    ended "rank $r" 3 || good=1
done
ended new 3 || good=1
ok $good "they take in another one, and all have its state"

room=$(mktemp -d "$scratch/XXXX")
begins 6000 0 1 2
for n in 1 2 3; do
    begin "new $n" env RCX_LOG=debug "$program" "$room" 6000 join
    while ! grep -q 'started in' "$scratch/new $n.err" && kill -0 "${begun[new $n]}"; do
        sleep 0.1
    done
done
good=0
for r in 0 1 2; do
    ended "rank $r" 6 || good=1
    ended "new $((r + 1))" 6 || good=1
done
ok $good "three others join one after another"

# --- deaths while a process joins ---

for limit in 5s none; do
    export RCX_TIMEOUT=$limit
    room=$(mktemp -d "$scratch/XXXX")
    begins 2000 0 1 2
    seat
    good=0
    for r in 0 1 2; do
        ended "rank $r" 3 || good=1
        ! grep 'not a valid' "$err" || good=1
    done
    ok $good "one dies that has its seat, and the others go on: RCX_TIMEOUT=$limit"
    for victim in 1 0; do
        start $victim 2000
        seat
        stop
        good=$?
        for r in $(seq 0 2 | grep -v $victim); do
            ended "rank $r" 2 || good=1
            ! grep 'not a valid' "$err" || good=1
        done
        ok $good "rank $victim is killed in a join, and the others go on: RCX_TIMEOUT=$limit"
    done
done

end_tests
