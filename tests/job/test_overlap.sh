#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Overlap of communication and computation. The gain depends on the number of
# cores: the figures are printed. They are checked only if each thread of two
# ranks has its own core. Usage: test_overlap.sh RCXRUN OVERLAP_MAIN

# shellcheck source=tests/job/ranks.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/ranks.sh" "RCXRUN OVERLAP_MAIN" "$@"
need=24
within 100
cores=$(nproc)

for progress in call thread; do
    run 0 "$rcxrun" -n 2 -x RCX_PROGRESS=$progress "$main" 100 && is_silent
    ok $? "RCX_PROGRESS=$progress: 10 MB beside 0.1 s of computation"
    read -r blocking wait longer <"$out"
    echo "# blocking $blocking ms, wait $wait ms, computation $longer ms longer, $cores cores"
done
sentence="with a free core it is waited for less than a tenth of its time"
if [ "$cores" -ge 4 ]; then
    awk '{ exit !($2 < 0.1 * $1) }' "$out"
    ok $? "$sentence"
else
    ok 0 "$sentence # SKIP $cores cores"
fi

end_tests
