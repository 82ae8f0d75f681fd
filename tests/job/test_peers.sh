#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Which peers a build of bench_peers finds. Usage: test_peers.sh SOURCE_DIR

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "SOURCE_DIR" "$@"
source=$(realpath "$1")
cd "$scratch" || exit 2

if ! command -v meson >/dev/null; then
    echo "1..0 # SKIP needs meson"
    exit 0
fi

# UCC 1.3 as it is installed, as far as looking for it goes
mkdir -p ucc/include/ucc/api ucc/lib
echo 'int ucc_finalize(void);' >ucc/include/ucc/api/ucc.h
echo 'int ucc_finalize(void) { return 0; }' |
    cc -shared -fPIC -x c - -o ucc/lib/libucc.so

# setup STATUS PREFIX
setup() {
    run "$1" meson setup "build$1" "$source" -Dtests=disabled \
        -Dpeers=enabled -Ducc_prefix="$2"
}

setup 0 "$scratch/ucc" && grep -q '^ *peers *:.*\bucc\b' "$out" &&
    meson introspect --targets build0 | grep -q '"bench_ucc"'
ok $? "UCC is found by header and library in the folder that is named"

rm ucc/lib/libucc.so
setup 1 "$scratch/ucc" && grep -q "C shared or static library 'ucc' not found" "$out"
ok $? "a folder without it is an error"

end_tests
