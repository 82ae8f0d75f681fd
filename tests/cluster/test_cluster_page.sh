#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# docs/howto/cluster.md: its files and commands, as they are printed, on two
# emulated nodes. There is no ssh: a command of that name enters the namespaces of a node.
# Usage: test_cluster_page.sh WITH_CLUSTER PAGE PROGRAM

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "WITH_CLUSTER PAGE PROGRAM" "$@"
# The head of the cluster runs this script again.
[ "$1" = inside ] || on_cluster "$1" 2 200mbit "$0" inside "$(realpath "$2")" "$(realpath "$3")"
page=$2
within 120
cd "$scratch" || exit 2
ln -s "$3" allreduce # the library is found beside its target

# block N [LANGUAGE]: the Nth block of code that begins so
block() {
    awk -v n="$1" -v start="\`\`\`${2-}" '
        $0 == "```" && inside { inside = 0; next }
        /^```/ { inside = 1; shown = $0 == start && ++count == n; next }
        inside && shown' "$page"
}
# is_printed LINE: the page has this command
is_printed() { grep -qxF "    $1" "$page"; }
sums() { [ "$(<"$1")" = "1 + ... + 4 = 10" ]; }

# ssh HOST COMMAND: what a shell of that node does, in the home folder, without this environment
mkdir bin
cat >bin/ssh <<'END'
#!/usr/bin/env bash
while [[ $1 == -* ]]; do shift; done
for file in /proc/[0-9]*/cmdline; do
    pid=${file%/cmdline} pid=${pid##*/}
    mapfile -d '' -t words 2>/dev/null <"$file"
    [[ ${words[0]-} == slurmd && ${words[*]: -2} == "-N $1" ]] &&
        grep -qzxF "SLURM_CONF=$SLURM_CONF" "/proc/$pid/environ" && break
    pid=
done
[[ $pid ]] && cd / && exec nsenter --target "$pid" --net --ipc --uts --mount \
    env -i PATH="$PATH" HOME="$HOME" SLURM_CONF="$SLURM_CONF" sh -c "${*:2}"
END
chmod +x bin/ssh

block 1 sh >sum.sbatch
is_printed 'sbatch sum.sbatch' && run 0 sbatch --wait --output=sum.out sum.sbatch && sums sum.out
ok $? "Slurm: the batch file"
{ grep '^#' sum.sbatch && block 2 sh; } >file.sbatch
run 0 sbatch --wait --output=file.out file.sbatch && sums file.out && [ -z "$(ls root.* 2>&-)" ]
ok $? "Slurm: without PMIx the ranks meet by a file"

export PATH=$scratch/bin:$PATH
block 3 sh >start.sh
printf 'n1\nn2\nn1\nn2\n' >hosts
is_printed 'sh start.sh hosts ./allreduce' && run 0 sh start.sh hosts ./allreduce && sums "$out" && is_silent
ok $? "ssh: start.sh sums over two nodes, of two ranks each"
run 1 sh start.sh hosts ./none && [ "$(grep -c 'none: not found' "$err")" -eq 4 ]
ok $? "ssh: start.sh fails if a rank does"
run 0 sh start.sh hosts 'ps -o args= -C sh'
! grep -q 'RCX_SECRET=[^ ]' "$out"
ok $? "ssh: the secret is in no command line"

block 1 >hosts
hostfile='--hostfile hosts -n 4 -x RCX_TIMEOUT=60s ./allreduce'
is_printed "mpirun $hostfile"
ok $? "a hostfile: the page has the command"
launched() {
    if command -v "$1" >/dev/null; then
        unset "${!SLURM_JOB@}"
        # shellcheck disable=SC2086  # words
        run 0 env OMPI_MCA_plm=rsh PRTE_MCA_plm=ssh "$@" $hostfile && sums "$out"
        ok $? "a hostfile: $1"
    else
        ok 0 "a hostfile: $1 # SKIP it is not installed"
    fi
}
root=()
[ "$(id -u)" -ne 0 ] || root=(--allow-run-as-root)
launched mpirun.openmpi "${root[@]}" --leave-session-attached
launched prterun "${root[@]}" --leave-session-attached

end_tests
