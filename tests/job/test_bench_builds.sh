#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# bench_builds. Usage: test_bench_builds.sh BENCH_BUILDS LIBRCX

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "BENCH_BUILDS LIBRCX" "$@"
builds=$(realpath "$1")
library=$(realpath "$2")
cd "$scratch" || exit 2

cp "$library" ./other.so
run 0 "$builds" -n 2 --bytes 64 --rounds 3 "$library" ./other.so \
    && [ "$(grep -c 'ns, least .* of the first' "$out")" = 2 ] && grep -q "; 1.000 of the first (1.000 to 1.000)  $library" "$out" \
    && run 2 "$builds" -n 2 --coll allscan "$library" && grep -q "needs a known collective" "$err" \
    && run 1 "$builds" -n 2 ./none.so && grep -q "none.so" "$err"
ok $? "bench_builds times two builds in turns in one process"

end_tests
