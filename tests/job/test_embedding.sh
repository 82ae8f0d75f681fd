#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The program of docs/tutorial/embedding.md, whose processes are started without
# a launcher. Usage: test_embedding.sh PROGRAM PYTHON3

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "PROGRAM PYTHON3" "$@"
program=$(realpath "$1")
python=$2
bound=(timeout -k 5 60)

# Print a port that no process listens on.
free_port() {
    "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

port=$(free_port)
for r in 0 1 2; do
    begin "rank $r" "$program" $r 3 "$port" 200
done
good=0
for r in 0 1 2; do
    end "rank $r" 0 && [ "$(cat "$out")" = "rank $r: 3 at the end" ] && [ ! -s "$err" ] || good=1
done
ok $good "three processes sum in their event loops"

# kill_one [NAME=VALUE]: run three processes and kill rank 1; true if it was
# killed
kill_one() {
    local victim
    port=$(free_port)
    env "$@" "$program" 1 3 "$port" 1000000 &
    victim=$!
    for r in 0 2; do
        begin "rank $r" env RCX_LOG=info "$@" "$program" $r 3 "$port" 3000
    done
    while ! grep -q 'started in' "$scratch/rank 0.err" && kill -0 $victim; do
        sleep 0.1
    done
    sleep 0.3
    kill -KILL $victim
    wait $victim
    [ $? -eq 137 ]
}

kill_one RCX_ERR_MODE=none
good=$?
for r in 0 2; do
    end "rank $r" 0 && [ "$(cat "$out")" = "rank $r: 2 at the end" ] \
        && grep -q "^rank $r goes on with 2 of 3: .*rank 1" "$err" || good=1
done
ok $good "two go on where the third is killed"

kill_one RCX_ERR_MODE=peer UCX_LOG_LEVEL=fatal
good=$?
for r in 0 2; do
    end "rank $r" 1 && [ ! -s "$out" ] || good=1
done
ok $good "in error mode peer the world fails as well, and both end with a status"

end_tests
