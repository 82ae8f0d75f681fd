#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The network between nodes is measured when a context opens, and chooses the
# methods of calls whose results it cannot change.
# Usage: test_network.sh RCXRUN NETWORK_MAIN WITH_CLUSTER

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN NETWORK_MAIN WITH_CLUSTER" "$@"
rcxrun=$1
main=$2
cluster=$3
within 120

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s auto\n' allreduce bcast >"$folder/rules"
nodes=("$rcxrun" -n 4 --nodes 4 -x RCX_TUNING="$folder/rules")

says() { grep -q -e "$1" "$err"; }
prints() { grep -qx -e "$1" "$out"; }
measured='^rcx info: \[0\] the network between ranks 0 and 1: far-alpha=[0-9.e+]*us,far-beta=[0-9.e+]*ns,far-tell=[0-9.e+]*us, measured in'

run 0 "${nodes[@]}" -x RCX_LOG=info "$main" methods && [ "$(grep -c "$measured" "$err")" -eq 1 ] \
    && [ "$(grep -c 'the network between' "$err")" -eq 1 ]
ok $? "the network is measured where there are several nodes, and rank 0 says so"
run 0 "$rcxrun" -n 4 -x RCX_LOG=info "$main" methods && ! says 'the network between'
ok $? "on one node there is none"
run 0 "${nodes[@]}" -x RCX_LOG=info -x RCX_MACHINE=usual "$main" methods && ! says 'the network between'
ok $? "RCX_MACHINE=usual: it is not measured"
{ echo 'machine far-alpha=3us' && cat "$folder/rules"; } >"$folder/machine"
run 0 "${nodes[@]}" -x RCX_LOG=info -x RCX_TUNING="$folder/machine" "$main" methods && ! says 'the network between'
ok $? "nor where a file of rules has a machine"

far=far-alpha=900us,far-beta=0.01ns
slow=far-alpha=1us,far-beta=900ns
run 0 "${nodes[@]}" -x RCX_MACHINE=$far "$main" methods && is_silent && cp "$out" "$folder/far" \
    && run 0 "${nodes[@]}" -x RCX_MACHINE=$slow "$main" methods && is_silent && cp "$out" "$folder/slow" \
    && [ "$(diff "$folder/far" "$folder/slow" | grep -c '^<')" -eq 4 ]
ok $? "RCX_MACHINE sets the prices of all calls"
run 0 "${nodes[@]}" -x RCX_TUNING="$folder/machine" -x RCX_MACHINE=$slow "$main" methods && cmp -s "$out" "$folder/slow"
ok $? "and comes before the machine of a file"
run 1 "${nodes[@]}" -x RCX_MACHINE=far-alpha=1 "$main" methods && says 'RCX_MACHINE=far-alpha=1: machine: valid are alpha' \
    && run 1 "${nodes[@]}" -x RCX_MACHINE=far-gama=1us "$main" methods && says 'RCX_MACHINE=far-gama=1us: '
ok $? "what is not valid is an error"

# A death while a context opens: no rank waits for ever, and those that go on have
# the same methods. A rank that dies before it has published its address is
# missed at the deadline.
for rank in 0 1 3; do
    for ms in 40 60 80 100 120; do
        run 137 "${nodes[@]}" -x RCX_TIMEOUT=10s --keep-going "$main" dies $rank $ms
        bad=$?
        [ $bad -eq 0 ] || break
    done
    sentence="rank $rank dies while contexts open"
    if [ $bad -ne 0 ] && aborted_while_connecting; then
        known "an assertion of UCX 1.13 ended a rank" "$sentence, after $ms ms"
    else
        ok $bad "$sentence"
    fi
done

# on RATE COMMAND...: on four emulated nodes
on() {
    run 0 "$cluster" 4 "$1" env RCX_TUNING="$folder/rules" RCX_LOG=info "${@:2}"
}
all=(srun -Q -N4 --ntasks-per-node=1 --mpi=pmix "$main" methods)
if "$cluster" 2 none true >"$folder/skipped" 2>&1; then
    on none "${all[@]}" && says "$measured" && cp "$out" "$folder/fast" && on 10mbit "${all[@]}" && says "$measured" \
        && cp "$out" "$folder/slow"
    ok $? "the network of emulated nodes is measured"
    beta=$(sed -n 's/.*between ranks.*far-beta=\([0-9.e+]*\)ns,far-tell.*/\1/p' "$err")
    awk -v beta="$beta" 'BEGIN { exit !(beta >= 400 && beta <= 1700) }'
    ok $? "at 10 Mbit/s a byte takes 800 ns, within a factor of 2: $beta"
    cp "$folder/slow" "$out"
    float=$(sed -n 's/^float64 //p' "$folder/fast")
    prints "float64 $float" && ! prints "int64 $float" && ! prints "max $float" \
        && says 'reductions whose bits depend on the algorithm are chosen for far-alpha=20us,far-beta=8ns,far-tell=5us'
    ok $? "sums of floating-point numbers have one method on both, others that of the network, and the log says why"
    on 10mbit env RCX_ORDER=canonical "${all[@]}" && cp "$out" "$folder/slow" \
        && on 10mbit env RCX_ORDER=canonical RCX_MACHINE=usual "${all[@]}" && cp "$out" "$folder/usual" \
        && ! grep '^float64' "$folder/slow" | cmp -s - <(grep '^float64' "$folder/usual")
    ok $? "with RCX_ORDER=canonical any method has the same bits, and the network chooses"
    # Ranks 2 and 3 have no quorum; 0 and 1 have one if they find each other in time.
    # too_few RANK
    too_few() { says "^\[$1\] .*: rank $1 can reach too few members for a quorum (RCX_QUORUM); it cannot reach rank 0 on n1"; }
    # Slurm kills a job of which a process ends without PMIx_Finalize().
    "${bound[@]}" "$cluster" 2 none env RCX_LOG=info RCX_TIMEOUT=6s srun -Q -N2 --ntasks-per-node=2 --mpi=pmix "$main" cut 10.77.1.2 \
        >"$out" 2>"$err"
    [ "$(grep -c '^RCX_' "$out")" -eq 4 ] && too_few 2 && too_few 3 \
        && prints 'RCX_ERR_EXCLUDED: the other ranks go on without this one, or too few of them can be reached'
    status=$?
    sentence="ranks that are cut off while the network is measured do not say that others go on, and name those that they do not reach"
    if [ $status -ne 0 ] && aborted_while_connecting; then
        known "UCX cannot fail a connection that is being made" "$sentence"
    else
        ok $status "$sentence"
    fi
else
    skip "$(tail -n 1 "$folder/skipped")" "the network of emulated nodes is measured"
fi

end_tests
