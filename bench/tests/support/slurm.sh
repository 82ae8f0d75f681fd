# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Sourced by job/with_slurm and cluster/with_cluster: a private Slurm in one
# temporary folder, a command under it, and the end of both however it comes.
# Needs no systemd, D-Bus or cgroups. The script that sources this sets
#
#   self               its own path: called with --sweep DIR it calls sweep
#   nodes              the names of the nodes
#   start_node NODE    a function that launches slurmd for NODE
#   describe_cluster   a function that prints slurm.conf's lines for the
#                      controller and the nodes

readonly SKIP=77
readonly CPUS_PER_NODE=16
readonly START_SECONDS=30

say() { echo "${self##*/}: $*" >&2; }

skip()
{
    say "skipped: $*"
    exit $SKIP
}

# poll SECONDS COMMAND...: until COMMAND succeeds, at most SECONDS
poll()
{
    local -r end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.05
    done
}

# --- sweeping: what a detached second process does once the first is gone ---

# Every process of ours carries our SLURM_CONF in its environment: daemons and
# COMMAND get it from here, slurmstepd from slurmd, tasks from srun.
marked_pids()
{
    grep -slzxF -- "SLURM_CONF=$dir/slurm.conf" /proc/[0-9]*/environ |
        sed 's|^/proc/||; s|/environ$||' || true
}

# A task may have cleaned its environment, so descendants count as well.
our_pids()
{
    cat /proc/[0-9]*/stat 2>/dev/null | awk -v marked="$(marked_pids)" '
        BEGIN { for (n = split(marked, m); n; n--) ours[m[n]] = 1 }
        { pid = $1; sub(/.*\) /, ""); parent[pid] = $2 }
        END {
            do {
                grown = 0
                for (pid in parent)
                    if (!(pid in ours) && parent[pid] in ours)
                        grown = ours[pid] = 1
            } while (grown)
            for (pid in ours)
                print pid
        }' || true
}

signal_ours()
{
    local pids
    mapfile -t pids < <(our_pids)
    ((${#pids[@]} == 0)) || kill -s "$1" "${pids[@]}" 2>/dev/null || true
}

none_left() { [[ -z $(marked_pids) ]]; }

# Runs in a session of its own and waits for the end of file on its standard
# input, that is for the death of its parent, however it died: Meson sends
# SIGKILL to a test's whole process group half a second after SIGTERM.
sweep()
{
    dir=$1
    set +e
    trap '' INT TERM HUP
    cat >/dev/null
    signal_ours TERM
    if ! poll 2 none_left; then
        signal_ours KILL
        poll 5 none_left || say "processes left: $(marked_pids | xargs)"
    fi
    rm -rf -- "$dir"
}

# --- starting ---

need_programs()
{
    # Debian keeps the daemons where a user's PATH does not look.
    PATH=$PATH:/usr/sbin:/sbin
    local program
    for program in munged slurmctld slurmd srun sinfo setsid "$@"; do
        command -v "$program" >/dev/null || skip "$program is not installed"
    done
    id -un >/dev/null 2>&1 || skip "user $(id -u) has no name"
}

make_folder()
{
    dir=$(mktemp -d "${TMPDIR:-/tmp}/rcx-slurm.XXXXXX")
    exec {life}> >(exec setsid "$BASH" "$self" --sweep "$dir" </dev/stdin)
    sweeper=$!
    mkdir -p "$dir"/{log,state,spool,tmp}
    local node
    for node in "${nodes[@]}"; do
        mkdir -p "$dir"/{spool,tmp}/"$node"
    done
    (umask 077 && head -c 1024 /dev/urandom >"$dir/munge.key")
}

write_conf()
{
    local user
    user=$(id -un)
    # Two slurmd on one host need %n in each path, or the PMIx plugin of the
    # second one fails.
    cat >"$dir/slurm.conf" <<END
ClusterName=rcx
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$dir/munge.socket
CredType=cred/munge
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/slurmctld.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdPidFile=$dir/slurmd.%n.pid
SlurmdLogFile=$dir/log/slurmd.%n.log
SlurmdSpoolDir=$dir/spool/%n
TmpFS=$dir/tmp/%n
MpiDefault=pmix
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
MailProg=/bin/true
$(describe_cluster)
PartitionName=rcx Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    # slurmd dies while it looks for the version of cgroups where there are
    # none; that of version 1 is loaded, and never used.
    echo CgroupPlugin=cgroup/v1 >"$dir/cgroup.conf"
}

# launch NAME COMMAND...: as a daemon of a session of its own, out of reach of
# the terminal's Ctrl-C
launch()
{
    local -r name=$1
    shift
    setsid "$@" </dev/null >"$dir/log/$name.out" 2>&1 {life}>&- &
    daemons[$!]=$name
}

all_alive()
{
    local pid
    failed=
    for pid in "${!daemons[@]}"; do
        kill -0 "$pid" 2>/dev/null || {
            failed=${daemons[$pid]}
            return 1
        }
    done
}

# until_ready COMMAND...: gives up at once when a daemon died
until_ready()
{
    local -r end=$((SECONDS + START_SECONDS))
    until "$@"; do
        all_alive && ((SECONDS < end)) || return 1
        sleep 0.05
    done
}

munge_answers() { [[ -S $dir/munge.socket ]]; }

controller_answers() { scontrol ping 2>/dev/null | grep -q 'is UP'; }

nodes_idle()
{
    local idle
    idle=$(sinfo -h -N -t idle -o %N 2>/dev/null) || return 1
    [[ $(wc -w <<<"$idle") == "${#nodes[@]}" ]]
}

give_up()
{
    say "$1"
    tail -n 15 "$dir"/log/*.out >&2
    exit "${2:-1}"
}

start_slurm()
{
    declare -gA daemons=()
    # --force: munged otherwise refuses a private folder and, in places, root.
    launch munged munged --foreground --force --num-threads=2 \
        --origin=127.0.0.1 --key-file="$dir/munge.key" \
        --socket="$dir/munge.socket" --pid-file="$dir/munged.pid" \
        --log-file="$dir/log/munged.log" --seed-file="$dir/munged.seed"
    until_ready munge_answers ||
        give_up "skipped: munged does not run here" $SKIP
    launch slurmctld slurmctld -D
    until_ready controller_answers ||
        give_up "slurmctld does not answer${failed:+: $failed died}"
    local node
    for node in "${nodes[@]}"; do
        start_node "$node"
    done
    until_ready nodes_idle ||
        give_up "the nodes are not idle${failed:+: $failed died}"
}

# --- running ---

# The sweeper does the work. Waiting for it keeps the caller from seeing
# processes or files of ours; the sleeps must not be swept themselves.
finish()
{
    local -r status=$?
    trap '' INT TERM HUP
    unset SLURM_CONF
    disown -a
    exec {life}>&-
    while kill -0 "$sweeper" 2>/dev/null; do
        sleep 0.02
    done
    exit $status
}

run_command()
{
    # In the background, for the traps to act at once; but a shell makes
    # background commands ignore Ctrl-C and read /dev/null.
    env --default-signal=INT,QUIT "$@" <&0 {life}>&- &
    local status=0
    wait $! || status=$?
    return $status
}

# under_slurm COMMAND...: exits with COMMAND's status
under_slurm()
{
    unset "${!SLURM_@}"
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    make_folder
    trap finish EXIT
    write_conf
    export SLURM_CONF=$dir/slurm.conf
    start_slurm
    local status=0
    run_command "$@" || status=$?
    exit $status
}
