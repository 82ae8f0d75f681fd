#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rcx_neighbor_alltoallv() between real processes: examples/halo2d.c, a
# neighbour that dies, and counts that do not match. Usage: test_neighbors.sh
# RCXRUN EXAMPLE_HALO2D NEIGHBORS_MAIN

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN EXAMPLE_HALO2D NEIGHBORS_MAIN" "$@"
rcxrun=$(realpath "$1")
halo=$(realpath "$2")
main=$(realpath "$3")
within 100
tcp=(-x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo)

solves() { # RANKS OPTION...
    run 0 "$rcxrun" -n "$1" "${@:2}" "$halo" && is_silent \
        && [ "$(<"$out")" = "$1 ranks: 0 cells differ from one rank alone" ]
}
for n in 1 2 3 4 6; do
    solves $n
    ok $? "examples/halo2d.c has the bits of one rank alone: $n ranks"
done
solves 4 "${tcp[@]}"
ok $? "over TCP"
solves 4 -x RCX_CHECK=full
ok $? "and where calls are compared"
solves 3 -x RCX_PROGRESS=thread
ok $? "and where a thread makes progress"

for lanes in auto ucp; do
    "${bound[@]}" "$rcxrun" -k -n 4 -x RCX_LANES=$lanes "$main" kill >"$out" 2>"$err" </dev/null
    ! grep -v '^rcxrun: rank 2 (pid [0-9]*) killed by signal 9' "$err" && [ ! -s "$out" ]
    ok $? "a neighbour that is killed is an error on the others, RCX_LANES=$lanes"
done
run 0 "$rcxrun" -n 2 "$main" count && [ ! -s "$out" ] && is_silent
ok $? "counts that differ are a mismatch where the message arrives"
run 0 "$rcxrun" -n 2 -x RCX_CHECK=full "$main" count && [ ! -s "$out" ] && is_silent
ok $? "and before data moves where calls are compared"
end_tests
