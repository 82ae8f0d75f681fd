#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# with_cluster itself: its exit status and messages, and that no process, file
# or link is left, however it ends. Usage: test_with_cluster.sh WITH_CLUSTER
# DELAY_LINK

set -m # a background job has its own process group

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "WITH_CLUSTER DELAY_LINK" "$@"
with_cluster=$(realpath "$1")
delay_link=$(realpath "$2")
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"

# A variable in the environment marks all processes of the cluster, and no
# helper of this shell.
mark=RCX_CLUSTER_MARK=mark-$$-$RANDOM
cluster() { env "$mark" "$with_cluster" "$@"; }

no_processes() { ! grep -qszxF "$mark" /proc/[0-9]*/environ; }
one_folder() { [ "$(find "$TMPDIR" -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ]; }
no_files() { [ -z "$(ls -A "$TMPDIR")" ]; }
no_links() { [ "$(ip -brief link | sed 's/ .*//')" = "$links" ]; }
nothing_left() { no_processes && no_files && no_links; }

run 0 cluster 2 none true
status=$?
if [ $status -ne 0 ] && grep -q '^with_cluster: skipped: ' "$err"; then
    echo "1..0 # SKIP $(sed -n 's/.*skipped: //p' "$err")"
    exit 0
fi
PATH=$PATH:/usr/sbin:/sbin
links=$(ip -brief link | sed 's/ .*//')
[ $status -eq 0 ] && nothing_left
ok $? "a cluster starts and ends"

for arguments in "" "2 none" "0 none true" "x none true" "2 fast true" \
    "1000 none true"; do
    # shellcheck disable=SC2086 # words
    run 2 cluster $arguments && grep -q '^usage: with_cluster' "$err"
    ok $? "wrong arguments give 2 and a message: $arguments"
done

# shellcheck disable=SC2016 # the head's shell expands it
run 7 cluster 1 1gbit sh -c 'echo "$(hostname) $0"; exit 7' said \
    && [ "$(cat "$out")" = "head said" ] && is_silent && nothing_left
ok $? "the command runs on the head, and its status is passed on"

run 0 cluster 2 50mbit sh -c 'tc qdisc show; srun -Q -N2 tc qdisc show dev eth0' \
    && [ "$(grep -c 'qdisc tbf .* rate 50Mbit' "$out")" -eq 4 ]
ok $? "each link is shaped at both ends"

# Half a second from end to end: a connection takes a second at least.
cat >"$scratch/ask" <<'END'
import os, socket, time
if os.environ["SLURM_PROCID"] == "1":
    socket.create_server(("", 7777)).accept()[0].sendall(b"hi")
else:
    while True:
        start = time.monotonic()
        try:
            peer = socket.create_connection(("n2", 7777))
            break
        except OSError: # it does not listen yet
            time.sleep(0.1)
    print(peer.recv(2).decode(), int(1000 * (time.monotonic() - start)))
END
run 0 cluster --delay 500000 "$delay_link" 2 none srun -Q -N2 python3 "$scratch/ask" \
    && read -r said ms <"$out" && [ "$said" = hi ] && [ "$ms" -ge 1000 ] && nothing_left
ok $? "links delay what they carry"
run 2 cluster --delay 5 "$scratch/none" 2 none true
ok $? "a delay needs its program"

# A copy, as other users may not be able to read the home folder of root.
cp -r "${with_cluster%/*}" "${with_cluster%/*}/../support" "$scratch"
chmod -R a+rX "$scratch"
run 77 setpriv --reuid=65534 --regid=65534 --clear-groups \
    "$scratch/cluster/with_cluster" 2 none true \
    && [ "$(grep -c '^with_cluster: skipped: ' "$err")" -eq 1 ] \
    && [ "$(wc -l <"$err")" -eq 1 ]
ok $? "without root it prints one line, and skips"

# --- two at once, one of which is ended ---

# start NAME: a cluster whose every node is busy, in the background
start() {
    # shellcheck disable=SC2016 # the nodes' shells expand it
    cluster 2 none srun -Q -N2 sh -c ': >"$0"; sleep 600' "$scratch/$1" \
        >"$scratch/$1.out" 2>&1 </dev/null &
    started=$!
    until_true [ -e "$scratch/$1" ]
}

start other
other=$started
kept=$mark
mark=RCX_CLUSTER_MARK=mark-$$-$RANDOM
for signal in "TERM 143" "INT 130" "KILL 137"; do
    read -r name want <<<"$signal"
    start "$name"
    kill -s "$name" -- "-$started"
    wait "$started" 2>/dev/null
    got=$?
    [ $got -eq "$want" ] && until_true no_processes \
        && until_true one_folder
    ok $? "SIG$name leaves nothing"
done
kill -0 "$other" 2>/dev/null && run 0 ls -d "$TMPDIR"/rcx-slurm.*
ok $? "and leaves another cluster alone"
kill -- "-$other"
wait "$other" 2>/dev/null
mark=$kept
until_true nothing_left
ok $? "which leaves nothing either"

end_tests
