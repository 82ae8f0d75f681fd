#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Bounded memory (need 25). Usage: test_memory.sh RCXRUN MEMORY_MAIN MIB

set -u

if [ $# -ne 3 ]; then
    echo "usage: $0 RCXRUN MEMORY_MAIN MIB" >&2
    exit 2
fi
rcxrun=$(realpath "$1")
main=$(realpath "$2")
# shellcheck source=tests/job/tap.sh
source "$(dirname "$0")/tap.sh"
need=25
unset "${!RCX_@}"
bound=(timeout -k 5 120)
tcp=(-x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo)

run 0 "$rcxrun" -n 3 "$main" ahead && [ ! -s "$err" ]
ok $? "senders that are far ahead fill no memory"
run 0 "$rcxrun" -n 3 "${tcp[@]}" "$main" ahead && [ ! -s "$err" ]
ok $? "senders that are far ahead fill no memory, over TCP"
run 0 "$rcxrun" -n 2 "$main" vector "$3" && [ ! -s "$err" ]
ok $? "an allreduce of $3 MiB takes its buffers and no 64 MiB more"

echo "1..$number"
exit $((failed > 0))
