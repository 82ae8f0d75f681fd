#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of rcx_trace on dumps written by hand, and of a dump that the library
# wrote. Usage: test_trace.sh RCX_TRACE WRITE_DUMP PYTHON3

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCX_TRACE WRITE_DUMP PYTHON3" "$@"
program=$(realpath "$1")
write_dump=$(realpath "$2")
python=$3
here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
cd "$scratch" || exit 2
mkdir dumps

trace() { "$python" "$program" "$@"; }

# --- dumps written by hand; if a key occurs twice, the second value counts ---

# done_op SEQUENCE BEGIN_MS END_MS [KEYS]; open_op SEQUENCE BEGIN_MS [KEYS]
done_op() {
    cat <<END
{"sequence": $1, "collective": "allreduce", "count": 1024,
 "type": {"number": 12, "canonical": 12, "name": "float64"},
 "op": {"number": 3, "name": "sum"}, "root": 0, "algorithm": "ring",
 "segment": 0, "state": "done", "status": "RCX_OK",
 "begin_ns": ${2}000000, "end_ns": ${3}000000 ${4:+, $4}}
END
}

open_op() {
    done_op "$1" "$2" 1 "\"state\": \"started\", \"end_ns\": null,
        \"status\": \"RCX_IN_PROGRESS\" ${3:+, $3}"
}

# failed_op SEQUENCE BEGIN_MS END_MS [KEYS]
failed_op() {
    done_op "$1" "$2" "$3" "\"state\": \"failed\",
        \"status\": \"RCX_ERR_TIMEOUT\" ${4:+, $4}"
}

# message SEQUENCE send|receive PEER TAG COUNT [KEYS]: a message that is
# complete; open_message: one that has been waiting since 9 s
message() {
    cat <<END
{"sequence": $1, "call": "$2", "peer": $3, "tag": $4, "count": $5,
 "type": {"number": 12, "canonical": 12, "name": "float64"}, "state": "done",
 "status": "RCX_OK", "begin_ns": 8000000000, "end_ns": 8001000000 ${6:+, $6}}
END
}

open_message() {
    message "$@" '"state": "started", "status": "RCX_IN_PROGRESS", "begin_ns": 9000000000, "end_ns": null'
}

# mail RANK MESSAGES [KEYS]: the world, with these messages
mail() { comm "$1" 6 "$before" "\"messages\": [$2], \"dropped_messages\": 0 ${3:+, $3}"; }

# comm RANK NEXT_SEQUENCE OPERATIONS [KEYS]: the world
comm() {
    cat <<END
{"id": 1, "rank": $1, "size": 4, "ranks": null, "status": "RCX_OK",
 "error": null, "missing": [], "next_sequence": $2, "dropped": 0,
 "operations": [$3] ${4:+, $4}}
END
}

# dump RANK COMMUNICATORS [KEYS]: a dump of a job of 4 ranks, at 10 s
dump() {
    cat >"dumps/$1" <<END
{"rcx_dump": 1, "rank": $1, "size": 4, "host": "here", "pid": 1,
 "time_ns": 1700000000000000000, "monotonic_ns": 10000000000, "reason": null,
 "communicators": [$2] ${3:+, $3}}
END
}

forget() { rm -rf dumps/*; }

# reports STATUS [OPTION]: rcx_trace prints the text of stdin about all dumps
reports() {
    cat >expected
    run "$1" trace ${2:+"$2"} dumps/* && diff expected "$out" && is_silent && narrow
}

says() { grep -qF -e "$1" "$err" || { echo "# does not say: $1"; false; }; }
narrow() { ! grep -q '.\{81\}' "$out" || { echo "# wider than 80 columns"; false; }; }
# prints TEXT: the output has TEXT, with any line breaks
prints() { tr '\n' ' ' <"$out" | tr -s ' ' | grep -qF -e "$(tr -s ' ' <<<"$1")" || { echo "# does not print: $1"; false; }; }

# --- jobs without problems ---

before=$(done_op 5 3000 3001)
for rank in 0 1 2 3; do
    dump $rank "$(comm $rank 6 "$before")"
done
reports 0 <<'END'
4 ranks, 4 dumps

communicators that are idle: 1
END
ok $? "a job without operations has no problem"

reports 0 --all <<'END'
4 ranks, 4 dumps

communicator 1, ranks 0-3: idle
  last that all completed: number 5, allreduce of 1024 float64, sum, by ring
END
ok $? "--all shows idle communicators"

for rank in 0 1 2; do
    dump $rank "$(comm $rank 7 "$before, $(open_op 6 9000)")"
done
dump 3 "$(comm 3 7 "$before, $(done_op 6 9990 9995)")"
reports 0 <<'END'
4 ranks, 4 dumps

communicator 1, ranks 0-3
  last that all completed: number 5, allreduce of 1024 float64, sum, by ring
  number 6: allreduce of 1024 float64, sum, by ring
    ranks 0-2 are in it since 1000 ms
    rank 3 has completed it
END
ok $? "an operation that all ranks have called is in progress"

dump 3 "$(comm 3 9 "$(failed_op 3 1000 1001 '"status": "RCX_ERR_OP"'), $(done_op 8 9990 9995)" '"dropped": 40')"
for rank in 0 1 2; do
    dump $rank "$(comm $rank 9 "$(failed_op 3 1000 1001 '"status": "RCX_ERR_OP"'), $before, $(done_op 8 9990 9995)")"
done
run 1 trace dumps/* && prints 'sequence: 5 on ranks 0-2; none on rank 3'
ok $? "a number that one rank skipped is a mismatch"
dump 3 "$(comm 3 9 "$(done_op 8 9990 9995)" '"dropped": 40')"
reports 0 --all <<'END'
4 ranks, 4 dumps

communicator 1, ranks 0-3: idle
  last that all completed: number 8, allreduce of 1024 float64, sum, by ring
END
ok $? "an operation that one recorder has overwritten is no mismatch, nor is a user's op that failed"

# --- missing ranks ---

for rank in 0 1; do
    dump $rank "$(comm $rank 7 "$before, $(open_op 6 $((4000 + 7 * rank)) '"step": 2, "steps": 12, "waiting_for": [3]')")"
done
dump 2 "$(comm 2 7 "$before, $(open_op 6 4020 '"step": 1, "steps": 12, "waiting_for": [1, 3], "label": "layer 7"')")"
dump 3 "$(comm 3 6 "$before")"
reports 1 <<'END'
4 ranks, 4 dumps

communicator 1, ranks 0-3
  last that all completed: number 5, allreduce of 1024 float64, sum, by ring
  number 6: allreduce of 1024 float64, sum, by ring
    ranks 0-1 are in it since 5993 to 6000 ms, 2 of 12 steps done, waiting for
        rank 3
    rank 2 is in it since 5980 ms, 1 of 12 steps done, waiting for ranks 1, 3
        (layer 7)
    rank 3 has not called it: number 5, allreduce of 1024 float64, sum, by ring,
        ended 6999 ms before
END
ok $? "a rank that has not called an operation of the others is named"

cp -r dumps keep
rm dumps/3
reports 1 <<'END'
4 ranks, 3 dumps; none of rank 3

communicator 1, ranks 0-3
  last that those with a dump completed: number 5, allreduce of 1024 float64,
      sum, by ring
  number 6: allreduce of 1024 float64, sum, by ring
    ranks 0-1 are in it since 5993 to 6000 ms, 2 of 12 steps done, waiting for
        rank 3
    rank 2 is in it since 5980 ms, 1 of 12 steps done, waiting for ranks 1, 3
        (layer 7)
  no dump of rank 3
END
ok $? "a rank without a dump is named"

dump 3 "$(comm 3 6 "$(open_op 5 3000)")"
run 1 trace dumps/* && prints 'number 5: ' && prints 'rank 3 is in it since 7000 ms' \
    && prints 'ranks 0-2 have completed it' && prints 'rank 3 has not called it: still in number 5' \
    && prints 'completed: not known'
ok $? "a rank that is still in an earlier operation is named there"

dump 3 ""
run 1 trace dumps/* && prints '  rank 3 has no such communicator'
ok $? "a rank that does not know the communicator is named"

dump 3 "$(comm 3 0 "")"
run 1 trace dumps/* && prints 'rank 3 has not called it: no operation before it is known'
ok $? "a rank that has called nothing yet is named"

# the leaves of a reduce have returned before its root enters
reduce='"collective": "reduce", "root": 2, "algorithm": "binomial", "segment": 100'
for rank in 0 1 3; do
    dump $rank "$(comm $rank 7 "$before, $(done_op 6 8000 8001 "$reduce")")"
done
dump 2 "$(comm 2 6 "$before")"
reports 1 <<'END'
4 ranks, 4 dumps

communicator 1, ranks 0-3
  last that all completed: number 5, allreduce of 1024 float64, sum, by ring
  number 6: reduce of 1024 float64, sum, to rank 2 of it, by binomial, in
      segments of 100
    rank 2 has not called it: number 5, allreduce of 1024 float64, sum, by ring,
        ended 6999 ms before
    ranks 0-1, 3 have completed it
END
ok $? "a root that others did not wait for is named"

# collectives without reduction have no op; roots send or receive; counts of
# alltoallv are local
bad=0
tells() {
    local rank keys
    for rank in 0 1 2 3; do
        keys="\"collective\": \"$1\", \"root\": 1, \"op\": {\"number\": ${3-14}, \"name\": \"${4-no_op}\"}, \"algorithm\": null"
        [ "$1" = alltoallv ] && keys+=", \"count\": $rank"
        dump $rank "$(comm $rank 7 "$before, $(open_op 6 9000 "$keys")")"
    done
    run 0 trace dumps/* && grep -qx "  number 6: $2" "$out" && ! prints MISMATCH || wrong
}
tells bcast 'bcast of 1024 float64, from rank 1 of it'
tells scatter 'scatter of 1024 float64, from rank 1 of it'
tells gather 'gather of 1024 float64, to rank 1 of it'
tells allgather 'allgather of 1024 float64'
tells alltoall 'alltoall of 1024 float64'
tells alltoallv 'alltoallv of float64'
tells scan 'scan of 1024 float64, sum' 3 sum
tells exscan 'exscan of 1024 float64, no_op'
tells barrier barrier
ok $bad "each collective is printed with its own fields, and local counts are no mismatch"

for rank in 0 1 2; do
    dump $rank "$(comm $rank 7 "$before, $(failed_op 6 4000 9000 '"step": 2, "steps": 12, "waiting_for": [3]')" \
        '"status": "RCX_ERR_TIMEOUT", "missing": [3], "error": "rank 3 did not call"')" '"reason": "timeout"'
done
rm dumps/3
reports 1 <<'END'
4 ranks, 3 dumps; none of rank 3
ranks 0-2: timeout

communicator 1, ranks 0-3
  last that those with a dump completed: number 5, allreduce of 1024 float64,
      sum, by ring
  number 6: allreduce of 1024 float64, sum, by ring
    ranks 0-2 failed with RCX_ERR_TIMEOUT after 5000 ms, 2 of 12 steps done,
        waiting for rank 3
  no dump of rank 3
  ranks 0-2 report RCX_ERR_TIMEOUT, missing rank 3: rank 3 did not call
END
ok $? "an error that several ranks report is printed once"

# --- calls that do not match ---

# differs FIELD KEYS ONE OTHER: operation 6 has KEYS on rank 2, and only FIELD
# is reported
differs() {
    for rank in 0 1 2 3; do
        dump $rank "$(comm $rank 7 "$before, $(open_op 6 9000)")"
    done
    dump 2 "$(comm 2 7 "$before, $(open_op 6 9000 "$2")")"
    run 1 trace dumps/* && prints 'MISMATCH at number 6;' && [ "$(grep -c ' on rank ' "$out")" -eq 1 ] \
        && grep -qx "    $1: $3 on ranks 0-1, 3; $4 on rank 2" "$out"
}

bad=0
differs count '"count": 1025' 1024 1025 || wrong
differs type '"type": {"number": 11, "canonical": 11, "name": "float32"}' float64 float32 || wrong
differs type '"type": {"number": 4096, "canonical": 4096, "name": null}' float64 user-defined || wrong
differs op '"op": {"number": 1, "name": "max"}' sum max || wrong
differs op '"op": {"number": 4097, "name": null}' sum user-defined || wrong
differs root '"root": 3' 0 3 || wrong
differs collective '"collective": "barrier"' allreduce barrier || wrong
differs algorithm '"algorithm": "direct"' ring direct || wrong
differs algorithm '"algorithm": null' ring none || wrong
differs segment '"segment": 512' 0 512 || wrong
# a difference that follows from another one is not reported
differs count '"count": 8, "algorithm": "direct"' 1024 8 || wrong
ok $bad "every field that ranks must agree on is compared"

dump 1 "$(comm 1 7 "$before, $(open_op 6 9000 '"op": {"number": 1, "name": "max"}, "count": 3')")"
run 1 trace dumps/* && prints 'count: 1024 on ranks 0, 3; 3 on rank 1; 8 on rank 2' \
    && prints 'op: sum on ranks 0, 2-3; max on rank 1'
ok $? "all differences at one number are printed"

for rank in 0 1 3; do
    dump $rank "$(comm $rank 7 "$before, $(open_op 6 9000)")"
done
dump 2 "$(comm 2 8 "$before, $(done_op 6 9000 9001 "$reduce"), $(open_op 7 9500)")"
reports 1 <<'END'
4 ranks, 4 dumps

communicator 1, ranks 0-3
  last that all completed: number 5, allreduce of 1024 float64, sum, by ring
  MISMATCH at number 6; later ones are not compared
    collective: allreduce on ranks 0-1, 3; reduce on rank 2
    root: 0 on ranks 0-1, 3; 2 on rank 2
  number 6: allreduce of 1024 float64, sum, by ring
    ranks 0-1, 3 are in it since 1000 ms
    rank 2 has completed it
  number 7: allreduce of 1024 float64, sum, by ring
    rank 2 is in it since 500 ms
END
ok $? "after a mismatch no rank is called missing"

for rank in 0 1 2 3; do
    dump $rank "$(comm $rank 7 "$before, $(done_op 6 3 4 "\"count\": $((8 + rank % 2))")")"
done
reports 1 <<'END'
4 ranks, 4 dumps

communicator 1, ranks 0-3
  last that all completed: number 5, allreduce of 1024 float64, sum, by ring
  MISMATCH at number 6; later ones are not compared
    count: 8 on ranks 0, 2; 9 on ranks 1, 3
END
ok $? "a mismatch that no rank has noticed is reported, and is not called completed"

for rank in 0 1 2 3; do
    n=$((4096 + rank))
    alias="\"type\": {\"number\": $n, \"canonical\": 5, \"name\": \"int$rank\"}"
    handles="\"type\": {\"number\": $n, \"canonical\": $n, \"name\": null}, \"op\": {\"number\": $n, \"name\": null}"
    dump $rank "$(comm $rank 8 "$(done_op 5 1 2 "$alias"), $(done_op 6 3 4 "$handles"),
        $(done_op 7 5 6 "\"label\": \"only rank $rank\"")")"
done
run 0 trace dumps/*
ok $? "names of one type, and handles of users' types, are no mismatch"

# --- messages ---

# both STATUS MESSAGES_0 MESSAGES_1 [KEYS_0]: ranks 0 and 1 have these messages,
# ranks 2 and 3 none; stdin is the expected output
both() {
    dump 0 "$(mail 0 "$2" "${4-}")"
    dump 1 "$(mail 1 "$3")"
    dump 2 "$(comm 2 6 "$before")"
    dump 3 "$(comm 3 6 "$before")"
    { cat <<'END'; cat; } | reports "$1"
4 ranks, 4 dumps

communicator 1, ranks 0-3
  last that all completed: number 5, allreduce of 1024 float64, sum, by ring
END
}

sent=$(message 0 send 1 7 24)
taken=$(message 0 receive 0 7 100)
dump 0 "$(mail 0 "$sent, $(message 1 send 1 8 24)")"
dump 1 "$(mail 1 "$taken")"
dump 2 "$(mail 2 "")"
dump 3 "$(comm 3 6 "$before")"
reports 0 <<'END'
4 ranks, 4 dumps

communicators that are idle: 1
END
ok $? "completed messages are no problem, nor is one in flight that no rank waits for"

both 1 "$sent" "$taken, $(open_message 1 receive 0 7 100)" <<'END'
  receive of up to 100 float64 from rank 0, tag 7
    rank 1 is in it since 1000 ms, rank 0 has not sent it
END
ok $? "a rank that waits for a message that no rank has sent is named"

both 1 "$sent, $(message 1 send 1 9 3), $(message 2 send 1 9 4), $(message 3 send 2 1 4)" \
    "$taken, $(open_message 1 receive 0 7 100)" <<'END'
  receive of up to 100 float64 from rank 0, tag 7
    rank 1 is in it since 1000 ms, rank 0 has not sent it, but 3 float64 with
        tag 9 and 1 more from rank 0 are not received
END
ok $? "a message that was sent with another tag is reported"

both 0 "$sent, $(message 1 send 1 7 5)" "$taken, $(open_message 1 receive 0 7 100)" <<'END'
  receive of up to 100 float64 from rank 0, tag 7
    rank 1 is in it since 1000 ms, it has been sent
END
ok $? "a message that was sent is in flight"

both 1 "$sent, $(message 1 send 1 7 5)" "$taken, $(open_message 1 receive 0 7 8), $(open_message 2 receive 0 7 9)" <<'END'
  receive of up to 8 float64 from rank 0, tag 7
    rank 1 is in it since 1000 ms, it has been sent
  receive of up to 9 float64 from rank 0, tag 7
    rank 1 is in it since 1000 ms, rank 0 has not sent it
END
ok $? "receives are counted in their order"

truncated='"state": "failed", "status": "RCX_ERR_TRUNCATED"'
both 1 "$sent, $(message 1 send 1 7 101)" "$taken, $(message 1 receive 0 7 100 "$truncated")" <<'END'
  receive of up to 100 float64 from rank 0, tag 7
    rank 1 failed with RCX_ERR_TRUNCATED after 1 ms, rank 0 sent 101 float64
END
ok $? "a message that was too long is reported"

both 1 "$(open_message 0 send 1 7 24)" "$(open_message 0 receive 0 6 24), $(open_message 1 receive null 5 1)" <<'END'
  send of 24 float64 to rank 1, tag 7
    rank 0 is in it since 1000 ms, rank 1 has no receive for it, but waits for
        tag 6 from rank 0, but waits for tag 5 from any rank
  receive of up to 24 float64 from rank 0, tag 6
    rank 1 is in it since 1000 ms, rank 0 has not sent it, but 24 float64 with
        tag 7 from rank 0 are not received
  receive of up to 1 float64 from any rank, tag 5
    rank 1 is in it since 1000 ms, no rank has sent it, but 24 float64 with tag
        7 from rank 0 are not received
END
ok $? "two ranks that wait for each other with two tags are reported"

both 0 "$(open_message 0 send 1 7 24)" "$(open_message 0 receive null 7 24)" <<'END'
  send of 24 float64 to rank 1, tag 7
    rank 0 is in it since 1000 ms, rank 1 has a receive for it
  receive of up to 24 float64 from any rank, tag 7
    rank 1 is in it since 1000 ms, it has been sent
END
bad=$?
both 0 "" "$(open_message 0 receive null 7 24)" <<'END' || wrong
  receive of up to 24 float64 from any rank, tag 7
    rank 1 is in it since 1000 ms, no rank has sent it
END
ok $bad "a receive of any source may wait for a message that never comes"

# the first receive may have taken rank 0's message
both 0 "$sent" "$(message 0 receive null 7 24), $(open_message 1 receive 0 7 24)" <<'END'
  receive of up to 24 float64 from rank 0, tag 7
    rank 1 is in it since 1000 ms, the other side of it is not known
END
bad=$?
both 1 "" "$(message 0 receive null 7 24), $(open_message 1 receive 0 7 24)" <<'END' || wrong
  receive of up to 24 float64 from rank 0, tag 7
    rank 1 is in it since 1000 ms, rank 0 has not sent it
END
# the recorder has dropped messages, so more may have been sent
both 0 "" "$(open_message 0 receive 0 7 24)" '"dropped_messages": 1' <<'END' || wrong
  receive of up to 24 float64 from rank 0, tag 7
    rank 1 is in it since 1000 ms, the other side of it is not known
END
ok $bad "no rank is called missing if dumps do not show the other side"

for rank in 1 2 3; do
    dump $rank "$(mail $rank "$(open_message 0 receive 0 7 24)")"
done
rm dumps/0
run 1 trace dumps/* && prints 'receive of up to 24 float64 from rank 0, tag 7 ranks 1-3 are in it since 1000 ms no dump of rank 0'
bad=$?
dump 0 "$(mail 0 "")"
run 1 trace dumps/* && prints 'ranks 1-3 are in it since 1000 ms, rank 0 has not sent it' || wrong
dump 0 ""
run 1 trace dumps/* && prints 'ranks 1-3 are in it since 1000 ms, rank 0 has not sent it' && prints 'rank 0 has no such communicator' || wrong
ok $bad "ranks in the same wait have one line, and a rank without a dump is not called silent"

# a message in a communicator with other ranks, together with a collective
dump 1 "$(comm 1 6 "$before"), $(comm 0 0 "" '"id": 2, "size": 2, "ranks": [1, 3], "messages": ['"$(open_message 0 receive 1 7 24)"']')"
dump 3 "$(comm 3 7 "$before, $(open_op 6 4000)"), $(comm 1 0 "" '"id": 2, "size": 2, "ranks": [1, 3]')"
for rank in 0 2; do
    dump $rank "$(comm $rank 7 "$before, $(open_op 6 4000)")"
done
run 1 trace dumps/* && prints 'rank 1 has not called it' && prints 'communicator 2, ranks 1, 3' \
    && prints 'receive of up to 24 float64 from rank 3, tag 7 rank 1 is in it since 1000 ms, rank 3 has not sent it' \
    && run 1 trace --json dumps/* && "$python" - "$out" <<'END'
import json
import sys
with open(sys.argv[1]) as file:
    [message] = json.load(file)["communicators"][1]["messages"]
assert message == {
    "rank": 1, "call": "receive", "count": 24, "peer": 3, "tag": 7,
    "type": {"number": 12, "canonical": 12, "name": "float64"},
    "status": "RCX_IN_PROGRESS", "failed": False, "since_ms": 1000,
    "after_ms": None, "verdict": "not_sent", "no_dump": False, "instead": []}
END
ok $? "messages and collectives are listed with ranks of the job"

# --- communicators ---

# sub RANK RANKS NEXT OPERATIONS: communicator 2; RANK is an index of RANKS
sub() { comm "$1" "$3" "$4" '"id": 2, "size": 2, "ranks": '"$2"; }

dump 0 "$(comm 0 6 "$before"), $(sub 1 '[2, 0]' 1 "$(open_op 0 9000 '"waiting_for": [0]')" )"
dump 1 "$(sub 0 '[1, 3]' 1 "$(done_op 0 1 2)"), $(comm 1 6 "$before" '"ranks": [0, 1, 2, 3]')"
dump 2 "$(comm 2 6 "$before"), $(sub 0 '[2, 0]' 0 "" )"
dump 3 "$(comm 3 6 "$before"), $(sub 1 '[1, 3]' 1 "$(done_op 0 1 2)")"
reports 1 --all <<'END'
4 ranks, 4 dumps

communicator 1, ranks 0-3: idle
  last that all completed: number 5, allreduce of 1024 float64, sum, by ring

communicator 2, ranks 1, 3: idle
  last that all completed: number 0, allreduce of 1024 float64, sum, by ring

communicator 2, ranks 0, 2
  last that all completed: not known
  number 0: allreduce of 1024 float64, sum, by ring
    rank 0 is in it since 1000 ms, waiting for rank 2
    rank 2 has not called it: no operation before it is known
END
ok $? "communicators with one number are distinguished by their ranks, which are those of the job"

dump 0 "$(comm 0 1 "$(open_op 0 4000)")"
dump 1 "$(comm 1 1 "$(open_op 0 9000)")" '"monotonic_ns": 12000000000'
dump 2 "$(comm 2 1 "$(open_op 0 500000)")" '"host": "there", "monotonic_ns": 500250000000'
dump 3 "$(comm 3 1 "$(open_op 0 500100)")" '"host": "there", "monotonic_ns": 500300000000'
run 0 trace --json dumps/* && "$python" -c 'import json, sys
now = json.load(sys.stdin)["communicators"][0]["unfinished"][0]["inside"]
sys.exit([(i["rank"], i["since_ms"]) for i in now] != [(0, 8000), (1, 3000), (2, 300), (3, 200)])' <"$out"
ok $? "durations count to the newest dump of the same host"

operations=
for ((i = 0; i < 20; i++)); do
    operations+="${operations:+, }$(open_op $i 9000 "\"step\": $i, \"steps\": 20")"
done
for rank in 0 1 2 3; do
    dump $rank "$(comm $rank 20 "$operations")"
done
run 0 trace dumps/* && [ "$(grep -c 'number' "$out")" -eq 8 ] && prints '  and 12 later operations' \
    && run 0 trace --json dumps/* && [ "$(grep -c '"sequence"' "$out")" -eq 20 ]
ok $? "the text is kept short, the JSON has all"

# --- programs ---

forget
cp keep/* dumps
rm dumps/1
run 1 trace --json dumps/* && "$python" - "$out" <<'END'
import json
import sys
with open(sys.argv[1]) as file:
    report = json.load(file)
[world] = report["communicators"]
[number_6] = world["unfinished"]
assert report["rcx_trace"] == 1 and report["size"] == 4 and report["wrong"]
assert report["no_dump"] == world["no_dump"] == [1]
assert not world["idle"] and world["wrong"] and world["mismatch"] is None
assert world["id"] == 1 and world["ranks"] == [0, 1, 2, 3]
assert world["last_completed"]["sequence"] == 5
assert number_6["call"]["count"] == 1024
assert number_6["call"]["type"]["name"] == "float64"
assert [i["rank"] for i in number_6["inside"]] == [0, 2]
assert number_6["inside"][1] == {
    "rank": 2, "status": "RCX_IN_PROGRESS", "failed": False, "since_ms": 5980,
    "after_ms": None, "step": 1, "steps": 12, "waiting_for": [1, 3],
    "label": "layer 7"}
[absent] = number_6["not_called"]
assert (absent["rank"], absent["last"], absent["ended_ms"]) == (3, 5, 6999)
END
ok $? "--json prints the same for programs"

# --- files that are no dumps ---

# cannot WHY: rcx_trace rejects dumps/0, which it cannot read
cannot() {
    run 2 trace dumps/* && [ ! -s "$out" ] && [ "$(wc -l <"$err")" -eq 1 ] && says "rcx_trace: dumps/0: $1"
}

# refuses WORDS: rcx_trace rejects dumps/0, and the error names the place
refuses() {
    run 2 trace dumps/* && [ ! -s "$out" ] && [ "$(wc -l <"$err")" -eq 1 ] && says "rcx_trace: dumps/0: is no dump: $1"
}

# broken KEYS_OF_DUMP KEYS_OF_COMMUNICATOR KEYS_OF_OPERATION
broken() {
    dump 0 "$(comm 0 7 "$before, $(open_op 6 4000 "${3-}")" "${2-}")" "${1-}"
}

forget
dump 1 "$(comm 1 6 "$before")"
bad=0
# keys of the dump | of its communicator | of its second operation | message
while IFS='|' read -r keys_1 keys_2 keys_3 message; do
    broken "$keys_1" "$keys_2" "$keys_3"
    refuses "$message" || wrong
done <<'END'
"rcx_dump": 2|||rcx_dump: expected 1, got 2
"rank": "0"|||rank: expected a whole number from 0 to 4194303, got '0'
"rank": 4|||rank: expected a rank below 4, got 4
"rank": true|||rank: expected a whole number from 0 to 4194303, got True
"size": 0|||size: expected a whole number from 1 to 4194304, got 0
"size": 5000000|||size: expected a whole number from 1 to 4194304, got 5000000
"size": 3|||communicators[0].size: expected 3, as many as ranks, got 4
"rank": 2|||communicators[0].rank: expected the place of rank 2 in ranks, got 0
"host": null|||host: expected a string, got None
"host": "\ud800", "time_ns": -1|||time_ns: expected a whole number from 0 to 18446744073709551615, got -1
"pid": 1e3|||pid: expected a whole number from 0 to 18446744073709551615, got 1000.0
"time_ns": 18446744073709551616|||time_ns: expected a whole number from 0 to 18446744073709551615, got 18446744073709551616
"time_ns": NaN|||top level: expected JSON, got 'NaN'
"monotonic_ns": 1e999|||monotonic_ns: expected a whole number from 0 to 18446744073709551615, got inf
"reason": 7|||reason: expected a string, got 7
"communicators": null|||communicators: expected a list, got None
"communicators": [[]]|||communicators[0]: expected an object, got []
"communicators": [{}]|||communicators[0].id: is missing
|"id": [[1]]||communicators[0].id: expected a whole number from 0 to 18446744073709551615, got [[1]]
|"rank": 4||communicators[0].rank: expected the place of rank 0 in ranks, got 4
|"ranks": [0, 1, 2]||communicators[0].size: expected 3, as many as ranks, got 4
|"ranks": [0, 1, 2, 2]||communicators[0].ranks: expected every rank once, got (0, 1, 2, 2)
|"ranks": [0, 1, 2, 4]||communicators[0].ranks[3]: expected a rank below 4, got 4
|"ranks": [1, 0, 2, 3]||communicators[0].rank: expected the place of rank 0 in ranks, got 0
|"ranks": []||communicators[0].size: expected 0, as many as ranks, got 4
|"missing": [1, -1]||communicators[0].missing[1]: expected a whole number from 0 to 4194303, got -1
|"missing": [4]||communicators[0].missing[0]: expected a rank below 4, got 4
|"operations": {}||communicators[0].operations: expected a list, got {}
||"sequence": 0.5|communicators[0].operations[1].sequence: expected a whole number
||"type": {"number": 1, "canonical": 1}|communicators[0].operations[1].type.name: is missing
||"op": {"number": 99999999999, "name": null}|communicators[0].operations[1].op.number: expected a whole number from -2147483648 to 2147483647, got 99999999999
||"algorithm": []|communicators[0].operations[1].algorithm: expected a string, got []
||"state": "lost"|communicators[0].operations[1].state: expected "started" or "done" or "failed", got 'lost'
||"state": "done"|communicators[0].operations[1].end_ns: expected a time, since it is over, got None
||"step": null|communicators[0].operations[1].step: expected a whole number
||"waiting_for": [0, 9]|communicators[0].operations[1].waiting_for[1]: expected a rank below 4, got 9
||"label": {"a": "b"}|communicators[0].operations[1].label: expected a string, got {'a': 'b'}
|"dropped_messages": -1||communicators[0].dropped_messages: expected a whole number
|"messages": {}||communicators[0].messages: expected a list, got {}
|"messages": [{}]||communicators[0].messages[0].sequence: is missing
END
while IFS='|' read -r keys message; do
    broken '' "\"messages\": [$(message 0 send 1 7 24 "$keys")]"
    refuses "communicators[0].messages[0].$message" || wrong
done <<'END'
"call": "sendrecv"|call: expected "send" or "receive", got 'sendrecv'
"peer": 4|peer: expected a rank below 4, got 4
"peer": -2|peer: expected a whole number
"peer": null|peer: expected a rank, since it is sent, got None
"tag": "7"|tag: expected a whole number
"state": "lost"|state: expected "started" or "done" or "failed", got 'lost'
"end_ns": null|end_ns: expected a time, since it is over, got None
END
ok $bad "a value that cannot be is refused, with the way to it"

broken
"$python" - dumps/0 <<'END'
import json
import sys
with open(sys.argv[1]) as file:
    dump = json.load(file)
dump["communicators"] *= 2
with open(sys.argv[1], "w") as file:
    json.dump(dump, file)
END
refuses 'communicators[1]: id and ranks are those of communicators[0], too'
ok $? "each communicator is printed once"

bad=0
broken
bytes=$(wc -c <dumps/0)
for ((i = 0; i < bytes - 2; i += 97)); do
    broken
    truncate -s $i dumps/0
    refuses '' || wrong
done
ok $bad "a dump that is cut off anywhere is refused"

bad=0
: >dumps/0 && refuses 'Expecting value: line 1 column 1' || wrong
printf 'no dump' >dumps/0 && refuses 'Expecting value: line 1 column 1' || wrong
printf '{"rcx_dump": 1}{' >dumps/0 && refuses 'Extra data: line 1 column 16' || wrong
printf '[1]' >dumps/0 && refuses 'top level: expected an object, got [1]' || wrong
printf '{}' >dumps/0 && refuses 'rcx_dump: is missing' || wrong
printf '"\xff"' >dumps/0 && refuses "'utf-8' codec can't decode byte 0xff in position 1" || wrong
printf '%0100000d' 0 | tr 0 '[' >dumps/0 && refuses 'brackets nest too deeply' || wrong
{ printf '{"rcx_dump": 1'; printf '%05000d' 1 | tr 0 9; printf '}'; } >dumps/0 && refuses '' || wrong
rm dumps/0 && mkdir dumps/0 && cannot 'Is a directory' || wrong
rmdir dumps/0 && ln -s nowhere dumps/0 && cannot 'No such file' || wrong
rm dumps/0
ok $bad "a file that is no dump at all is refused"

dump 0 "" '"size": 5'
run 2 trace dumps/* && says 'rcx_trace: dumps/1: size: 4, but 5 in dumps/0'
ok $? "dumps of different jobs are refused"

cp dumps/1 dumps/0
run 2 trace dumps/* && says 'rcx_trace: dumps/1: rank: 1, as in dumps/0'
ok $? "two dumps of one rank are refused"

printf '{' >dumps/0
printf '{' >dumps/2
run 2 trace dumps/* && says 'dumps/0: ' && says 'dumps/2: ' && ! grep -q dumps/1 "$err"
ok $? "every file that is no dump is named"

# --- the terminal ---

forget
for rank in 0 1 2 3; do
    dump $rank "$(comm $rank 1 "$(open_op 0 9000 '"label": "\u001b[31m\n\u202e\ud800 \u00e9"')" \
        '"status": "RCX_ERR_\u0007", "error": "\u009b1m"')" '"reason": "\u0000\r"'
done
run 1 env LC_ALL=C.UTF-8 "$python" "$program" dumps/* && prints '(\x1b[31m\n\u202e\ud800 é)' && prints 'RCX_ERR_\x07: \x9b1m' \
    && prints 'ranks 0-3: \x00\r' \
    && run 1 env LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 "$python" "$program" dumps/* && prints '\ud800 \xe9)'
ok $? "no dump sends control sequences, and names need not suit the terminal"

run 2 trace $'no\e[1msuch' && says 'no\x1b[1msuch: No such file'
ok $? "nor does the name of a file"

set -o pipefail
trace dumps/* 2>"$err" | true
is_silent
ok $? "a reader may close the pipe early"

# --- wrong usage ---

run 2 trace && says 'usage: rcx_trace' && run 2 trace --what dumps/0 && [ ! -s "$out" ] \
    && run 0 trace --help && prints 'Exit status: ' && ! grep -q '.\{81\}' "$out" \
    && run 0 "$program" --version && grep -qx 'rcx_trace (RCX) [0-9.]*' "$out"
ok $? "rcx_trace has --help and --version, and refuses the rest"

# --- mutated dumps ---

rm -rf dumps && mv keep dumps
dump 0 "$(mail 0 "$sent, $(open_message 1 send 1 7 24), $(message 2 send 2 3 1), $(open_message 3 receive null 3 4)")"
dump 1 "$(mail 1 "$taken, $(message 1 receive 0 7 8 "$truncated"), $(open_message 2 receive 0 5 4)")"
run 0 "$python" "$here/mutate.py" "$program" 20260917 4000 dumps/*
ok $? "thousands of damaged dumps are read or refused, none breaks it"

# --- a dump of the library ---

mkdir real
run 0 "$python" "$here/check_dump.py" "$write_dump" "$scratch/real/dump"
ok $? "a JSON parser reads what the recorder was given"

run 0 "$python" -m json.tool real/dump && run 1 trace real/dump && is_silent \
    && prints '8 ranks, 1 dumps; none of ranks 0, 2-7' && prints 'rank 1: a test' \
    && prints 'communicator 1 ("main"), ranks 0-7' \
    && prints 'number 1034: allreduce of 3 2int, minloc, by recursive_doubling' \
    && prints '3 of 14 steps done, waiting for ranks 0, 2 (layer "7")' \
    && prints 'receive of up to 12 int32 from rank 0, tag 32767 rank 1 failed with RCX_ERR_TRUNCATED' \
    && prints 'receive of up to 3 float64 from any rank, tag 0 rank 1 is in it' \
    && prints 'communicator 8191, ranks 1, 5, 7' && prints 'rank 1 reports RCX_ERR_TIMEOUT, missing ranks 5, 7: C:\dev\n'
ok $? "rcx_trace reads it"
run 1 sh -c '"$1" "$2" real/dump >/dev/full' sh "$python" "$program" && grep -q '^rcx_trace: No space left on device$' "$err" \
    && [ "$(wc -l <"$err")" -eq 1 ]
ok $? "a report that does not fit the disk is an error"

end_tests
