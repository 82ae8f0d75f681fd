#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Memory use is bounded (need 25). Usage: test_memory.sh RCXRUN MEMORY_MAIN MIB

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN MEMORY_MAIN MIB" "$@"
need=25
within 120
tcp=(-x UCX_TLS=tcp,self -x UCX_NET_DEVICES=lo)

run 0 "$rcxrun" -n 3 "$main" ahead && is_silent
ok $? "senders that are far ahead fill no memory"
run 0 "$rcxrun" -n 3 "${tcp[@]}" "$main" ahead && is_silent
ok $? "senders that are far ahead fill no memory, over TCP"
run 0 "$rcxrun" -n 2 "$main" vector "$3" && is_silent
ok $? "an allreduce of $3 MiB takes its buffers and no 64 MiB more"

end_tests
