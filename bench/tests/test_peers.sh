#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Which peer libraries a build of bench_peers finds, and that each runs every
# collective that it has. Usage: test_peers.sh SOURCE_DIR BUILD_DIR RCXRUN

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/support/tap.sh"
takes "SOURCE_DIR BUILD_DIR RCXRUN" "$@"
source=$(realpath "$1")
build=$(realpath "$2")
rcxrun=$3
cd "$scratch" || exit 2

# --- peers in folders of their own ---

# bench OPTION...: a short run of allreduce; run calls it
# shellcheck disable=SC2317
bench() { "$source/bench_peers" --build "$build" -p 2 --sizes 64 --rounds 1 --time 0.001 "$@"; }

mkdir -p empty/lib ucc/include/ucc/api ucc/lib
echo 'int ucc_finalize(void);' >ucc/include/ucc/api/ucc.h
run 2 bench --prefix "none=$scratch/empty" && grep -q "has neither Open MPI, MPICH, Gloo nor UCC" "$err" \
    && run 2 bench --prefix "$scratch/ucc" && grep -q "is not NAME=FOLDER" "$err" \
    && run 2 bench --prefix "ucc=$scratch/ucc" && grep -q "there is a library 'ucc' already" "$err" \
    && run 2 bench --prefix "old-ucc=$scratch/ucc" --peers old-ucc && grep -q "old-ucc in .* does not compile" "$err"
ok $? "a folder without a peer is an error, and one whose program does not compile is told"

# Debian's libraries, in a folder each
mkdir -p gloo/include gloo/lib mpi/bin
ln -s /usr/include/gloo gloo/include/gloo
ln -s /usr/lib/libgloo.so gloo/lib/libgloo.so
for name in mpicc mpirun ompi_info; do
    ln -s "$(command -v "$name.openmpi" || echo /none)" "mpi/bin/$name"
done
bad=0
if [ -e gloo/include/gloo/allreduce.h ]; then
    run 0 bench --prefix "other-gloo=$scratch/gloo" --peers other-gloo --csv times.csv && ! grep -q Incomplete "$out" \
        && grep -q '^2,allreduce,64,rcx,,0,[0-9.e-]*$' times.csv && grep -q '^2,allreduce,64,other-gloo,,0,[0-9.e-]*$' times.csv || wrong
fi
ok $bad "a Gloo that is installed in a folder of its own is one more peer, and every time is written"

if [ -e mpi/bin/ompi_info ]; then
    run 0 bench --prefix "other=$scratch/mpi" --peers other --csv times.csv && ! grep -q Incomplete "$out" \
        && [ "$(sed -n 's/^2,allreduce,64,other,\(.*\),0,.*/\1/p' times.csv | sort | xargs)" = "han ucx" ] \
        && grep -q '^2,allreduce,64,other,,0,' times.csv || wrong
fi
ok $bad "so is an Open MPI, with a setting for each component that it has"

# --- runs ---

# lacking PEER [LINES]: print the collectives of PEER without a time at one of
# the sizes, from tables with lines | bytes | RCX | peer ... |
lacking() {
    awk -F ' *[|] *' -v peer="$1" -v all="${2:-35}" '
        /^p = / { sub(/^[^:]*: /, ""); sub(/[,;].*/, ""); coll = $0 }
        $2 == "bytes" { for (i = 3; $i != peer && i <= NF; i++); at = i }
        $2 ~ /^[0-9]+$/ && at <= NF { split($at, cell, " "); lines++
            if (cell[1] !~ /^[0-9.e+]+$/ && !(coll in told)) { told[coll]; printf "%s ", coll } }
        END { if (lines && lines != all) print lines " lines" }' "$out"
}

# lacks PEER LIST [LINES]: PEER lacks exactly these
lacks() { [ "$(lacking "$1" "${3-}")" = "${2:+$2 }" ]; }

# a barrier has one line, the other collectives two
run 0 "$source/bench_peers" --build "$build" -p 2 --colls all --sizes "8 65536" --rounds 1 --time 0.002 --markdown \
    && ! grep -q Incomplete "$out" && [ "$(grep -c '^| bytes' "$out")" -eq 18 ] && lacks RCX ""
ok $? "bench_peers runs every collective of RCX, and nothing fails"

lacks "RCX memory" "" && lacks limit "reduce_scatter reduce_scatter_block gather gatherv scatter scatterv \
allgatherv alltoallv scan exscan allreduce_many sendrecv"
ok $? "so does RCX with buffers of its own; the limit has six collectives"

# operands in a cache line, read in place, and in slices
run 0 "$build/bench_limit" -n 3 --coll allreduce,reduce,barrier,bcast,allgather,alltoall --sizes 8,512,262144 \
    --time 0.001 && [ "$(grep -c '^[0-9]' "$out")" -eq 16 ]
ok $? "the limit is right on three ranks"

bad=0
for peer in "Open MPI" "Open MPI ucx" MPICH; do
    lacks "$peer" "" || wrong
done
ok $bad "MPI runs all of them, where it is installed"

gloo="gatherv scatterv scan exscan"
lacks Gloo "" || lacks Gloo "$gloo" || lacks Gloo "${gloo/gatherv /}"
bad=$?
lacks UCC "" || lacks UCC "scatter scan exscan sendrecv" || wrong
ok $bad "Gloo and UCC run the collectives that they have, and are left out of the others"

# blocks of 2, 6, 2 elements; results are compared element by element
run 0 "$source/bench_peers" --build "$build" -p 3 --colls "reduce_scatter gatherv scatterv allgatherv alltoallv sendrecv" \
    --sizes 16 --rounds 1 --time 0.001 --markdown --uneven && ! grep -q Incomplete "$out" \
    && [ "$(grep -c '^p = 3, .*, uneven;' "$out")" -eq 5 ]
bad=$?
for peer in RCX "Open MPI" "Open MPI ucx" MPICH; do
    lacks "$peer" "sendrecv" 6 || lacks "$peer" "" 6 || wrong
done
lacks RCX "sendrecv" 6 || wrong
ok $bad "blocks may have several lengths, and messages need an even number of ranks"

run 0 "$source/bench_peers" --build "$build" -p 4 --colls "allreduce_many sendrecv" --sizes 16 --rounds 1 --time 0.001 \
    --markdown --vectors 3 && ! grep -q Incomplete "$out" && lacks RCX "" 2 && grep -q '^p = 4, .*: allreduce_many, .*, 3 vectors;' "$out" \
    && run 2 "$source/bench_peers" --build "$build" --vectors 65
ok $? "as many vectors as wanted are reduced as one"

run 0 "$rcxrun" -n 2 "$build/bench_rcx" --coll scan --sizes 8 --time 0.002 \
    && grep -q '^8 2 [0-9]* ' "$out" && run 2 "$rcxrun" -n 2 "$build/bench_rcx" --coll scam \
    && run 2 "$source/bench_peers" --build "$build" --colls scam && grep -q "colls.*'scam'" "$err"
ok $? "a collective is named, and one that is none is refused"

# three blocks of 16 bytes are within 48, of 64 are not
run 0 "$rcxrun" -n 3 "$build/bench_rcx" --coll alltoall,sendrecv,alltoallv,allreduce --sizes 16,64 \
    --total 48 --uneven --time 0.001 \
    && [ "$(sed -E 's/^([0-9]+) .*/\1/; /^# (version|ranks|cores)/d' "$out" | xargs)" \
        = "# coll alltoall 16 # lacks sendrecv # coll alltoallv 16 # coll allreduce 16 64" ]
ok $? "several collectives are measured in one run, and sizes of too many bytes are left out"

# most of about 18 algorithms are measured and priced
run 0 "$source/bench_model" --build "$build" -p 3 --sizes 64 --rounds 1 --time 0.001 --factor 0 --times times \
    && grep -q '^p = 3: alpha [0-9.e-]* us, ' "$out" \
    && grep -Eq '^\| 64 \| [a-z_]+ \| [0-9.]+ \| [0-9.]+ \| [a-z_]+ [0-9.]+ \| [0-9]+ of [0-9]{3} \|$' "$out" \
    && [ "$(grep -c '^3,64,choice,' times)" -eq 1 ] && [ "$(grep -c '^3,64,[a-z_]*,[0-9.]*$' times)" -gt 12 ]
ok $? "bench_model holds the model against what is measured"

run 0 "$source/bench_peers" --build "$build" -p 2 --sizes 8 --rounds 2 --time 0.001 --peers limit --states \
    && ! grep -vE '^p = 2.*, cores [0-9]+ ns apart: RCX in [1-9][0-9]* of 2$' "$out" | grep -q '^p = 2' \
    && PYTHONPATH="$source/src" python3 -B - <<'END'
import report, states
s = states.States([70, 310, 72, None, 300, 95, 71])
assert s.names == ["72 ns", "305 ns"], s.names
assert [s.of(70, 90), s.of(310, 300), s.of(72, 300), s.of(70, None)] == [0, 1, None, None]
times = report.Times()
times.probes = {0: (70, 72), 1: (71, 300), 2: (310, 300)}
for turn in times.probes:
    times.add(8, turn, 1.0 + turn)
assert [states.within(times, s, n).seconds for n in (0, 1)] == [{8: {0: 1.0}}, {8: {2: 3.0}}]
END
ok $? "bench_peers has a table for each state of the cores, of the runs within it"

run 0 "$source/bench_first" --build "$build" --starts 1 --bytes 64 \
    && [ "$(grep -cE '^this machine,2,64,RCX,[0-9]+,[0-9.e+]+,[0-9-]+$' "$out")" -eq 9 ] \
    && "$source/plot_results" "$out" | grep -q '<polyline'
ok $? "bench_first times the first calls, and they are drawn"

end_tests
