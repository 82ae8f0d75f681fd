#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The choice of the method of a call: rules, rcx_tune, rcx_info --explain.
# Usage: test_tuning.sh RCXRUN RCX_PERF RCX_INFO RCX_TUNE RCX_SIM TUNING.MD

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN RCX_PERF RCX_INFO RCX_TUNE RCX_SIM TUNING.MD" "$@"
rcxrun=$(realpath "$1")
perf=$(realpath "$2")
info=$(realpath "$3")
tune=$(realpath "$4")
sim=$(realpath "$5")
guide=$(realpath "$6")
within 120

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
file=$folder/my.tuning
quick=(--max 4K --factor 64 --rounds 3 --time 100us)

prints() { grep -q -e "$1" "$out"; }
says() { grep -q -e "$1" "$err"; }
rules() { grep -v '^#' "$file"; }

# --- rules ---

printf '%s\n' '# mine' 'allreduce bytes=..1K tree' 'allreduce ranks=4 bytes=..1K ring' >"$file"
run 0 "$rcxrun" -n 3 -x RCX_TUNING="$file" "$perf" --iters 3 --min 8 --max 8 && is_silent && prints ' tree' \
    && run 0 "$rcxrun" -n 3 -x RCX_TUNING="$file" "$perf" --iters 3 --min 4K --max 4K && is_silent && ! prints ' tree' \
    && run 0 "$rcxrun" -n 3 -x RCX_TUNING="$file" -x RCX_ALLREDUCE=direct "$perf" --iters 3 --min 8 --max 8 \
    && prints ' direct'
ok $? "the first rule that fits a call decides, and a variable before it"

run 0 "$rcxrun" -n 4 --nodes 2 -x RCX_TUNING=<(echo) "$perf" --iters 3 --min 8 --max 8 && is_silent
ok $? "a file without rules is none"

printf 'allreduce tree\nalreduce ring\n' >"$file.wrong"
run 2 "$rcxrun" -n 3 -x RCX_TUNING="$file.wrong" "$perf" --iters 3 \
    && [ "$(grep -c 'line 2: "alreduce" is no collective.*did you mean allreduce' "$err")" -eq 1 ]
ok $? "a rule that is not valid is an error, logged once, with its line"

# shellcheck disable=SC2016
run 2 "$rcxrun" -n 3 bash -c '
    [ "$PMIX_RANK" = 1 ] && export RCX_TUNING='"$file"'
    exec "$0" --iters 3' "$perf" && says 'RCX_TUNING'
ok $? "rules that differ between ranks are an error"

sed -n '/^```/,/^```/p' "$guide" | grep -v '^```' >"$file.guide"
[ -s "$file.guide" ] && run 0 env RCX_TUNING="$file.guide" "$info" --explain alltoall -n 6 --bytes 64 && is_silent \
    && prints "bruck:radix=2, by the rule in line 5 of $file.guide"
ok $? "the example of docs/howto/tuning.md is valid"

# --- rcx_tune ---

rm "$file"
run 0 "$rcxrun" -n 3 "$tune" -o "$file" "${quick[@]}" && is_silent && prints '^# regret of '
ok $? "rcx_tune measures all collectives"
colls=$(rules | cut -d' ' -f1 | sort -u | tr '\n' ' ')
[ "$colls" = "allgather allreduce alltoall barrier bcast exscan gather reduce reduce_scatter scan scatter " ] \
    && ! rules | grep -v '^[a-z_]* ranks=3 nodes=1 per-node=3 '
ok $? "and writes rules for each"
run 0 "$rcxrun" -n 3 -x RCX_TUNING="$file" "$perf" --iters 3 --check && is_silent
ok $? "which RCX takes"

rules >"$folder/before"
run 0 "$rcxrun" -n 3 "$tune" -o "$file" "${quick[@]}" && [ "$(grep -c 'skipped, as the file has its rules' "$out")" -eq 11 ] \
    && rules | cmp - "$folder/before"
ok $? "collectives that the file has are not measured again"
run 0 "$rcxrun" -n 4 --nodes 2 "$tune" -o "$file" -c allreduce,barrier "${quick[@]}" \
    && rules | grep -v 'per-node=2\|^machine' | cmp - "$folder/before" \
    && [ "$(rules | grep -c '^barrier ranks=4 nodes=2 per-node=2 ')" -eq 1 ]
ok $? "rules for other jobs stay"
machine=$(head -n 1 "$file")
run 0 "$rcxrun" -n 4 --nodes 2 "$tune" -o "$file" -c allreduce --svg "$folder/map.svg" "${quick[@]}" \
    && grep -qxE 'machine far-alpha=[0-9.]+us far-beta=[0-9.]+ns far-tell=[0-9.]+us' <<<"$machine" \
    && [ "$(grep '^machine' "$file")" = "$machine" ]
ok $? "the file begins with what messages between nodes take"
method=$(sed -n 's/^allreduce ranks=4 nodes=2 per-node=2 \(bytes=[^ ]* \)*//p' "$file" | head -n 1)
grep -q ">allreduce<" "$folder/map.svg" && ! grep -q ">barrier<" "$folder/map.svg" \
    && grep -qE ">${method%%:*}(:[^<]*)?<" "$folder/map.svg"
ok $? "a picture has the methods of the file"
run 1 "$rcxrun" -n 2 "$tune" -c barrier --svg "$folder/no/such" "${quick[@]}" && says 'No such file'
ok $? "a picture that cannot be written is an error"
run 0 "$rcxrun" -n 3 "$tune" -o "$folder/variants" -c bcast --min 64K --max 64K --rounds 2 --time 100us --ratio 100 \
    --variants && is_silent && run 0 env RCX_TUNING="$folder/variants" "$info" --explain bcast -n 3 --bytes 64K \
    && prints "by the rule in line 1 of $folder/variants\\|by RCX's rule"
ok $? "parameters that are not the usual ones are tried, too"
# Values of parameters are chosen by prices, so rcx_sim has those of the run.
run 0 "$rcxrun" -n 4 --nodes 2 -x RCX_MACHINE=usual "$tune" --times "$folder/times" -c allgather,bcast "${quick[@]}" --min 16K --max 16K \
    && is_silent && head -n 1 "$folder/times" | grep -qxE 'machine far-alpha=[0-9.]+us far-beta=[0-9.]+ns far-tell=[0-9.]+us' \
    && grep -qE '^allgather 4 2 blocks [0-9]+ 16384 [0-9.]+ [a-z_]+$' "$folder/times" \
    && [ "$(grep -c ' 16384 ' "$folder/times")" -ge 10 ] \
    && { "$sim" regret --usual --times "$folder/times" || true; } | grep -q '^2 points, 0 without'
ok $? "all times are written for rcx_sim regret, also of blocks that are longer together than --max"
if command -v mpirun >/dev/null; then
    run 0 mpirun --allow-run-as-root --map-by :oversubscribe -n 2 "$tune" -o "$file" -c allreduce "${quick[@]}" \
        && [ "$(rules | grep -c '^allreduce ranks=2 nodes=1 per-node=2 ')" -ge 1 ]
    ok $? "rcx_tune runs under mpirun"
fi
grep -v '^barrier ranks=3' "$file" >"$file.cut" # as after an interrupted run
run 0 "$rcxrun" -n 3 "$tune" -o "$file.cut" "${quick[@]}" && [ "$(grep -c 'skipped, as the file has its rules' "$out")" -eq 10 ] \
    && grep -q '^barrier ranks=3' "$file.cut"
ok $? "an interrupted run is continued"

echo '{"rcx_dump": 1}' >"$folder/dump"
run 1 "$rcxrun" -n 2 "$tune" -o "$folder/dump" -c barrier "${quick[@]}" && says 'dump: the file exists, and has no rules: line 1' \
    && [ "$(cat "$folder/dump")" = '{"rcx_dump": 1}' ]
ok $? "a file of something else stays"
run 1 "$rcxrun" -n 2 "$tune" -o "$folder/no/such" -c barrier "${quick[@]}" && says 'No such file'
ok $? "a file that cannot be written is an error"
run 2 "$rcxrun" -n 2 "$tune" -c barriers && says 'barriers: no such collective; valid: allreduce .*barrier' && run 2 "$rcxrun" -n 2 "$tune" --rounds 0 \
    && run 2 "$rcxrun" -n 2 "$tune" more && run 0 "$tune" --help && prints '^Usage: ' && run 0 "$tune" --version \
    && prints '^rcx_tune (RCX) '
ok $? "rcx_tune has --help and --version, and refuses the rest"

# --- rcx_info --explain ---

run 0 "$info" --explain allreduce --bytes 64K -n 48 --nodes 6 && is_silent && prints ' byte on 48 ranks, 6 nodes with up to 8' \
    && prints "hierarchical:leaders=8, by RCX's rule \"allreduce " && prints '^ *[0-9.]*  ring$'
ok $? "--explain names the rule, and prices"
run 0 env RCX_ORDER=canonical "$info" --explain allreduce -n 6 && prints '-  ring .*keeps order level same' \
    && run 0 env RCX_ALLREDUCE=tree "$info" --explain allreduce && prints 'tree, as RCX_ALLREDUCE prescribes it'
ok $? "--explain gives the reason why an algorithm was excluded or chosen"
run 0 "$info" --explain allreduce --exact --bytes 1M && prints 'combined at once' && prints '-  ring .*combines parts of the operands' \
    && run 0 env RCX_ALLREDUCE=ring:segment=4K "$info" --explain allreduce --exact --bytes 1M && prints 'each chunk of 1024 elements' \
    && prints 'allreduce of ranges, 16 bytes' && prints 'ring, as RCX_ALLREDUCE prescribes it' \
    && run 0 "$info" --explain scan --exact && prints 'on integers, 131072 bytes' && prints '^  linear, by RCX'
ok $? "--explain tells whether an exact sum has stages, and the method of each"
run 0 "$info" --explain allreduce --float --bytes 1M && prints 'combined at once' \
    && run 0 env RCX_ALLREDUCE=ring "$info" --explain allreduce --float --bytes 1M \
    && prints 'as floats, 16 times a call of 131072 bytes' && prints '^  ring, as RCX_ALLREDUCE prescribes it'
ok $? "--explain tells of a sum in float the same"
run 2 "$info" --explain allsum && says 'allsum: no such collective.*; valid: .*allreduce'
ok $? "--explain lists the collectives where it is asked for another"
run 0 "$info" --explain allreduce --bytes 64K -n 4 --cores 2 --bound && prints '^  hierarchical.*by RCX.s rule' \
    && prints '-  hierarchical .*has no price where ranks share cores' && prints ', 1 node with up to 4 each' \
    && run 0 "$info" --explain allreduce --bytes 64K -n 4 --cores 2 && prints '-  hierarchical .*needs nodes or cores' \
    && run 0 "$info" --explain allreduce --bytes 64K -n 4 --cores 4 --bound && prints '-  hierarchical .*needs nodes or cores'
ok $? "--bound explains ranks that are bound to cores and share them"
run 2 "$info" --explain alreduce && says 'did you mean allreduce' && run 2 "$info" --explain bcast --bytes 8X \
    && run 2 "$info" --explain bcast -n 2 --nodes 3
ok $? "--explain refuses what is no call"

end_tests
