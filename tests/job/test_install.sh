#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installation as a user does it: runs the lines of README.md that build and
# install RCX, as they are printed, on a system that looks like Debian without
# dpkg-dev, cmocka and network. Then compiles, links and runs programs against
# the installed library. No search path is set here. Usage: test_install.sh
# SOURCE_DIR
#
# All of it runs in a mount namespace, where files written to /usr/local and
# /etc are visible to this test only. Skipped if such namespaces are not
# permitted.

set -u

# --- outside: the namespace ---

if [ "${1-}" != --inside ]; then
    if [ $# -ne 1 ]; then
        echo "usage: $0 SOURCE_DIR" >&2
        exit 2
    fi
    apart=(unshare --mount --propagation private)
    [ "$(id -u)" -eq 0 ] || apart+=(--map-root-user)
    for tool in meson ninja pkg-config ldconfig; do
        PATH=$PATH:/usr/sbin:/sbin command -v $tool >/dev/null || {
            echo "1..0 # SKIP needs $tool"
            exit 0
        }
    done
    "${apart[@]}" unshare --net true 2>/dev/null || {
        echo "1..0 # SKIP needs namespaces: root outside a chroot, or users who may"
        exit 0
    }
    # This folder stays empty outside of the namespace, so removing it removes
    # nothing else.
    place=$(mktemp -d)
    "${apart[@]}" "$BASH" "$0" --inside "$(realpath "$1")" "$place"
    status=$?
    rmdir "$place"
    exit $status
fi
source=$2
place=$3

# shadow DIR: changes of DIR are visible in this namespace only. Files of the
# real DIR are links in a new one, which unlike overlayfs works without root.
shadow() {
    local -r old=$place/old$1 new=$place/new$1
    mkdir -p "$old" "$new" &&
        mount --rbind "$1" "$old" && mount -o remount,bind,ro "$old" || return
    # Files that this user cannot read are not needed.
    cp -rs "$old/." "$new" 2>/dev/null
    (cd "$old" && find . -type l -exec \
        cp -P --parents --remove-destination -t "$new" {} +) 2>/dev/null
    mount --rbind "$new" "$1"
}

# hide FILE...: those that exist are empty in this namespace
hide() {
    local file
    for file; do
        [ ! -f "$file" ] || mount --bind "$place/empty" "$file" || return
    done
}

enter() {
    mount -t tmpfs tmpfs "$place" && : >"$place/empty" || return
    chmod +x "$place/empty"
    local folder
    for folder in /usr/local /etc /var/cache/ldconfig; do
        [ ! -d $folder ] || shadow $folder || return
    done
    # bindings/torch takes longer to build than everything else
    [ ! -d /usr/include/torch ] || mount -t tmpfs tmpfs /usr/include/torch || return
    hide /usr/bin/dpkg-architecture \
        {/usr,/usr/local}/{lib,share}{,64,/*}/pkgconfig/cmocka.pc \
        {/usr,/usr/local}/{lib,share}{,64,/*}/cmake/cmocka/cmocka-config.cmake
}

if ! why=$(enter 2>&1); then
    echo "1..0 # SKIP cannot mount: ${why##*$'\n'}"
    exit 0
fi

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
cd "$scratch" || exit 2
# meson test makes the loader search the build folder
unset DESTDIR LD_LIBRARY_PATH

skip() {
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

have() { command -v "$1" >/dev/null; }
do_it() { "$@" >"$out" 2>&1 </dev/null; }

# --- the README's lines ---
need=29

# the user is root in the namespace
sudo() { PATH=$PATH:/usr/sbin:/sbin "$@"; }
export -f sudo

# A checkout without build folders.
mkdir checkout
for entry in "$source"/*; do
    [[ ${entry##*/} == build* ]] || ln -s "$entry" checkout
done
cd checkout || exit 2
export CFLAGS=-O0 # speed does not matter here

recipe=$(sed -n '/^    meson setup /,/^    cc examples/ s/^    //p' \
    "$source/README.md")
grep -q '^cc examples' <<<"$recipe"
ok $? "README has a recipe, from meson setup to cc"
while read -r line; do
    do_it unshare --net bash -c "$line"
    ok $? "README: $line"
    if [[ $line == meson* ]]; then
        ! grep -qi download "$out" && grep -q '^ *cpp *: YES' "$out" && grep -q '^ *torch *: NO' "$out"
        ok $? "the summary says which bindings are built, and nothing is downloaded"
        do_it meson test -C build --no-rebuild && grep -q '^1/1 tests are not built, as cmocka is not installed *SKIP' "$out"
        ok $? "without cmocka the one test says that tests are not built"
    elif [[ $line == "ninja -C build" ]]; then
        ! have g++ || do_it ls build/bindings/cpp/average
        ok $? "without cmocka the example of C++ is built"
        ! have gfortran || do_it ls build/bindings/fortran/cg
        ok $? "and that of Fortran"
    fi
done <<<"$recipe"

# the names of tools/packages.sh
names() { tr ' ' '\n' | grep -v '^$' | sort; }
sed -n 's/^    sudo apt-get install --yes --no-install-recommends //p' "$source/README.md" |
    names >named
awk '$1 == "build" && $2 != "libcmocka-dev" { print $2 }' \
    "$source/tools/packages.sh" | names >needed
do_it diff needed named
ok $? "README names the packages that a build needs"

do_it ldd allreduce && grep -q ' /usr/local/lib/librcx\.so\.0 ' "$out"
ok $? "the loader finds the library that was installed"
do_it ./allreduce && [ "$(cat "$out")" = "1 + ... + 1 = 1" ]
ok $? "README: ./allreduce"
do_it rcxrun -n 4 ./allreduce && [ "$(cat "$out")" = "1 + ... + 4 = 10" ]
ok $? "README: rcxrun -n 4 ./allreduce"

# --- installed files ---

do_it meson install -C build --no-rebuild --destdir "$scratch/root"
ok $? "meson install --destdir"
cd "$scratch" || exit 2
prefix=/usr/local
library=$prefix/lib/librcx.so

# bindings are installed if the libraries that they bind to are: see below
(cd root && find . -type f ! -name "*.so.*" ! -name rcx-fortran.pc ! -path "*/rcx/fortran/*" ! -name "*.so" ! -path "*/dist-packages/*" ! -path "*/man/*" | sort) >installed
diff installed - >"$out" <<END
./usr/local/bin/rcx_info
./usr/local/bin/rcx_perf
./usr/local/bin/rcx_sim
./usr/local/bin/rcx_top
./usr/local/bin/rcx_trace
./usr/local/bin/rcx_tune
./usr/local/bin/rcxrun
./usr/local/include/rcx/rcx.h
./usr/local/include/rcx/rcx.hpp
./usr/local/lib/cmake/rcx/rcx-config-version.cmake
./usr/local/lib/cmake/rcx/rcx-config.cmake
./usr/local/lib/pkgconfig/rcx.pc
./usr/local/share/bash-completion/completions/rcx_info
./usr/local/share/fish/vendor_completions.d/rcx_info.fish
./usr/local/share/fish/vendor_completions.d/rcx_perf.fish
./usr/local/share/fish/vendor_completions.d/rcx_sim.fish
./usr/local/share/fish/vendor_completions.d/rcx_top.fish
./usr/local/share/fish/vendor_completions.d/rcx_trace.fish
./usr/local/share/fish/vendor_completions.d/rcx_tune.fish
./usr/local/share/fish/vendor_completions.d/rcxrun.fish
./usr/local/share/zsh/site-functions/_rcx
END
ok $? "one header, files for pkg-config, CMake and shells, and the tools are installed beside the library"

(cd root/usr/local && ls bin >"$scratch/programs" && ls share/bash-completion/completions) >completed
do_it diff "$scratch/programs" completed
ok $? "each tool has completion"

do_it ls $prefix/share/man/man3/rcx_{init,iallreduce,wait}.3 $prefix/share/man/man7/rcx.7
ok $? "and the manual"

version=$(pkg-config --modversion rcx)
[ -n "$version" ] && [ "$(readlink -f "$library")" = \
    "$(readlink -f $prefix/lib)/librcx.so.$version" ]
ok $? "rcx.pc and the library agree on the version"

do_it rcx_trace --version && [ "$(cat "$out")" = "rcx_trace (RCX) $version" ]
ok $? "rcx_trace is installed, and of that version"

# --- the library from outside ---

readelf -d "$library" >"$out" && grep -q 'SONAME.*\[librcx\.so\.0\]' "$out"
ok $? "the soname is librcx.so.0"

need=20
nm -D --defined-only "$library" >"$out" && grep -q ' T rcx_allreduce@' "$out" \
    && ! grep -vE ' (T rcx_[a-z0-9_]+@@RCX_[0-9]+|A RCX_[0-9]+)$' "$out"
ok $? "only rcx_ functions are exported, with a version"

grep -oE '\brcx_[a-z0-9_]+\(' "$prefix/include/rcx/rcx.h" | tr -d '(' |
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

cp "$source/tests/job/consumer.c" .
cp consumer.c consumer.cc

# Store the flags of pkg-config as words.
flags() { read -ra words < <(pkg-config --cflags --libs rcx | xargs); }

# consume SENTENCE COMPILER...: compile the consumer, run it alone and as two
# ranks
consume() {
    local -r what=$1
    shift
    rm -f ./consumer
    flags
    do_it "$@" -Wall -Wextra -Werror -o consumer "${words[@]}"
    ok $? "$what: compiles"
    do_it ./consumer && [ "$(cat "$out")" = "1 ranks" ]
    ok $? "$what: runs as a single process"
    do_it rcxrun -n 2 ./consumer && [ "$(sort -u "$out")" = "2 ranks" ]
    ok $? "$what: runs as two ranks"
}

# only rcx.pc is visible, as on systems with only the runtime packages of UCX
# and PMIx
do_it env PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig pkg-config --cflags --libs rcx \
    && grep -q -- -lrcx "$out" && ! grep -qE 'ucp|pmix' "$out"
ok $? "pkg-config needs no file but rcx.pc"

consume "C99" cc -std=c99 -pedantic consumer.c
if have g++; then
    consume "C++17" g++ -std=c++17 -pedantic consumer.cc
else
    skip "C++17" "g++ is not installed"
fi

if have cmake; then
    mkdir with_cmake
    cp "$source/examples/allreduce.c" with_cmake
    {
        printf '%s\n' 'cmake_minimum_required(VERSION 3.18)' 'project(sum C)' 'add_executable(allreduce allreduce.c)'
        sed -n '/^    \(find_package\|target_link_libraries\)(/s/^    //p' "$source/README.md"
    } >with_cmake/CMakeLists.txt
    [ "$(wc -l <with_cmake/CMakeLists.txt)" -eq 5 ] && do_it cmake -S with_cmake -B with_cmake/build \
        && do_it cmake --build with_cmake/build
    ok $? "CMake: README's lines find it, and compile"
    do_it rcxrun -n 2 with_cmake/build/allreduce && [ "$(cat "$out")" = "1 + ... + 2 = 3" ]
    ok $? "CMake: runs as two ranks"
    mkdir linked && ln -s $prefix/lib linked/lib
    do_it cmake -S with_cmake -B with_cmake/linked -Drcx_DIR="$PWD/linked/lib/cmake/rcx" \
        && do_it cmake --build with_cmake/linked
    ok $? "CMake: it is found by a link, as /lib is one"
    sed -i 's/rcx 0.2/rcx 1.0/' with_cmake/CMakeLists.txt
    ! do_it cmake -S with_cmake -B with_cmake/other && grep -q 'version: 0\.2\.0' "$out"
    ok $? "CMake: a version that it is not is refused"
else
    skip "CMake" "it is not installed"
fi

if have g++; then
    read -ra words < <(pkg-config --cflags --libs rcx | xargs)
    do_it g++ -std=c++20 -Wall -Wextra -Werror "$source/bindings/cpp/average.cc" -o average "${words[@]}"
    ok $? "C++20: the example of rcx.hpp compiles with pkg-config's flags"
    do_it rcxrun -n 2 ./average && grep -q '^3 values, mean 7.000, ' "$out"
    ok $? "C++20: and runs"
fi
# the lines of docs/howto/fortran.md, in the checkout, on the files that it has
page=$source/docs/howto/fortran.md
block() { awk -v start="\`\`\`$1" '$0 == start { on = 1; next } on && $0 == "```" { exit } on' "$page"; }
if have gfortran; then
    do_it find root$prefix/lib -path '*/rcx/fortran/rcx.mod' && [ -s "$out" ]
    ok $? "Fortran: the module is installed"
    block fortran >checkout/hello.f90
    block cmake >checkout/CMakeLists.txt
    sed -n '/apt-get/d; s/^    //p' "$page" >lines
    [ "$(grep -c '^\(meson\|gfortran\|rcxrun\|cmake\)' lines)" -eq "$(wc -l <lines)" ]
    ok $? "Fortran: the page has commands"
    while read -r line; do
        if [[ $line == *cmake* ]] && ! have cmake; then
            skip "Fortran: $line" "CMake is not installed"
            continue
        fi
        (cd checkout && do_it bash -c "$line") && case $line in
            *hello) [ "$(cat "$out")" = "the sum is  10.0  10.0  10.0" ] ;;
            *./cg) grep -q '^4 ranks: [0-9]* iterations, error ' "$out" ;;
            *exact) grep -q '^3 ranks: .*, difference from one rank 0.0E+00$' "$out" ;;
        esac
        ok $? "Fortran: $line"
    done <lines
    sed 's/fortran)/fortran pascal)/' checkout/CMakeLists.txt >with_cmake/CMakeLists.txt
    ! do_it cmake -S with_cmake -B with_cmake/pascal && grep -q 'RCX has no pascal here' "$out"
    ok $? "CMake: a component that there is not is refused"
else
    skip "Fortran" "gfortran is not installed"
fi
if [ -e "$(echo root$prefix/lib/python3*/dist-packages/rcx)" ] && /usr/bin/python3 -c 'import numpy' 2>"$out"; then
    cp "$source/bindings/python/examples/fit.py" .
    do_it rcxrun -n 2 /usr/bin/python3 fit.py && grep -q '^2 ranks: ' "$out"
    ok $? "Python: the example finds package and library"
else
    skip "Python" "it is not installed"
fi

end_tests
