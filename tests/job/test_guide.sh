#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# docs/reference/guide.md: its code runs, and covers every operation; each
# chapter states its order level and the effect of a failure. Usage:
# test_guide.sh RCXRUN GUIDE_PIECES GUIDE RCX_H

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "RCXRUN GUIDE_PIECES GUIDE RCX_H" "$@"
rcxrun=$(realpath "$1")
pieces=$(realpath "$2")
guide=$(realpath "$3")
header=$(realpath "$4")

count=$(grep -c '^```c$' "$guide")
functions=$(grep -A1 '^```c$' "$guide" | grep -c '^static ')
last=$(sed -n 's/^## //p' "$guide" | tail -1)

# runs RANKS [SETTING...]: run all pieces but the last one, which ends the job
runs() {
    local -r n=$1
    shift
    run 0 env "$@" "$rcxrun" --timeout 100 -n "$n" "$pieces" \
        && [ "$(cat "$out")" = "$((count - functions - 1)) pieces" ]
}

[ "$count" -gt 20 ]
ok $? "the guide has code"
for n in 1 2 3; do
    runs $n
    ok $? "every piece of it runs on $n ranks, and what it asserts holds"
done
runs 4 RCX_CHECK=full && runs 3 RCX_ORDER=canonical
ok $? "and where calls are compared, and where order is strict"

bad=0
for n in 1 2 3; do
    "$rcxrun" --timeout 100 -n $n "$pieces" "$last" >"$out" 2>"$err" </dev/null && bad=1
    grep -q 'the residual is not a number' "$err" && [ ! -s "$out" ] || wrong
done
ok $bad "the last chapter's ends the job, and says why"

# Functions with a persistent form count as operations.
bad=0
for name in $(grep -o 'rcx_[a-z_]*_init(' "$header" | sed 's/_init($//' | sort -u) rcx_wait rcx_wait_any rcx_wait_all rcx_wait_for \
    rcx_test rcx_start rcx_abort rcx_comm_set_timeout; do
    sed -n '/^```c$/,/^```$/p' "$guide" | grep -q "\<i\?$name(" || { echo "# no piece calls $name"; bad=1; }
done
ok $bad "every operation of rcx.h is called in a piece"

awk '/^## / { if (chapter != "" && (order != 1 || failure != 1)) { print "# " chapter; bad = 1 }
         chapter = $0; order = failure = 0 }
     { order += gsub(/[*][*]Order[.][*][*]/, "&"); failure += gsub(/[*][*]Failure[.][*][*]/, "&") }
     /^What holds for all/ { order = failure = 0 }
     END { exit bad || order != 1 || failure != 1 }' "$guide"
ok $? "every chapter says its order level and what a failure leaves"

end_tests
