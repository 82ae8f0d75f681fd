#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The source tarball, and what Spack and conda build from: `meson dist` makes a
# tarball that builds where there is no git; package.py and meta.yaml agree with
# the build, and with Spack and conda-build where these are installed. full:
# conda's commands are run. Usage: test_source_packages.sh SOURCE_DIR PYTHON
# [full]

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "SOURCE_DIR PYTHON [full]" "$@"
source_dir=$(realpath "$1")
python=$2
here=$source_dir/tests/job
unset LD_LIBRARY_PATH DESTDIR "${!MESON_@}"
export CFLAGS=-O0 # speed does not matter here
cd "$scratch" || exit 2

# --- the tarball ---

if command -v git >/dev/null && git -C "$source_dir" rev-parse HEAD >"$out" 2>"$err"; then
    # a clone, so that what is not committed and what others build is left alone
    run 0 git clone -q "$source_dir" clone && run 0 meson setup clone/build clone -Ducx=disabled -Dpmix=disabled \
        -Dtests=disabled -Dtools=disabled -Dman=disabled && run 0 meson dist -C clone/build --no-tests --formats gztar
    ok $? "meson dist makes a tarball"
    tar xzf clone/build/meson-dist/rcx-*.tar.gz && cd rcx-* && [ ! -e .git ]
    version=$(sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)
    [ "${PWD##*/}" = "rcx-$version" ]
    ok $? "its folder has name and version"
    diff <(git -C ../clone ls-files | sort) <(find . -type f | sed 's,^\./,,' | sort) >"$out"
    ok $? "it has all files of the checkout"

    mkdir ../bin # a git that says that it was called
    # shellcheck disable=SC2016
    printf '%s\n' '#!/bin/sh' 'echo "$@" >>"${0%/*}/called"' 'exit 1' >../bin/git
    chmod +x ../bin/git
    PATH=$scratch/bin:$PATH run 0 meson setup build -Ducx=disabled -Dpmix=disabled -Dhwloc=disabled -Dtests=enabled \
        -Dtools=enabled -Dman=disabled -Dpython=disabled -Dtorch=disabled -Dfortran=disabled \
        && PATH=$scratch/bin:$PATH run 0 ninja -C build "lib/librcx.so.$version" tools/rcx_info tests/unit/test_config
    ok $? "it builds"
    [ ! -e ../bin/called ]
    ok $? "without git"
    run 0 build/tests/unit/test_config
    ok $? "a unit test of it passes"
    run 0 build/tools/rcx_info --version && [ "$(<"$out")" = "rcx_info (RCX) $version" ]
    ok $? "it knows its version"
    tree=$PWD
    cd "$scratch" || exit 2
else
    skip "needs git and a checkout" "meson dist makes a tarball"
    tree=$source_dir
fi

# --- Spack ---

run 0 "$python" "$here/spack_package.py" "$source_dir" && [ ! -s "$out" ]
ok $? "Spack: package.py names options, variants and versions of this build"
if command -v spack >/dev/null; then
    export SPACK_USER_CONFIG_PATH=$scratch/spack SPACK_USER_CACHE_PATH=$scratch/spack
    run 0 spack repo add "$source_dir/packaging/spack/spack_repo/rcx" && run 0 spack info rcx \
        && grep -q 'git.*file://' "$out" && run 0 spack audit packages rcx
    ok $? "Spack: spack info and spack audit have no complaint"
else
    skip "no Spack here" "Spack: spack info and spack audit have no complaint"
fi

# --- conda ---

if "$python" -c 'import jinja2, yaml' 2>"$err"; then
    run 0 "$python" "$here/conda_recipe.py" "$source_dir"
    ok $? "conda: meta.yaml has the documented fields, and agrees with this build"
    if [ "${3-}" = full ]; then
        "$python" -c 'import json, sys; r = json.load(sys.stdin); print(*r["script"], *r["test"], sep="\n")' <"$out" >commands
        export PREFIX=$scratch/prefix
        while read -r line <&3; do
            (cd "$tree" && PATH=$PREFIX/bin:$PATH LD_LIBRARY_PATH=$PREFIX/lib run 0 bash -c "$line")
            ok $? "conda: $line"
        done 3<commands
    fi
else
    skip "needs jinja2 and yaml of Python" "conda: meta.yaml"
fi
if command -v conda-render >/dev/null; then
    run 0 conda-render "$source_dir/packaging/conda"
    ok $? "conda: conda-build renders it"
else
    skip "no conda-build here" "conda: conda-build renders it"
fi

end_tests
