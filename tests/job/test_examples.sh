#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Examples that no other test runs. Usage: test_examples.sh RCXRUN
# EXAMPLE_PIPELINE

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN EXAMPLE_PIPELINE" "$@"
rcxrun=$(realpath "$1")
pipeline=$(realpath "$2")

# prints LINE: the output is LINE, and nothing else
prints() { [ "$(cat "$out")" = "$1" ] && is_silent; }

bad=0
for n in 1 2 3 4; do
    run 0 "$rcxrun" -n $n "$pipeline" && prints "32 blocks of $n ranks summed, 0 elements wrong" || wrong
done
ok $bad "blocks are summed while others are computed, and each sum is what one process computes"

bad=0
for settings in RCX_ALLREDUCE=ring:segment=1K RCX_PROGRESS=thread RCX_CHECK=full; do
    run 0 env $settings "$rcxrun" -n 3 "$pipeline" \
        && prints "32 blocks of 3 ranks summed, 0 elements wrong" || wrong
done
ok $bad "in segments, by a thread, and compared by all ranks as well"

end_tests
