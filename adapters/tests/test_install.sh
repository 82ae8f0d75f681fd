#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Installation as a user does it: runs the lines of README.md that build and
# install the adapters, as they are printed, but for the prefix. Then compiles
# programs against what is installed, and runs them. Usage: test_install.sh
# SOURCE_DIR RCXRUN RCX_LIBDIR

# shellcheck source=adapters/tests/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/tap.sh"
takes "SOURCE_DIR RCXRUN RCX_LIBDIR" "$@"
source=$(realpath "$1")
rcxrun=$(realpath "$2")
libdir=$(realpath "$3")
bound=(timeout -k 5 120)
prefix=$scratch/prefix
unset DESTDIR
# what a user says of a prefix that neither pkg-config nor the loader searches
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$libdir/pkgconfig:${PKG_CONFIG_PATH-}
export LD_LIBRARY_PATH=$prefix/lib:$libdir
export CFLAGS=-O0 FCFLAGS=-O0 # speed does not matter here

mkdir "$scratch/checkout"
ln -s "$source" "$scratch/checkout/adapters"
cd "$scratch/checkout" || exit 2

# the user may write to the prefix; the loader needs no cache
# shellcheck disable=SC2317 # the lines call it
sudo() { [ "$1" = ldconfig ] || "$@"; }
export -f sudo
recipe=$(sed -n '/^    meson setup /,/^    sudo ldconfig/ s/^    //p' "$source/README.md")
[ "$(wc -l <<<"$recipe")" -eq 4 ]
ok $? "README has a recipe, from meson setup to ldconfig"
while read -r line; do
    [[ $line != "meson setup"* ]] || line+=" --prefix='$prefix'"
    run 0 bash -c "$line"
    ok $? "README: $line"
done <<<"$recipe"

(cd "$prefix" && find . -type f ! -name "*.so.*" ! -name "*.so" ! -path "*/rcx_nvector.*" >"$out")
! grep -vx './include/rcx/rcx_lightgbm\.h' "$out"
ok $? "a header for LightGBM, header and pkg-config file for SUNDIALS, and the libraries are installed"

# flags MODULE: stores the flags of pkg-config as words
flags() { mapfile -t words < <(pkg-config --cflags --libs "$1" | xargs -n 1); }

if [ -e "$prefix/include/rcx/rcx_nvector.h" ]; then
    flags rcx_nvector
    run 0 cc "$source/sundials/heat.c" -o heat "${words[@]}" -lsundials_cvode -lsundials_sunlinsolspgmr -lm
    ok $? "SUNDIALS: the example compiles with pkg-config's flags"
    run 0 "$rcxrun" -n 2 ./heat 50 0.01 && [ "$(grep -c '^t ' "$out")" -eq 10 ]
    ok $? "SUNDIALS: and runs"
else
    skip "it is not installed" "SUNDIALS"
fi
if [ -e "$prefix/lib/libcaf_rcx.so" ]; then
    run 0 gfortran -fcoarray=lib "$source/coarray/examples/wave.f90" -L"$prefix/lib" -lcaf_rcx -o wave
    ok $? "coarrays: the example compiles"
    run 0 "$rcxrun" -n 2 ./wave && [ "$(wc -l <"$out")" -gt 3 ]
    ok $? "coarrays: and runs"
else
    skip "it is not installed" "coarrays"
fi
if [ -e "$prefix/lib/librcx_lightgbm.so" ]; then
    flags rcx
    echo '#include <rcx/rcx_lightgbm.h>
int main(void) { return rcx_lightgbm_use == 0; }' >lightgbm.c
    run 0 cc -std=c99 -pedantic -Wall lightgbm.c -I"$prefix/include" -L"$prefix/lib" -lrcx_lightgbm "${words[@]}" -o lightgbm \
        && run 0 ./lightgbm
    ok $? "LightGBM: the header compiles as C99, and the library is found"
else
    skip "it is not installed" "LightGBM"
fi

end_tests
