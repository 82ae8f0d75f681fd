#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of rcx_perf and rcx_info. Usage: test_tools.sh RCXRUN RCX_PERF RCX_INFO

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN RCX_PERF RCX_INFO" "$@"
rcxrun=$(realpath "$1")
perf=$(realpath "$2")
info=$(realpath "$3")

# perf STATUS RANKS OPTIONS: a short run of rcx_perf, on $nodes nodes as ranks
# are told.
perf() {
    local status=$1 ranks=$2
    shift 2
    run "$status" "$rcxrun" --timeout 300 -n "$ranks" --nodes "${nodes-1}" "$perf" --iters 3 \
        --warmup 2 "$@"
}

lines() { [ "$(grep -c -e "$1" "$out")" -eq "$2" ]; }
prints() { grep -q -e "$1" "$out"; }
says() { grep -q -e "$1" "$err"; }
narrow() { ! grep -v '^  RCX_SHM=' "$out" | grep -m 1 '.\{81\}' | sed 's/^/# wide: /' | grep .; }
clean() { is_silent && ! prints WRONG; }

# --- rcx_perf: results ---

for n in 1 2 3 5; do
    perf 0 $n --check=5 --factor 8 && clean && narrow && lines '  ok$' 7
    ok $? "allreduce is checked on $n ranks, and stderr stays empty"
done

# Collectives by their properties.
irregular="reduce_scatter gatherv scatterv allgatherv alltoallv allreduce_many"
blocks="reduce_scatter_block $irregular gather scatter allgather alltoall"
rooted="reduce bcast gather gatherv scatter scatterv"
in_place="allreduce reduce $blocks scan exscan"
data="$in_place bcast"

# has COLLECTIVE LIST: COLLECTIVE is in LIST
has() { [[ " $2 " = *" $1 "* ]]; }

# forms COLLECTIVE: options of jobs; a run without options uses the blocking
# form
forms() {
    local place= uneven=
    has "$1" "$in_place" && place=--in-place
    has "$1" "$irregular" && uneven=--uneven
    printf '%s\n' "--nonblocking $uneven" "--persistent $place $uneven"
}

bad=0
for coll in $data; do
    while read -r options; do
        # shellcheck disable=SC2086 # words
        perf 0 3 --coll $coll --mode loop $options --check=4 --min 0 --max 20K \
            --factor 31 && clean && narrow && lines '  ok$' 4 || wrong
    done < <(forms "$coll")
done
ok $bad "every collective works in every form, in place and not, with blocks of all lengths"

bad=0
for options in "" --gaps "--gaps --in-place --persistent" "--uneven --nonblocking --vectors 7" "--vectors 1 --algo ring"; do
    # shellcheck disable=SC2086 # words
    perf 0 3 --coll allreduce_many $options --check=4 --max 20K --factor 31 && clean && narrow && lines '  ok$' 3 || wrong
done
perf 0 3 --coll allreduce_many --vectors 7 --gaps --max 8 && prints 'allreduce_many of 7 vectors of float64, sum;' \
    && prints ', gaps;' && prints '^ *8 *1 ' && prints 'bytes, count: of a vector\.' || wrong
perf 0 3 --coll gatherv --gaps --check=4 --max 4K --factor 64 && clean && prints ', gaps;' && lines '  ok$' 2 || wrong
ok $bad "vectors of a list are reduced as one, in a row or with gaps, and sizes are of each"

bad=0
for options in "" "--mode loop" --nonblocking "--nonblocking --vectors 9" "--persistent --vectors 9 --mode loop"; do
    for n in 2 4; do
        # shellcheck disable=SC2086 # words
        perf 0 $n --coll sendrecv $options --check=4 --min 0 --max 600K --factor 31 && clean && narrow \
            && lines ' message .*  ok$' 5 || wrong
    done
done
prints 'sendrecv of float64, 9 at once; 4 ranks' && prints 'bytes, count: of a message\.' \
    && prints '^# Times are per message' || wrong
perf 2 3 --coll sendrecv && says 'needs an even number of ranks, and has 3' && lines . 0 || wrong
ok $bad "messages go to and fro, one or several at once, in every form"

# Each message goes there and back. rcx_perf reports the time of one message one
# way, so the times of all messages fit into the program's time.
took() {
    local -r begin=$(date +%s%N)
    run 0 "$rcxrun" -n 2 "$perf" --coll sendrecv --persistent --vectors 50 --mode loop --json --iters 200 --min 64K --max 64K \
        --warmup 0 && echo $(($(date +%s%N) - begin))
}
ns=$(took) && us=$(sed -n 's/.*"mean_us": \([0-9]*\)\..*/\1/p' "$out") && [ "$us" -gt 0 ] && [ $((us * 1000 * 200 * 100)) -lt "$ns" ] \
    && prints '"vectors": 50,'
ok $? "the time of a message is that of one way of one"

bad=0
root=0
for coll in $rooted; do
    root=$(((root + 1) % 5))
    perf 0 5 --coll "$coll" --root $root --check=4 --max 4K --factor 64 \
        && clean && prints "\(to\|from\) rank $root;" && lines '  ok$' 2 || wrong
done
ok $bad "rooted ones do for any root"

bad=0
for form in "" --nonblocking --persistent; do
    # shellcheck disable=SC2086 # words
    perf 0 3 --coll barrier $form --check && clean && narrow && lines '^ *0 *0 ' 1 \
        && prints '  -$' && ! prints 'all ok' || wrong
done
ok $bad "a barrier is timed, and has nothing to check"

perf 0 3 --coll allgather --min 8 --max 8 && prints '^ *8 *1 ' && prints 'bytes, count: of a block\.' \
    && perf 0 3 --coll scan --min 8 --max 8 && prints '^ *8 *1 ' && prints 'bytes, count: of the vector\.'
ok $? "sizes are of a block where there are blocks, and the table says so"

# Each legal pair of op and type that rcx_info lists, in a single process; in a
# job, one op for each type.
"$info" --types >"$scratch/types" 2>"$err"
# x: defined; ~: defined, with rounding; .: not defined, but another type has
# the op
awk '$2 ~ /^[0-9]+$/ { types[$1]
         for (i = 3; i <= NF; i++) {
             mark = sub(/~$/, "", $i) ? "~" : "x"
             ops[$i]; marks[$1, $i] = mark
         } }
     END { for (type in types) for (op in ops)
         print type, op, (type, op) in marks ? marks[type, op] : "." }' \
    "$scratch/types" >"$scratch/pairs"
[ "$(wc -l <"$scratch/pairs")" -eq 684 ] && [ "$(grep -c ' [x~]$' "$scratch/pairs")" -gt 200 ]
ok $? "rcx_info lists all pairs of ops and types"

bad=0
while read -r type op mark; do
    want=0
    [ "$mark" = . ] && want=2
    run $want "$perf" --type "$type" --op "$op" --check=2 --max 64 --factor 8 \
        --iters 1 --warmup 0 || wrong
done <"$scratch/pairs"
ok $bad "every type and op of rcx_info is one of rcx_perf, legal or not"

bad=0
while read -r type op; do
    perf 0 3 --type "$type" --op "$op" --check=4 --max 1K --factor 16 --min 0 \
        && clean || wrong
done <<'EOF'
int8 max
uint16 sum
int64 prod
float16 sum
float16 avg
bfloat16 prod
bfloat16 avg
float32 avg
long_double min
complex_float prod
complex_double sum
complex_long_double avg
bool lxor
byte bxor
uint32 land
uint8 lor
short band
unsigned_long bor
float_int maxloc
long_double_int minloc
exact_float32 sum
exact_float64 sum
short_int maxloc
2int replace
double no_op
double sum_exact
float avg_exact
float sum_exact
float16 avg_float
bfloat16 sum_float
EOF
ok $bad "ops and types of every kind are checked on three ranks"

bad=0
for algo in $("$info" --algorithms | awk '/^  [a-z]/ { use = $1 == "allreduce" } use && /^    [a-z]/ { print $1 }'); do
    nodes=2 perf 0 3 --algo "$algo" --check=3 --factor 64 --max 40K && clean && prints " $algo" || wrong
done
ok $bad "every algorithm that rcx_info lists for allreduce can be named"

# algorithms COLLECTIVE: the algorithms that rcx_info lists
algorithms() {
    "$info" --algorithms | awk -v coll="$1" '/^  [a-z]/ { use = $1 == coll } use && /^    [a-z]/ { print $1 }'
}

bad=0
for coll in allreduce reduce reduce_scatter_block bcast gatherv scatter allgather alltoall alltoallv scan exscan; do
    nodes=2 perf 0 4 --coll $coll --algo all --check=2 --min 24 --max 24 && clean || wrong
    awk '/^ *24 *3 / { sub(/:.*/, "", $3); print $3 }' "$out" | sort >"$scratch/run"
    name=${coll%_block}
    algorithms "${name/gatherv/gather}" | sort >"$scratch/listed"
    [ -s "$scratch/listed" ] && diff "$scratch/run" "$scratch/listed" || wrong
    lines '^# *bytes ' 1 || wrong
done
ok $bad "--algo all runs every algorithm that rcx_info lists, into one table"

algorithms reduce_scatter | sort >"$scratch/run"
nodes=2 perf 0 3 --coll reduce_scatter_block --algo all --json --min 24 --max 24 && lines '"bytes": ' "$(wc -l <"$scratch/run")" \
    && { ! command -v python3 >/dev/null || python3 -m json.tool "$out" >/dev/null; }
ok $? "--algo all gives one object in JSON"

run 0 env RCX_ORDER=canonical "$rcxrun" -n 3 "$perf" --algo all --iters 1 --min 24 --max 24 && is_silent \
    && prints ' recursive_doubling ' && ! prints ' ring '
ok $? "--algo all leaves out what does not fit"

perf 2 3 --algo all --op maxloc && says 'op maxloc is not defined on datatype float64' && lines . 0 \
    && [ "$(grep -c 'maxloc' "$err")" -eq 1 ]
ok $? "where no algorithm fits, the reason is logged once"

perf 0 3 --algo ring:segment=4K --check=3 --min 64K --max 64K && clean && prints ' ring:segment=4096'
ok $? "the table names the method of each row"

# A row for each algorithm without segments, and one for each segment length
# that cuts the vector.
nodes=2 perf 0 3 --coll reduce --algo all --segments 0,1K,64K --check=2 --min 4K --max 4K && clean \
    && prints '^# *bytes *count collective *algorithm *parameters *segment *median'
bad=$?
for segment in - 1024; do
    awk -v segment=$segment '$1 == 4096 && $3 == "reduce" && $6 == segment { print $4 }' "$out" |
        sort >"$scratch/run"
    algorithms reduce | sort >"$scratch/listed"
    diff "$scratch/run" "$scratch/listed" || wrong
done
! prints 65536 || wrong
grep -q 'tree .*=.* 1024 ' "$out" || wrong
ok $bad "--segments gives a row for collective, algorithm, parameters and segment"

perf 0 3 --coll alltoall --sample report-to-root --check=2 --max 1K --factor 128 && clean && narrow \
    && prints ' least *mean *sd *most *MB/s' && lines '  ok$' 2
bad=$?
# least <= mean <= most, and no deviation exceeds their difference
awk '/^ *[0-9].* ok$/ && !($4 <= $5 && $5 <= $7 && $6 >= 0 && $6 <= $7 - $4 + .02) { bad = 1 }
     END { exit bad }' "$out" || wrong
perf 0 3 --coll gather --algo linear --mode report-to-root --csv --max 8 \
    && prints ',least_us,mean_us,sd_us,most_us,mb_per_s,' && lines ',report-to-root,8,1,"linear",3,' 1 || wrong
perf 0 3 --mode report-to-root --json --max 8 && prints '"least_us": .*"mean_us": .*"sd_us": .*"most_us": ' || wrong
ok $bad "--sample report-to-root gives least, mean, deviation and largest"

bad=0
for coll in allreduce reduce_scatter scan gatherv alltoall; do
    perf 0 3 --coll $coll --type struct --check=4 --max 4K --factor 32 && clean && prints ' of struct' \
        && lines '^ *16 *1 .*  ok$' 1 && lines '  ok$' 2 || wrong
done
perf 0 3 --type struct --op replace --check=4 --max 4K --factor 64 && clean && prints ' of struct, replace' || wrong
perf 2 3 --type struct --op sum && says 'op sum is not defined on datatype' || wrong
ok $bad "a struct with an op of the user's is among the types"

# --- rcx_perf: errors that --check finds ---

bad=0
types=(uint8 float64 struct float16)
for coll in $data; do
    types=("${types[@]:1}" "${types[0]}")
    has "$coll" "$irregular" && options=--uneven || options=
    # shellcheck disable=SC2086 # words
    perf 1 3 --coll "$coll" --type "${types[0]}" $options --check=3 --inject --max 512 --factor 32 \
        && lines '  WRONG$' 2 && prints 'WRONG RESULTS' \
        && says 'rank [0-2]: .* element [0-9]*: expected .*, got ' || wrong
done
for n in 2 4; do
    perf 1 $n --coll sendrecv --nonblocking --vectors 3 --check=3 --inject --max 512 --factor 32 \
        && lines '  WRONG$' 2 && says "rank $((n - 1)): sendrecv .* element 0: expected .*, got " || wrong
done
ok $bad "an injected wrong element is found, and fails the run"

run 1 "$perf" --check --inject --max 8 --iters 1
ok $? "it is in a single process, too"

perf 1 3 --check=3 --inject --max 8 --json && prints '"ok": false'
ok $? "programs learn of it in JSON"

# --- rcx_perf: output ---

perf 0 2 --csv --check=2 --max 64 && is_silent && lines '^coll,' 1 \
    && lines '^allreduce,float64,sum,0,2,blocking,0,sync,[0-9]*,[0-9]*,"recursive_doubling",3,.*,ok,1$' 4 && lines . 5
ok $? "--csv prints one line of names and one for each size"

perf 0 2 --json --max 64 && is_silent && lines '"bytes": ' 4 && lines '"ok": null' 4 \
    && { ! command -v python3 >/dev/null || python3 -m json.tool "$out" >/dev/null; }
ok $? "--json prints one object"

# init_bytes N: memory that rcx_init() takes with N ranks
init_bytes() {
    perf 0 "$1" --json --max 8 && sed -n 's/.*"init_bytes": \([0-9]*\),/\1/p' "$out"
}
few=$(init_bytes 2) && many=$(init_bytes 16) && [ "$few" -gt 0 ] \
    && [ "$many" -le $((8 * few)) ]
need=28
ok $? "memory after rcx_init grows no worse than linearly"
need=

perf 0 2 --max 64 --factor 8 && lines '  -$' 2 && prints 'fewer than 100 iterations (3 at least)'
ok $? "rows that are not checked are marked, and a p99 of few iterations is"

perf 0 2 --min 1 --max 64 && lines '  -$' 4
ok $? "sizes of the same count are one row"

# --- rcx_perf: wrong usage ---

bad=0
for options in "--what" "--coll alltoallw" "--type float63" "--op add" "--min x" "--max 1X" "--factor 1" "--iters 0" \
    "--mode fast" "--check=0" "--root 1" "--inject" "--nonblocking --persistent" "--csv --json" "--coll barier" "--min 64 --max 8" "--time 0" "more" \
    "--uneven" "--segments 4K" "--algo all --segments 4X" "--algo all --segments 1,,2" "--sample slow" "--op user" \
    "--coll barrier --check --inject" "--coll bcast --in-place" "--coll gather --op max" "--coll scan --root 1" \
    "--vectors 2" "--gaps" "--coll gather --gaps" "--coll reduce_scatter --gaps" "--coll allreduce_many --vectors 0" \
    "--coll sendrecv --vectors 2" "--coll sendrecv --algo all" "--coll sendrecv --algo pairwise" "--coll sendrecv --in-place" \
    "--coll sendrecv --mode report-to-root" "--coll sendrecv --uneven" "--coll sendrecv --root 1" "--coll sendrecv --op max"; do
    # shellcheck disable=SC2086 # words
    run 2 "$rcxrun" -n 3 "$perf" $options && [ ! -s "$out" ] && [ "$(grep -c -v '^rcxrun:' "$err")" -eq 1 ] || wrong
done
ok $bad "wrong options give 2 and one message for all ranks"
# shellcheck disable=SC2016 # the ranks' shells expand it
run 2 "$rcxrun" -n 3 sh -c '[ "$PMIX_RANK" != 0 ] || sleep 1; exec "$0" --what' "$perf" && [ "$(grep -c "'--what'" "$err")" -eq 1 ]
ok $? "the message is there if rank 0 is late"

run 2 "$perf" --csv --json && says '^rcx_perf: --csv and --json exclude each other' \
    && run 2 "$perf" --coll every && says 'every: needs one of allreduce, allreduce_many, reduce, .*, bcast, .*, exscan, sendrecv'
ok $? "two outputs, and a collective that is none, are refused with what there is"

run 2 "$perf" --op add && says 'one of max, min, sum, prod, .*, avg' && run 2 "$perf" --type no && says ' float16, '
ok $? "an unknown name lists the known ones"

# means OPTIONS WORD
means() { run 2 "$perf" $1 && says "; did you mean $2? (try rcx_perf --help)$"; }
means "--coll reduc" reduce && means "--type flaot64" float64 && means "--op summ" sum && means "--mode snyc" sync \
    && run 2 "$perf" --op xyzzy && ! says 'did you mean'
ok $? "one that is nearly right is guessed"

perf 2 3 --algo recursive_doublin && says '; did you mean recursive_doubling?' \
    && perf 2 3 --algo ring:segmnet=8 && says '; did you mean segment?'
ok $? "an algorithm and a parameter are guessed by the library"

perf 2 3 --algo nothing && says 'RCX_ALLREDUCE=nothing: .*recursive_doubling' && lines . 0
ok $? "an unknown algorithm is the library's error, and lists the known ones"

perf 2 3 --op maxloc && says 'op maxloc is not defined on datatype float64' && lines . 0 \
    && [ "$(grep -c 'maxloc' "$err")" -eq 1 ]
ok $? "an op that the type has not is the library's error, logged once"

perf 2 3 --coll reduce --root 3 && says 'root=3: needs 0..2'
ok $? "a root that is no rank is the library's error"

run 0 "$rcxrun" -n 2 "$perf" --help && lines '^Usage: ' 1 && narrow && run 0 "$perf" --version && prints '^rcx_perf (RCX) '
ok $? "rcx_perf has --help and --version"

# --- rcx_info ---

run 0 "$info" --all && is_silent && narrow && prints '^RCX [0-9]' && prints 'baseline  *available' \
    && prints '^Environment variables' && prints '^Ops and types' && prints '^Algorithms' && prints '^Machine' && ! prints '^Bootstraps'
ok $? "rcx_info --all prints all but the launcher"

run 0 env RCX_ORDER=rank "$info" && is_silent && narrow && [ "$(wc -l <"$out")" -lt 30 ] && prints '^RCX [0-9]' \
    && prints '^\* RCX_ORDER  *rank  *(default auto)' && ! prints '^. RCX_ISA' && prints 'rcx_info --help'
ok $? "rcx_info alone prints a page: the build, and the variables that are set"

bad=0
for option in --build --config --types --algorithms --launch; do
    run 0 "$info" $option && is_silent && [ "$(grep -c '^[A-Z]' "$out")" -eq 1 ] && narrow || wrong
done
ok $bad "each option prints its section alone"

run 0 "$info" --machine --ranks 3 && is_silent && narrow && lines '^Machine$' 1 && lines '^Figures, ' 1 \
    && prints '^  this process  *cpus [0-9]' && prints '^  process_vm_readv  *a call [0-9]* ns' \
    && lines '^Decided for 3 ranks on [0-9]* cores*$' 1 && lines '^  RCX_SHM=ring=' 1 && ! prints '(set)' \
    && decided=$(sed -n 's/^  RCX_SHM=//p' "$out") && run 0 env RCX_SHM="$decided" "$info" --machine --ranks 3 \
    && is_silent && lines "^  RCX_SHM=$decided\$" 1 && lines '(set)$' 8
ok $? "rcx_info --machine prints places, figures, and what is decided, as RCX_SHM takes it"

run 0 env RCX_ORDER=rank RCX_UCX_TLS=self "$info" -c && is_silent && lines '^\* ' 2 \
    && prints '^\* RCX_ORDER  *rank  *(set by the environment; default auto)' && prints '^\* RCX_UCX_TLS  *self  *(set)'
ok $? "variables that are set are marked"

run 1 env RCX_ISA=abacus "$info" && prints '^! RCX_ISA  *abacus  *(NOT VALID; default auto)' \
    && says '^rcx error: RCX_ISA=abacus: valid is ' && run 1 env RCX_ISA=abacus "$info" --all && lines '^! ' 1 && prints '^! RCX_ISA  *abacus  *(NOT VALID; default auto)' \
    && prints '^Algorithms' && says '^rcx error: RCX_ISA=abacus: valid is '
ok $? "a value that is not valid is reported, and the rest is printed"

left_out=$("$info" --algorithms | sed -n '/^  Not in this build/,$ s/^ *allreduce_//p' | head -n 1)
if [ "$left_out" ]; then
    run 1 env RCX_ALLREDUCE="$left_out" "$info" --build \
        && says "RCX_ALLREDUCE=$left_out: $left_out of allreduce is not in this build of RCX; .*-Dalgorithms=all adds it"
else
    run 0 env RCX_ALLREDUCE=swing "$info" --build && is_silent
fi
ok $? "an algorithm that only -Dalgorithms=all builds is there, or the error names the option"

run 0 env RCX_NO_SUCH=1 "$info" && says 'RCX_NO_SUCH: no such variable'
ok $? "an unknown RCX variable is reported"

run 0 env RCX_ISA=baseline "$info" --build && prints 'baseline  *available, in use' && lines 'in use' 1
ok $? "the instruction set that the environment chose is in use"

run 0 "$rcxrun" -n 2 "$info" --launch && is_silent && lines 'job size  *2' 2 && lines 'server  *answers' 2
ok $? "--launch prints what the launcher says"

run 0 "$rcxrun" -n 3 "$info" --launch && is_silent && lines '^ *rank [0-2]  *mapped memory$' 6 \
    && run 0 "$rcxrun" -n 2 -x RCX_LANES=ucp "$info" --launch && is_silent \
    && lines "^ *rank [01]  *UCX's messages: RCX_LANES=ucp$" 2 \
    && run 0 "$rcxrun" -n 2 -x RCX_ERR_MODE=peer "$info" --launch && is_silent \
    && lines '^ *rank [01]  *mapped memory$' 2
ok $? "--launch prints the lane to each rank, and the reason"

run 0 "$info" --launch && prints 'server  *none'
ok $? "--launch finds no launcher where there is none"

run 2 "$info" --what && run 2 "$info" more && run 0 "$info" --help && prints '^Usage: ' \
    && run 0 "$info" --version && prints '^rcx_info (RCX) ' && run 0 "$info" -V && prints '^rcx_info (RCX) '
ok $? "rcx_info has --help and --version, and refuses the rest"

# --- a full disk ---

bad=0
# shellcheck disable=SC2016 # sh expands them
for tool in '"$0"' '"$0" --help' '"$1" --max 64 --time 0.01' '"$1" --max 64 --time 0.01 --json' '"$1" --version' '"$2" --help'; do
    run 1 sh -c "$tool >/dev/full" "$info" "$perf" "$rcxrun" && says '^rc[x_a-z]*: its output could not be written$' && [ "$(wc -l <"$err")" -eq 1 ] || wrong
done
ok $bad "a tool that cannot write its output fails, and says so"

end_tests
