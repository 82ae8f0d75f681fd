#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# with_guest itself: its exit status, output and messages, and that no process or file is
# left, however it ends. Usage: test_with_guest.sh WITH_GUEST BUILD

set -m # a background job has its own process group

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "WITH_GUEST BUILD" "$@"
with_guest=$1 build=$2
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"

# A variable in the environment marks all processes of the guests, and no helper of
# this shell.
mark=RCX_GUEST_MARK=mark-$$-$RANDOM
guest() { env "$mark" "$with_guest" --build "$build" "$@"; }

no_processes() { ! grep -qszxF "$mark" /proc/[0-9]*/environ; }
nothing_left() { no_processes && [ -z "$(ls -A "$TMPDIR")" ]; }

for arguments in "" "--nodes 0 true" "--nodes 9 true" "--numa 2 true" \
    "--build $scratch/none true"; do
    # shellcheck disable=SC2086 # words
    run 2 "$with_guest" $arguments && grep -q '^with_guest: error: ' "$err"
    ok $? "wrong arguments give 2 and a message: $arguments"
done

# shellcheck disable=SC2016 # the guest's shell expands it
run 7 guest --cores 2 --numa 2 sh -c '
    echo "$(hostname) $(nproc) $(echo /sys/devices/system/node/node? | wc -w)"
    echo words >&2
    echo kept >"$GUEST_SCRATCH/file" && echo kept >"$GUEST_BUILD/written-by-guest"
    mkdir "$0/folder" /usr/folder 2>/dev/null && echo "other folders are writable"
    exit 7' "${with_guest%/*}"
status=$?
if grep -q '^with_guest: skipped: ' "$err"; then
    echo "1..0 # SKIP $(sed -n 's/.*skipped: //p' "$err")"
    exit 0
fi
[ $status -eq 0 ] && [ "$(cat "$out")" = "n1 2 2" ] && [ "$(cat "$err")" = words ]
ok $? "the output of the command, its errors and its status come back"
[ -e "$build/written-by-guest" ] && rm "$build/written-by-guest" && nothing_left
ok $? "a guest writes to the build folder, and leaves nothing else"

# shellcheck disable=SC2016
run 0 guest --nodes 3 --ranks 2 sh -c 'echo "$(hostname) $RCX_RANK of $RCX_SIZE"' \
    && [ "$(sort "$out" | paste -sd ' ')" = "n1 0 of 6 n1 1 of 6 n2 2 of 6 n2 3 of 6 n3 4 of 6 n3 5 of 6" ]
ok $? "ranks are on their nodes"

# shellcheck disable=SC2016
run 0 guest --nodes 2 --ranks 0 --limit 120 bash -c '
    ! host 1 stop 2>/dev/null || exit 1
    host 2 set_link data off && ! busybox ping -c 1 -W 2 n2 >/dev/null || exit 2
    [ "$(on 2 hostname)" = n2 ] || exit 3
    host 2 set_link data on && until busybox ping -c 1 -W 2 n2 >/dev/null; do :; done
    on n2 sh -c "exit 5"
    [ $? -eq 5 ] || exit 4
    on 2 sh -c "echo begun; sleep 1000" >/tmp/out &
    until grep -q begun /tmp/out; do sleep 0.1; done
    host 2 quit
    wait $!
    [ $? -eq 255 ]' && nothing_left
ok $? "node 1 runs commands on the others, and cuts, pauses and ends them"

run 124 guest --limit 1 sleep 1000 \
    && grep -q '^with_guest: the command had not ended after 1 s' "$err" && nothing_left
ok $? "a command that does not end is ended"

for signal in "TERM 143" "KILL 137"; do
    read -r name want <<<"$signal"
    # shellcheck disable=SC2016
    env "$mark" "$with_guest" --build "$build" \
        sh -c 'touch "$GUEST_BUILD/begun"; sleep 1000' >"$out" 2>"$err" </dev/null &
    started=$!
    until_true [ -e "$build/begun" ]
    rm -f "$build/begun"
    kill -s "$name" "$started"
    wait "$started" 2>/dev/null
    [ $? -eq "$want" ] && until_true nothing_left
    ok $? "SIG$name leaves nothing"
done

end_tests
