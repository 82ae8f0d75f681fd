#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The Debian packages: builds them, checks them by lintian, installs and uses
# them. All writes go to a layer over this system, which is removed with the
# test. Usage: test_package.sh SOURCE_DIR

if [ "${1-}" != --inside ]; then
    for tool in dpkg-buildpackage lintian dh help2man git gfortran; do
        command -v $tool >/dev/null || {
            echo "1..0 # SKIP needs $tool"
            exit 0
        }
    done
    [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null || {
        echo "1..0 # SKIP needs root and namespaces"
        exit 0
    }
fi

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"

# --- inside the layer ---

if [ "${1-}" = --inside ]; then
    cd "$3" || exit 2
    unset LD_LIBRARY_PATH PYTHONPATH
    rm ./*-dbgsym_*.deb
    run 0 dpkg --install ./*.deb
    ok $? "they install"
    # shellcheck disable=SC2046
    run 0 cc "$2/examples/allreduce.c" -o allreduce $(pkg-config --cflags --libs rcx) && run 0 rcxrun -n 4 ./allreduce \
        && [ "$(cat "$out")" = "1 + ... + 4 = 10" ]
    ok $? "a program compiles with them, and runs"
    run 0 rcxrun -n 2 /usr/bin/python3 "$2/bindings/python/examples/fit.py" && grep -q '^2 ranks: ' "$out"
    ok $? "Python finds the package"
    # shellcheck disable=SC2046
    run 0 gfortran "$2/bindings/fortran/examples/cg.f90" -o cg $(pkg-config --cflags --libs rcx-fortran) && run 0 rcxrun -n 2 ./cg exact \
        && grep -q '^2 ranks: .* difference from one rank 0.0E+00$' "$out"
    ok $? "a Fortran program compiles with them, and runs"
    LC_ALL=C.UTF-8 run 0 man -w 3 rcx_iallreduce && run 0 man -w 1 rcxrun
    ok $? "there is a manual"
    run 0 dpkg --purge librcx-fortran-dev librcx-fortran0 librcx-dev rcx-tools python3-rcx librcx0 \
        && ! find /usr/include/rcx /usr/lib -name '*rcx*' ! -path '/usr/local/*' 2>/dev/null | grep .
    ok $? "nothing is left when they are removed"
    end_tests
    exit
fi

# --- outside ---

takes "SOURCE_DIR" "$@"
source_dir=$(realpath "$1")
run 0 "$source_dir/packaging/build" "$scratch/debs" || {
    ok 1 "packages are made, and lintian finds nothing"
    end_tests
    exit
}
export source_dir scratch
unshare --mount --propagation private bash -c '
    mkdir "$scratch/layer" && mount -t tmpfs tmpfs "$scratch/layer" \
        && mkdir "$scratch"/layer/{upper,work,root} \
        && mount -t overlay overlay -o "lowerdir=/,upperdir=$scratch/layer/upper,workdir=$scratch/layer/work" \
            "$scratch/layer/root" || { echo "1..0 # SKIP cannot mount an overlay"; exit 0; }
    for folder in /proc /sys /dev /dev/shm "$source_dir" "$scratch/debs"; do
        mkdir -p "$scratch/layer/root$folder"
        mount --bind "$folder" "$scratch/layer/root$folder"
    done
    exec chroot "$scratch/layer/root" "$0" --inside "$source_dir" "$scratch/debs"' \
    "$(realpath -- "${BASH_SOURCE[0]}")"
