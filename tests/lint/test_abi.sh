#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The binary interface is that of rcx.abi, or has additions only. Usage:
#
#   test_abi.sh CC SOURCE LIBRCX
#   test_abi.sh CC SOURCE LIBRCX write     store the present one as rcx.abi
#
# A release build has no debug information, so the files that define the
# exported functions are compiled once more, with it, by names that are the
# same in each checkout.

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "CC SOURCE LIBRCX [write]" "$@"
read -ra cc <<<"$1"
source=$(realpath "$2")
librcx=$(realpath "$3")
stored=$source/tests/lint/rcx.abi

if ! [ -x "$(command -v abidw)" ] || [ "$(uname -m)" != x86_64 ]; then
    echo "1..0 # SKIP abidw of libabigail, and x86-64 for which $(basename "$stored") is, are not here"
    exit 0
fi

cat >"$scratch/public" <<'EOS'
[suppress_function]
symbol_version_not_regexp = RCX_0
drop = yes
[suppress_type]
source_location_not_regexp = rcx/rcx\.h
drop = yes
EOS

# describe INCLUDE OUT.abi: describe the library with the rcx/rcx.h of INCLUDE
describe()
{
    (cd "$source" && "${cc[@]}" -g -O0 -fPIC -shared -fvisibility=hidden -std=gnu11 -D_GNU_SOURCE -I"$1" -Ilib \
        -Wl,--version-script=lib/rcx.map lib/core/api/*.c lib/core/base/status.c -o "$scratch/librcx.so") \
        && abidw --suppressions "$scratch/public" --headers-dir "$1" --drop-private-types \
            --exported-interfaces-only --drop-undefined-syms --no-elf-needed --no-parameter-names --no-show-locs \
            --no-corpus-path --no-comp-dir-path --type-id-style hash "$scratch/librcx.so" --out-file "$2"
}

symbols() { nm -D --defined-only "$1" | awk '{print $3}' | sort; }

run 0 describe "$source/include" "$scratch/now.abi" \
    && diff <(symbols "$librcx") <(symbols "$scratch/librcx.so") >"$out"
ok $? "the symbols that are compared are those that librcx exports"

if [ "${4-}" = write ]; then
    cp "$scratch/now.abi" "$stored"
    exit
fi

# Added functions are compatible (4: changes; 8: programs break).
run 0 abidiff --no-added-syms "$stored" "$scratch/now.abi"
ok $? "the binary interface is that of rcx.abi ($0 $1 $2 $3 write, once it is meant to change)"
run 0 abidiff "$stored" "$scratch/now.abi"
ok $? "rcx.abi knows all functions that there are"

mkdir -p "$scratch/include/rcx"
sed 's/^\( *\)int rank_count;/\1long rank_count;/' "$source/include/rcx/rcx.h" >"$scratch/include/rcx/rcx.h"
run 0 describe "$scratch/include" "$scratch/other.abi"
abidiff "$stored" "$scratch/other.abi" >"$out" 2>"$err"
[ $? -ge 4 ] && grep -q rank_count "$out"
ok $? "and a member of another type would be found"

end_tests
