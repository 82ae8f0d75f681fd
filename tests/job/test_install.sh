#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What a user gets: installs the build into a folder of the test's own, and
# compiles, links and runs programs against that; then builds RCX as a part of
# another Meson project. Usage: test_install.sh SOURCE_DIR BUILD_DIR

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "SOURCE_DIR BUILD_DIR" "$@"
source=$(realpath "$1")
build=$(realpath "$2")
cd "$scratch" || exit 2
unset DESTDIR

skip() {
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

have() { command -v "$1" >/dev/null; }
do_it() { "$@" >"$out" 2>&1 </dev/null; }

if ! have meson || ! have pkg-config; then
    echo "1..0 # SKIP needs meson and pkg-config"
    exit 0
fi

# --- installing ---

do_it meson install -C "$build" --no-rebuild --destdir "$scratch/root"
ok $? "meson install"

pc=$(find "$scratch/root" -name rcx.pc)
prefix=$scratch/root$(sed -n 's/^prefix=//p' "$pc")
libdir=$(dirname "$(dirname "$pc")")
library=$libdir/librcx.so
# as if that had been the prefix
sed -i "s|^prefix=.*|prefix=$prefix|" "$pc"
export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir
rcxrun=$prefix/bin/rcxrun

[ -e "$prefix/include/rcx/rcx.h" ] && [ -e "$library" ] \
    && [ "$(find "$prefix/include" -type f | wc -l)" -eq 1 ]
ok $? "one header and the library are installed"

version=$(pkg-config --modversion rcx)
[ -n "$version" ] && [ "$(readlink -f "$library")" = "$library.$version" ]
ok $? "rcx.pc and the library agree on the version"

do_it "$prefix/bin/rcx_trace" --version && [ "$(cat "$out")" = "rcx_trace (RCX) $version" ]
ok $? "rcx_trace is installed, and of that version"

# --- the library from outside ---

readelf -d "$library" >"$out" && grep -q 'SONAME.*\[librcx\.so\.0\]' "$out"
ok $? "the soname is librcx.so.0"

need=20
nm -D --defined-only "$library" >"$out" && grep -q ' T rcx_allreduce@' "$out" \
    && ! grep -vE ' (T rcx_[a-z0-9_]+@@RCX_[0-9]+|A RCX_[0-9]+)$' "$out"
ok $? "only rcx_ functions are exported, with a version"

grep -oE '\brcx_[a-z_]+\(' "$prefix/include/rcx/rcx.h" | tr -d '(' |
    sort -u >declared
nm -D --defined-only "$library" | sed -n 's/.* T \(rcx_.*\)@@.*/\1/p' |
    sort -u >exported
do_it diff declared exported
ok $? "what is declared is exported, and nothing else"

need=6
nm -D --undefined-only "$library" >"$out" && ! grep -E ' P?MPI_' "$out"
ok $? "no symbol of MPI is referenced"

readelf -d "$library" >"$out" && ! grep -E 'NEEDED.*lib(mpi|open-rte)' "$out"
ok $? "no library of MPI is needed"

# --- consumers ---
need=29

cat >consumer.c <<'END'
#include <rcx/rcx.h>
#include <stdio.h>

int main(void)
{
    rcx_context_t *context;
    rcx_comm_t *world;
    double mine = 1, sum = 0;

    if (rcx_init(NULL, &context) != RCX_OK)
        return 1;
    world = rcx_world(context);
    if (rcx_allreduce(&mine, &sum, 1, RCX_DOUBLE, RCX_SUM, world) != RCX_OK ||
        sum != rcx_comm_size(world))
        return 2;
    if (rcx_allreduce(RCX_IN_PLACE, &sum, 1, RCX_DOUBLE, RCX_MAX, world) !=
        RCX_OK)
        return 3;
    printf("%d ranks\n", rcx_comm_size(world));
    return rcx_finalize(&context) == RCX_OK ? 0 : 4;
}
END
cp consumer.c consumer.cc

# The flags of pkg-config, as words.
flags() { read -ra words < <(pkg-config --cflags --libs rcx | xargs); }

# consume SENTENCE COMPILER...: compiles, runs alone and as two ranks
consume() {
    local -r what=$1
    shift
    rm -f ./consumer
    flags
    do_it "$@" -Wall -Wextra -Werror -o consumer "${words[@]}"
    ok $? "$what: compiles"
    do_it ./consumer && [ "$(cat "$out")" = "1 ranks" ]
    ok $? "$what: runs as a single process"
    if [ ! -x "$rcxrun" ]; then
        skip "$what: runs as two ranks" "no rcxrun in this build"
        return
    fi
    do_it "$rcxrun" -n 2 ./consumer && [ "$(sort -u "$out")" = "2 ranks" ]
    ok $? "$what: runs as two ranks"
}

consume "C99" cc -std=c99 -pedantic consumer.c
if have g++; then
    consume "C++17" g++ -std=c++17 -pedantic consumer.cc
else
    skip "C++17" "g++ is not installed"
fi

# --- the README's examples ---

ln -s "$source/examples" examples
while read -r line; do
    name=$(sed -n 's|.*examples/\([a-z_]*\)\.c.*|\1|p' <<<"$line")
    eval "$line" >"$out" 2>&1 </dev/null
    ok $? "README: $line"
    do_it "./$name"
    ok $? "README: ./$name"
    if [ -x "$rcxrun" ]; then
        do_it "$rcxrun" -n 4 "./$name"
        ok $? "README: rcxrun -n 4 ./$name"
    fi
done < <(grep -hE '^ +cc examples/' "$source/README.md" 2>/dev/null)

# --- RCX as a part of another project ---

mkdir -p host/subprojects
cp consumer.c host
ln -s "$source" host/subprojects/rcx
cat >host/meson.build <<'END'
project('host', 'c')
executable('consumer', 'consumer.c',
  dependencies: dependency('rcx', fallback: 'rcx'))
END
do_it meson setup host/build host --force-fallback-for=rcx \
    -Drcx:tests=disabled -Drcx:tools=disabled -Drcx:peers=disabled
ok $? "a superproject finds dependency('rcx') in its subproject"
do_it meson compile -C host/build
ok $? "the superproject builds"
LD_LIBRARY_PATH='' do_it host/build/consumer && [ "$(cat "$out")" = "1 ranks" ]
ok $? "the superproject's program runs"

end_tests
