#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# RCX_PROFILE and RCX_TRACE, on processes; and the commands of
# docs/howto/profiling.md. Usage: test_profile.sh RCXRUN PROFILE_MAIN RCX_PERF
# RCX_TRACE PYTHON3

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN PROFILE_MAIN RCX_PERF RCX_TRACE PYTHON3" "$@"
here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
rcxrun=$(realpath "$1") main=$(realpath "$2") perf=$(realpath "$3") trace=$(realpath "$4")
python=$5
cd "$scratch" || exit 2
within 120
methods=(-x RCX_ALLREDUCE=recursive_doubling -x RCX_BCAST=tree)

# job NODES MODE CALLS VARIABLE...: 4 ranks
job() {
    local variables=()
    for variable in "${@:4}"; do variables+=(-x "$variable"); done
    run 0 "$rcxrun" -n 4 --nodes "$1" "${variables[@]}" "${methods[@]}" "$main" "$2" "$3"
}

says() { grep -q -e "$1" "$err"; }

# expect CODE: p is the profile in profile.json, row(collective, size) a row
expect() {
    "$python" - "$1" >"$out" 2>&1 <<'END'
import json
import sys
p = json.load(open("profile.json"))
def row(collective, size):
    [found] = [r for r in p["rows"] if (r["collective"], r["size"]) == (collective, size)]
    return found
for r in p["rows"]:
    assert 0 <= r["time_s"]["min"] <= r["time_s"]["median"] <= r["time_s"]["max"] <= p["run_s"], r
    assert abs(r["waiting_s"]["mean"] + r["moving_s"]["mean"] - r["time_s"]["mean"]) < 1e-6, r
    assert 0 <= r["latest_part"] <= 1 and 0 <= r["latest"] < p["size"], r
assert p["rcx_profile"] == 1 and 0 < p["share"]["min"] <= p["share"]["max"] < 1, p["share"]
exec(sys.argv[1])
END
}

# --- the profile ---

job 1 late 10 RCX_PROFILE=profile.json && is_silent && expect '
a, b, h = row("allreduce", 4), row("bcast", 4), row("allreduce", 2)
assert len(p["rows"]) == 3 and p["ranks"] == p["size"] == 4
assert (a["calls"], a["compared"], a["bytes"], a["bytes_from"], a["ranks"]) == (10, 10, 80, 4, 4), a
assert (b["calls"], b["bytes"], b["bytes_from"], b["algorithm"]) == (10, 10240, 1024, "tree"), b
assert (h["calls"], h["form"], h["ranks"]) == (10, "nonblocking", 4), h
assert a["form"] == b["form"] == "blocking" and a["comm"] == b["comm"] == 1 != h["comm"]
assert a["algorithm"] == h["algorithm"] == "recursive_doubling"
assert p["clock_error_s"] == 0
for call in "allreduce", "iallreduce", "bcast": # compilers may make two places of one
    assert abs(sum(s["calls"] for s in p["sites"] if s["call"] == call) - 10) < 1e-6, p["sites"]
assert all("0x" in s["site"] for s in p["sites"])'
ok $? "RCX_PROFILE=FILE.json has a row for each kind of call, and where they are"

job 1 many 3000 RCX_PROFILE=profile.json RCX_PLAN_CACHE=0 && expect '
a = row("bcast", 4)
assert a["calls"] == 3000 and 64 <= a["compared"] <= 256, a'
ok $? "of many calls a part is compared, all are counted, and plans may come and go"

job 1 late 10 RCX_PROFILE=1 && [ "$(grep -c '^rcx info: \[0\] ' "$err")" -eq "$(wc -l <"$err")" ] \
    && says 'profile of 4 of 4 ranks, .* in blocking collectives' \
    && says 'world   allreduce          4        10  recursive_doubling ' && says ' 4/2     iallreduce ' \
    && says 'site 3: .* calls of '
ok $? "RCX_PROFILE=1 logs it on rank 0, whatever RCX_LOG is"

job 1 late 10 RCX_PROFILE=table.txt && is_silent && grep -q '^world   bcast ' table.txt
ok $? "RCX_PROFILE=FILE writes it as text"

job 1 late 10 RCX_PROFILE=no/such/folder && says 'RCX_PROFILE=no/such/folder: the profile cannot be written'
ok $? "a file that cannot be written is logged, and nothing else fails"

job 1 late 10 RCX_TRACE=no/such/x && says 'RCX_TRACE: no/such/x.0.json cannot be written: No such file or directory' \
    && job 1 dies 10 RCX_DUMP=no/such/x && says 'RCX_DUMP: no/such/x.[0-9].json cannot be written: No such file or directory'
ok $? "a trace or dump that cannot be written is logged with its variable and file"

job 1 late 10 RCX_PROFILE=/dev/full && says 'RCX_PROFILE=/dev/full: .*: No space left on device'
ok $? "a full disk is called so"

job 1 late 10 RCX_PROFILE=0 && is_silent && [ ! -e 0 ]
ok $? "RCX_PROFILE=0 is no profile"

# rank 1 is another program in all but its calls
run 1 "$rcxrun" -n 2 sh -c '[ "$PMIX_RANK" = 0 ] || export RCX_PROFILE=1; exec "$0"' "$main"
says 'RCX_PROFILE or RCX_TRACE'
ok $? "ranks that differ in it are told"

for nodes in 1 2; do
    job $nodes aborts 10 RCX_PROFILE=profile.json && [ "$(wc -l <"$err")" -eq 2 ] \
        && [ "$(grep -c 'rcx error: \[[02]\] communicator 4' "$err")" -eq 2 ] && expect '
assert p["ranks"] == p["size"] == 4 and row("allreduce", 4)["bytes"] == 80
assert (0 < p["clock_error_s"]) == ('$nodes' > 1)'
    ok $? "$nodes nodes: a failed communicator of some ranks fails no other one, and the table is of all ranks"
done

for mode in dies shrink; do
    job 1 $mode 10 RCX_PROFILE=profile.json && says 'rank 1' && expect '
assert (p["ranks"], p["size"]) == (3, 4)
assert row("allreduce", 4)["ranks"] == 3'
    ok $? "$mode: a dead rank leaves the table of the others"
done
expect 'assert (row("bcast", 3)["calls"], row("bcast", 3)["ranks"]) == (10, 3)'
ok $? "and the communicator of those that live has a row"

job 2 late 10 RCX_PROFILE=profile.json RCX_TRACE=nodes && expect '
assert 0 < p["clock_error_s"] < 1 and row("allreduce", 4)["compared"] == 10' \
    && "$python" - >>"$out" 2>&1 <<'END'
import json
for rank in range(4):
    marks = json.load(open(f"nodes.{rank}.json"))["recording"]["clock"]
    assert len(marks) == 2, marks
    for mark in marks: # rcxrun's nodes have one clock
        assert abs(mark["offset_ns"]) <= mark["error_ns"], mark
        assert (mark["error_ns"] > 0) == (rank > 1), mark
END
ok $? "of two nodes the clocks are compared twice, and the true offset is within the error"

# --- the recording ---

# perfetto FILE... -- COUNT...
perfetto() {
    split_options "$@"
    run 0 "$python" "$trace" --perfetto out.json "${options[@]}" && [ ! -s "$out" ] && is_silent \
        && run 0 "$python" "$here/../trace/check_perfetto.py" out.json "${rest[@]}"
}

# 4 ranks exchange 8 messages in an allreduce, 3 in a broadcast; 2 ranks 2
job 1 late 10 RCX_TRACE=live && is_silent \
    && perfetto live.?.json -- ranks=4 call=120 allreduce=80 bcast=40 flows=150
ok $? "RCX_TRACE has all calls of a short run, and each message as a flow"

job 1 dump 10 RCX_TRACE=live RCX_TRACE_EVENTS=100000 && perfetto dump.? -- ranks=4 call=120 flows=150
ok $? "rcx_dump() writes the recording on demand"

job 1 many 100 RCX_TRACE=live RCX_TRACE_EVENTS=64 && perfetto live.?.json -- ranks=4 \
    && "$python" -c 'import json; r = json.load(open("live.0.json"))["recording"]
assert len(r["events"]) == 64 and r["dropped"] > 0'
ok $? "a ring that is full keeps the last events"

job 1 dump 10 && perfetto dump.? -- ranks=4 flows=0 && [ -s out.json ]
ok $? "dumps without a recording have calls, and no messages"

job 1 dies 10 RCX_TRACE=live RCX_DUMP=failed && perfetto live.[023].json -- ranks=3 \
    && perfetto failed.[023].json -- ranks=3
ok $? "a rank that died is missing, with files of the end and of the failure"

run 0 "$rcxrun" -n 2 -x RCX_TRACE=p2p "$main" messages 10 && perfetto p2p.?.json -- flows=20 message=40
ok $? "users' messages are flows, also to receives of any source"

job 1 late 10 RCX_TRACE=live && cp live.0.json before && run 2 "$python" "$trace" --perfetto live.?.json \
    && says 'live.0.json: the file exists, and is no timeline' && cmp before live.0.json \
    && run 0 "$python" "$trace" --perfetto again.json live.?.json && run 0 "$python" "$trace" --perfetto again.json live.?.json
ok $? "a timeline replaces a timeline, and no dump"

job 1 late 10 RCX_TRACE=live && run 1 "$python" "$trace" --perfetto /dev/full live.?.json && says '^rcx_trace: No space left'
ok $? "a timeline that does not fit the disk is an error"

# --- docs/howto/profiling.md, as it is printed ---

page=$here/../../docs/howto/profiling.md
mkdir bin
ln -s "$rcxrun" bin/rcxrun
ln -s "$perf" bin/rcx_perf
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$python" "$trace" >bin/rcx_trace
chmod +x bin/rcx_trace
PATH=$PWD/bin:$PATH
grep -E '^    (rcxrun|rcx_trace) ' "$page" | sed 's/^ *//' >lines
[ "$(wc -l <lines)" -ge 4 ]
ok $? "docs/howto/profiling.md has commands"
while read -r line; do
    run 0 bash -c "$line"
    ok $? "docs/howto/profiling.md: $line"
done <lines
expect 'assert {r["bytes_from"] for r in p["rows"] if r["collective"] == "allreduce"} >= {4, 64, 256}' && run 0 "$python" "$here/../trace/check_perfetto.py" timeline.json ranks=2
ok $? "docs/howto/profiling.md: they write profile.json and timeline.json"

end_tests
