#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rcx_top names the rank that others wait for, in jobs that hang in several ways.
# Usage: test_top.sh RCXRUN TOP_MAIN RCX_TOP PYTHON3

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN TOP_MAIN RCX_TOP PYTHON3" "$@"
top=$(realpath "$3")
python=$4
within 120

# Whichever job starts next removes pages of ended processes: only this test's jobs
# are to see those that it looks at.
apart=(unshare --mount "$BASH" -c 'mount -t tmpfs tmpfs /dev/shm && exec "$@"' sh)
[ "$(id -u)" -eq 0 ] || apart=(unshare --map-root-user "${apart[@]:1}")
if [ -z "${TOP_TEST_IS_APART-}" ] && "${apart[@]}" true 2>"$err"; then
    rm -rf "$scratch"
    exec env TOP_TEST_IS_APART=1 "${apart[@]}" "$BASH" "$0" "$@"
fi

# start NAME MODE [OPTION...]: a job of 3 ranks; its number, which is a rank's process number, is in job
start() {
    local ranks
    begin "$1" "$rcxrun" -k -n 3 "${@:3}" "$main" "$2"
    job=none
    for ((i = 0; i < 600; i++)); do
        mapfile -t ranks < <(pgrep -P "$(rcxrun_of "$1")")
        # Without a rank rcx_top would list the jobs of other tests; until all have pages
        # it may take an ended job whose numbers have come again.
        if [ ${#ranks[@]} -gt 0 ] && "$top" -1 "${ranks[@]}" >"$out" 2>"$err" && grep -qE '^ +2 ' "$out" \
            && [ "$(grep -c '^job' "$out")" -eq 1 ] && ! grep -q ' ended ' "$out"; then
            job=$(sed -n 's/^job \([0-9]*\):.*/\1/p' "$out")
            return
        fi
        sleep 0.1
    done
    return 1
}

# The process of rcxrun itself, which timeout has started.
rcxrun_of() {
    while kill -0 "${begun[$1]}" 2>/dev/null && ! pgrep -P "${begun[$1]}"; do sleep 0.05; done
}

# stop NAME: end the job
stop() {
    kill -TERM "$(rcxrun_of "$1")"
    wait "${begun[$1]}"
}

# until_says_of PATTERN PID...: look at these jobs until a line has PATTERN, for a minute at most
until_says_of() {
    local -r pattern=$1
    shift
    for ((i = 0; i < 600; i++)); do
        "$top" -1 "$@" >"$out" 2>"$err" && grep -qE "$pattern" "$out" && return
        sleep 0.1
    done
    echo "# not said: $pattern"
    return 1
}
until_says() {
    until_says_of "$1" "$job"
}

# pid_of RANK: as rcx_top has printed it
pid_of() {
    awk -v rank="$1" '$1 == rank { print $2 }' "$out"
}

# --- a rank that is stopped ---

start loop loop && [ "$(stat -c '%a' "/dev/shm/rcx_top."*".$(pid_of 1)."*)" = 600 ]
ok $? "a job is seen, and its pages are for its user alone"

stopped=$(pid_of 2)
kill -STOP "$stopped"
until_says "^ranks 0-1 wait for rank 2 \(pid $stopped\), which is stopped" \
    && grep -qE "^ +2 +$stopped stopped +[0-9.]+ (ms|s) " "$out" \
    && [ "$(grep -cE '^ +[01] +[0-9]+ in call +[0-9.]+ s +allreduce +1 +[0-9]+ +8 ' "$out")" -eq 2 ] \
    && [ "$(grep -c ' wait' "$out")" -eq 2 ]
ok $? "ranks wait for a rank that is stopped, which is named, and no other"

run 0 "$top" -1 --json "$stopped" && "$python" - "$job" "$stopped" "$out" >"$err" 2>&1 <<'END'
import json
import sys

job, stopped = map(int, sys.argv[1:3])
with open(sys.argv[3], encoding="utf-8") as file:
    found = json.load(file)
assert found["rcx_top"] == 1 and len(found["jobs"]) == 1
(one,) = found["jobs"]
assert one["job"] == job and one["size"] == 3
assert one["waited_for"] == [{"rank": 2, "state": "stopped", "by": [0, 1]}]
assert [each["rank"] for each in one["ranks"]] == [0, 1, 2]
assert [each["state"] for each in one["ranks"]] == ["in call", "in call", "stopped"]
assert one["ranks"][2]["pid"] == stopped
waiting = [each["operations"][0] for each in one["ranks"][:2]]
for each in waiting:
    assert each["call"] == "allreduce" and each["count"] == 1 and each["type"] == "int64"
    assert each["bytes"] == 8 and each["algorithm"] and each["is_blocking"]
    assert each["seconds"] > 1 and each["step"] < each["steps"]
numbers = [each["last_call"]["number"] for each in one["ranks"]]
assert waiting[0]["number"] == numbers[0] and 0 <= numbers[0] - numbers[2] <= 1
END
ok $? "the same as JSON, for the job of a process that is given"

kill -CONT "$stopped"
status=1
for ((i = 0; status && i < 600; i++)); do
    "$top" -1 "$job" >"$out" 2>"$err" && grep -qE "^ +2 +$stopped (in call|outside) " "$out" \
        && ! grep -q ' wait for rank' "$out" && status=0 || sleep 0.1
done
ok $status "the rank goes on, and nothing is said any more"

# --- a rank that is outside RCX, beside the other job ---

first=$job
start outside outside
until_says '^ranks 0-1 wait for rank 2 \(pid [0-9]+\), which is not in RCX since' \
    && [ "$(grep -cE ' in call .* allreduce +1 +4 +8000 ' "$out")" -eq 2 ] \
    && grep -qE '^ +2 +[0-9]+ outside +[0-9.]+ s +- +1 +3 ' "$out"
ok $? "a rank that has made a call less is outside"

# alike: what rcx_top prints, without numbers that differ
alike() {
    sed -E 's/^ +//; s/[0-9.]+ (ms|s) /TIME /g; s/[0-9]{3,}/NUMBER/g; s/ +/ /g' "$@"
}
kill -STOP "$(pid_of 2)"
until_says '^ranks 0-1 wait for rank 2 .*, which is stopped' && alike "$out" >"$scratch/alike" \
    && sed -n '/^    \$ rcx_top -1$/,/^$/{/^    \$/d; /^$/d; p}' \
        "$(dirname -- "${BASH_SOURCE[0]}")/../../docs/howto/debugging.md" | alike | diff - "$scratch/alike" >"$err"
ok $? "docs/howto/debugging.md shows what is printed if it is stopped"
kill -CONT "$(pid_of 2)"

run 0 "$top" -1 && grep -q "^job $first: 3 ranks, 3 here" "$out" && grep -q "^job $job: 3 ranks, 3 here" "$out" \
    && run 0 "$top" -1 "$first" && [ "$(grep -c '^job' "$out")" -eq 1 ]
ok $? "all jobs are listed, or one"

: >"$scratch/often"
"${bound[@]}" "$top" -d 0.1 "$job" >"$scratch/often" 2>"$err" &
often=$!
while [ "$(grep -c '^job' "$scratch/often")" -lt 3 ] && kill -0 $often 2>/dev/null; do sleep 0.1; done
stop outside
wait $often
status=$?
cp "$scratch/often" "$out"
[ $status -eq 0 ] && [ "$(grep -c '^job' "$out")" -ge 3 ]
ok $? "it is shown again and again, until the job has ended"

# --- messages, and operations that nobody waits for ---

start message message
until_says '^rank 0 waits for rank 1 \(pid [0-9]+\), which is not in RCX' \
    && grep -qE '^ +0 +[0-9]+ in call +[0-9.]+ s +receive, tag 7 +[2-9] +1 +8000 +- +1$' "$out" \
    && grep -qE '^ +2 +[0-9]+ outside ' "$out"
ok $? "a message that has not been sent, in another communicator"
stop message

# --- ranks that wait for each other ---

start circle circle
until_says '^ranks 0-2 wait for each other, and have completed no step for [0-9.]+ (ms|s): ' \
    && [ "$(grep -cE ' in call .* receive, tag 7 ' "$out")" -eq 3 ] && [ "$(grep -c ' wait' "$out")" -eq 2 ]
ok $? "ranks that wait for each other are named"
stop circle

# Ranks wait for each other now and then: steps take 20 ms, and calls half a minute.
start slow slow -x RCX_ALLREDUCE=recursive_doubling:segment=8,window=1
status=1
for ((i = 0; status && i < 600; i++)); do
    run 0 "$top" -1 "$job" && [ "$(grep -cE ' in call +([1-9]|[0-9]{2,})[0-9.]* s .* allreduce ' "$out")" -eq 3 ] \
        && status=0 || sleep 0.1
done
for ((i = 0; !status && i < 3; i++)); do
    run 0 "$top" -1 "$job" && ! grep -qE ' waits? for |for each other' <(tail -n +3 "$out")
    status=$?
done
ok $status "nothing is said of ranks whose calls are slow, and progress"
stop slow

# --- pages ---

# set_sequence PID odd|even: as if the process were writing its page, or not
set_sequence() {
    "$python" - "/dev/shm/rcx_top."*".$1."* "$1" "$2" <<'END'
import struct
import sys

path, pid, kind = sys.argv[1:]
with open(path, "r+b") as file:
    page = file.read(84)
    assert struct.unpack_from("=i", page, 16) == (int(pid),)
    file.seek(80)
    file.write(struct.pack("=I", struct.unpack_from("=I", page, 80)[0] // 2 * 2 + (kind == "odd")))
END
}

start torn outside
until_says '^ranks 0-1 wait for rank 2 '
rank=$(pid_of 2)
set_sequence "$rank" odd && until_says "^ +2 +$rank unknown +[0-9.]+ s " \
    && grep -qE "^ranks 0-1 wait for rank 2 \(pid $rank\), whose page is being written since" "$out" \
    && run 0 "$top" -1 --json "$job" && grep -q '"rank": 2, "pid": '"$rank"', "state": "unknown"' "$out" \
    && set_sequence "$rank" even && until_says "^ +2 +$rank outside "
ok $? "a page that is being written is said to be"
rank=$(pid_of 1) # rank 2 stays, as it is not in RCX
set_sequence "$rank" odd && kill -KILL "$rank" && until_says "^ +1 +$rank ended "
ok $? "a process that was killed while it wrote its page has ended"
stop torn

# rank 2 stays, as it is not in RCX
start killed outside
until_says '^ranks 0-1 wait for rank 2 ' # all are where they stay
rank=$(pid_of 1)
kill -KILL "$rank"
until_says "^ +1 +$rank ended " && compgen -G "/dev/shm/rcx_top.*.$rank.*" >"$out"
ok $? "a process that was killed has ended"
stop killed
! compgen -G "/dev/shm/rcx_top.*.$rank.*" >"$out"
ok $? "rcxrun removes its page"
stop loop

# Linux tells when a process started in steps of 10 ms, so the second starts when
# the first has its page.
"$main" loop 2>"$err" &
alone=$!
until_says_of "^ +0 +$alone " $alone
"$main" loop 2>>"$err" &
again=$!
until_says_of "^ +0 +$again " $again
kill -KILL $alone
wait $alone 2>>"$err"
# A page of an ended process whose number has come again.
copy=/dev/shm/rcx_top.1.0.$again.1
until_says_of "^ +0 +$alone ended " $alone && until_says_of "^ +0 +$again (in call|outside) " $again \
    && "$python" - "/dev/shm/rcx_top."*".$alone."* $alone $again "$copy" >"$err" 2>&1 <<'END' \
    && run 0 "$top" -1 && grep -qE "^ +0 +$again ended " "$out" \
    && run 0 "$top" -1 $again && grep -qE "^ +0 +$again (in call|outside) " "$out" && [ "$(grep -c '^job' "$out")" -eq 1 ]
import struct
import sys

source, alone, again, copy = sys.argv[1:]
with open(source, "rb") as file:
    page = bytearray(file.read())
job, pid = struct.unpack_from("=Ii", page, 12)
assert (pid, job & 0x3FFFFF) == (int(alone), int(alone))
struct.pack_into("=Ii", page, 12, (job - pid) ^ 1 << 22 | int(again), int(again))
with open(copy, "wb") as file:
    file.write(page)
END
ok $? "the job that runs is meant if another process had the number"
kill $again
wait $again 2>>"$err"
until_says_of "^ +0 +$alone ended " $alone && run 0 "$top" --clean && grep -qE '^[1-9][0-9]* pages? removed$' "$out" \
    && ! compgen -G "/dev/shm/rcx_top.*.$alone.*" && run 1 "$top" -1 $alone && grep -q 'no such job' "$err"
ok $? "without rcxrun rcx_top --clean removes it"

# The pages of processes that live, and of some that were killed: in this namespace of
# process numbers, and in others, where they have number 1.
pages() {
    compgen -G '/dev/shm/rcx_top.*' | sort
}
# begin_alone COMMAND...: its number is in alone, its page in page
begin_alone() {
    local before
    before=$(pages)
    "$@" 2>>"$err" &
    alone=$!
    while kill -0 $alone 2>/dev/null && ! page=$(comm -13 <(echo "$before") <(pages) | grep .); do sleep 0.05; done
    [ -n "$page" ]
}
elsewhere=(unshare --pid --fork --kill-child)
[ "$(id -u)" -eq 0 ] || elsewhere=(unshare --map-root-user "${elsewhere[@]:1}")
"${elsewhere[@]}" true 2>"$err" || elsewhere=()
run 0 "$top" --clean
former=$(pages)
living=() dead=() live_pages=() dead_pages=() status=0
begin_alone "$main" loop && living+=("$alone") live_pages+=("$page") \
    && begin_alone "${elsewhere[@]}" "$main" loop && living+=("$alone") live_pages+=("$page") \
    && begin_alone "$main" loop && dead+=("$alone") dead_pages+=("$page") \
    && begin_alone "$main" loop && dead+=("$alone") dead_pages+=("$page") \
    && begin_alone "${elsewhere[@]}" "$main" loop && dead+=("$alone") dead_pages+=("$page") || status=1
kill -KILL "${dead[@]}"
wait "${dead[@]}" 2>>"$err"
for page in "${dead_pages[@]}"; do # until it has ended, too, whose parent was killed
    for ((i = 0; i < 600; i++)); do flock --nonblock "$page" true && break || sleep 0.1; done
done
run 0 "$top" -1 && [ "$(grep -c ' ended ' "$out")" -eq 3 ] || status=1
[ "$(pages)" = "$(printf '%s\n' $former "${live_pages[@]}" "${dead_pages[@]}" | sort)" ] || status=1
"$main" short >"$out" 2>&1 || status=1
pages >>"$out"
[ "$(pages)" = "$(printf '%s\n' $former "${live_pages[@]}" | sort)" ] || status=1
ok $status "the next process removes the pages of those that were killed, also elsewhere, and no others"
kill -KILL "${living[@]}"
wait "${living[@]}" 2>/dev/null

"$main" short 2>"$err" &
alone=$!
wait $alone && ! compgen -G "/dev/shm/rcx_top.*.$alone.*" >"$out"
ok $? "rcx_finalize() removes the page"
RCX_TOP=0 "$main" loop 2>"$err" &
hidden=$!
"$main" loop 2>"$err" &
alone=$!
until_says_of "^ +0 +$alone " $alone && run 1 "$top" -1 $hidden
ok $? "RCX_TOP=0: there is none"
kill $hidden $alone
wait $hidden $alone 2>/dev/null

# --- files that are no pages ---

page=/dev/shm/rcx_top.1.0.1.$$
trap 'rm -rf "$scratch" "$page"*' EXIT
head -c 4096 /dev/urandom >"$page"
head -c 100 /dev/zero >"${page}0"
ln -s /etc/passwd "${page}1"
mkfifo "${page}2"
run 1 "$top" -1 $$ && run 0 "$top" --clean && [ -e "$page" ] && [ -p "${page}2" ]
ok $? "other files are ignored, and stay"

for wrong in '-d 0' '-d x' 0 x --none; do
    # shellcheck disable=SC2086 # two words
    run 2 "$top" -1 $wrong || break
done
ok $? "wrong usage"

end_tests
