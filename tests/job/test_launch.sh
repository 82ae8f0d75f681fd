#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Wrong launches and wrong environments give an error that says what to do;
# never a job of singletons, never a hang. Usage: test_launch.sh JOB_MAIN
# [RCXRUN]

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "JOB_MAIN [RCXRUN]" "$@"
main=$(realpath "$1")
rcxrun=${2:+$(realpath "$2")}
has_server "$rcxrun" || rcxrun=

within 60
# The launcher that runs this test must not affect it.
unset "${!PMIX_@}" "${!PMI_@}" "${!SLURM_@}" "${!OMPI_@}"

readonly ERR_CONFIG=4 ERR_LAUNCH=5 ERR_LIMIT=14 # the negated rcx_status_t

# says WORD...: the first error line of RCX has all words
says() {
    local line word
    line=$(grep '^rcx error: ' "$err" | head -1)
    for word; do
        [[ $line == *"$word"* ]] && continue
        echo "# not said: $word"
        return 1
    done
}

lines() { [ "$(grep -c '^rcx error: ' "$err")" -eq "$1" ]; }
# PMIx may say that there is no address of IPv4.
says_nothing() { ! grep -qv 'pmix_ifinit: unable to find network interfaces' "$err"; }
alone() { grep -qx '0 of 1' "$out"; }

# --- a launcher without a PMIx server ---
need=7

for variable in SLURM_NTASKS=4 PMI_SIZE=4 OMPI_COMM_WORLD_SIZE=4 \
    PMIX_RANK=0 PMIX_NAMESPACE=nowhere PMIX_SERVER_URI41=nowhere; do
    run $ERR_LAUNCH env "$variable" "$main" launch && lines 1 \
        && says "$variable" "srun --mpi=pmix" prterun rcxrun RCX_ALLOW_SINGLETON
    ok $? "$variable without a PMIx server is an error with advice"
done

gone='PMIX_SERVER_URI41=1.0;tcp4://127.0.0.1:1'
run $ERR_LAUNCH env PMIX_NAMESPACE=gone PMIX_RANK=0 "$gone" "$main" launch \
    && lines 1 && says PMIX_NAMESPACE=gone "srun --mpi=pmix" prterun rcxrun
ok $? "a PMIx server that is gone is an error with advice"

for variable in SLURM_NTASKS=4 PMI_SIZE=4 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=0; do
    run 0 env "$variable" RCX_ALLOW_SINGLETON=1 "$main" launch \
        && says_nothing && alone
    ok $? "RCX_ALLOW_SINGLETON=1 overrides $variable"
done

for variable in SLURM_NTASKS=1 PMI_SIZE=1 OMPI_COMM_WORLD_SIZE=1 SLURM_JOB_ID=7; do
    run 0 env "$variable" "$main" launch && says_nothing && alone
    ok $? "$variable is a single process"
done

run 0 "$main" launch && says_nothing && alone
ok $? "without a launcher: a single process that prints nothing of its own"

# --- the environment ---
need=

run $ERR_CONFIG env RCX_ALLREDUCE=nonsense "$main" launch && lines 1 \
    && says RCX_ALLREDUCE=nonsense "one of" recursive_doubling ring
ok $? "an unknown algorithm is an error that lists the known ones"

for variable in RCX_REDUCE=ring: "RCX_REDUCE_SCATTER= " RCX_ALLREDUCE=ring:segment \
    RCX_ALLREDUCE=ring:window=3000 RCX_ALLREDUCE=ring:size=4 RCX_ORDER=any \
    RCX_WAIT=sometimes RCX_PLAN_CACHE=-1 RCX_PLAN_CACHE=4Q RCX_ISA=mmx \
    RCX_LOG=loud RCX_ALLOW_SINGLETON=yes; do
    run $ERR_CONFIG env "$variable" "$main" launch && lines 1 \
        && says "$variable" valid
    ok $? "$variable is refused"
done

run 0 env RCX_NO_SUCH=1 "$main" launch && [ "$(wc -l <"$err")" -eq 1 ] \
    && grep -q '^rcx warning: \[0\] RCX_NO_SUCH' "$err"
ok $? "an unknown RCX variable is warned about"

run 0 env RCX_NO_SUCH=1 RCX_LOG=error "$main" launch && says_nothing
ok $? "RCX_LOG=error keeps warnings quiet"

# --- several ranks ---

if [ -n "$rcxrun" ]; then
    run 0 "$rcxrun" -n 4 "$main" launch && says_nothing \
        && [ "$(sort "$out" | xargs)" = "0 of 4 1 of 4 2 of 4 3 of 4" ]
    ok $? "a clean run prints nothing of its own"

    run $ERR_CONFIG "$rcxrun" --keep-going -n 3 -x RCX_ALLREDUCE=nonsense \
        "$main" launch && lines 1 && says "one of" recursive_doubling
    ok $? "a wrong environment is reported once, and an error on every rank"

    # shellcheck disable=SC2016  # the ranks' shell expands them
    run $ERR_LAUNCH "$rcxrun" --keep-going -n 3 bash -c \
        'for v in ${!PMIX_SERVER_URI@}; do export $v=nowhere; done
         exec "$0" launch' "$main" && lines 3 && says prterun
    ok $? "ranks that lost their PMIx server do not become singletons"

    # alone_in RCXRUN_ARGUMENT...: two processes of rcxrun run alone, and warn
    alone_in() {
        run 0 "$rcxrun" -n 2 "$@" && [ "$(grep -cx '0 of 1' "$out")" -eq 2 ] \
            && [ "$(grep -c '^rcx warning: rcxrun (process [0-9]*) has started this process, which runs alone' "$err")" -eq 2 ] \
            && [ "$(wc -l <"$err")" -eq 2 ]
    }
    alone_in env -i "$main" launch && alone_in sh -c 'env -i sh -c "\"$0\" launch; true"' "$main"
    ok $? "ranks whose environment was dropped say so"
    run 0 "$rcxrun" -n 2 env -i RCX_ALLOW_SINGLETON=1 "$main" launch && says_nothing \
        && [ "$(grep -cx '0 of 1' "$out")" -eq 2 ]
    ok $? "and are silent with RCX_ALLOW_SINGLETON=1"
    run $ERR_LIMIT "$rcxrun" -k -n 2 sh -c 'ulimit -n 8; exec "$0" launch' "$main" \
        && [ "$(grep -c '^rcx error: .*fewer than [0-9]* further descriptors (ulimit -n)$' "$err")" -eq 2 ]
    ok $? "too few descriptors for PMIx are named"

    # waits NAME OPTION...: 3 ranks, of which the last comes once some other
    # rank has warned. Real time passes: the first warning is due after 5 s.
    waits() {
        begin "$1" "$rcxrun" -n 3 "${@:2}" sh -c '[ "$PMIX_RANK" != 2 ] || until grep -q "has waited" "$1"; do sleep 0.1; done
            exec "$0" launch' "$main" "$scratch/$1.err"
    }
    warned() { # COUNT TEXT: warnings of this text, and nothing else
        [ "$(grep -c "^rcx warning: \[[01]\] rcx_init has waited [0-9.]* s: $2\$" "$err")" -eq "$1" ] \
            && [ "$(wc -l <"$err")" -eq "$1" ]
    }
    waits one_node
    waits nodes --nodes 3
    end one_node 0 && warned 1 'rank 2 did not call rcx_init'
    ok $? "one rank of a node warns of those that have not called rcx_init"
    end nodes 0 && warned 2 'PMIx does not report which ranks are missing; all ranks of this node have called rcx_init'
    ok $? "where PMIx does not know them, one rank of each node says so"
    out=$scratch/out err=$scratch/err
fi

end_tests
