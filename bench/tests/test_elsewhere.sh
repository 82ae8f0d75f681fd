#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# That the folder of bench_elsewhere runs where nothing is installed: a root with a
# C library, a shell and coreutils only. Usage: test_elsewhere.sh SOURCE_DIR BUILD_DIR

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/support/tap.sh"
takes "SOURCE_DIR BUILD_DIR" "$@"
elsewhere=$(realpath "$1")/bench_elsewhere
build=$(realpath "$2")
cd "$scratch" || exit 2

# Debian 13's Open MPI 5 is taken from a prefix only, and its libmpich has 53 MB.
libraries=()
! mpirun.openmpi --version 2>/dev/null | grep -q ' 5\.' || libraries=(--libraries gloo)
run 0 "$elsewhere" make folder --build "$build" "${libraries[@]}" && [ "$(du -sb folder | cut -f 1)" -lt 62000000 ] \
    && grep -q 'needs a C library of version 2\.[0-9]* or newer' "$out"
ok $? "bench_elsewhere makes a folder of at most 60 MB"

run 1 "$elsewhere" make folder --build "$build" && grep -q "is there already" "$err" \
    && run 1 "$elsewhere" make other --build "$build" --libraries nothing && grep -q "unknown library 'nothing'" "$err" \
    && run 1 "$elsewhere" make other --build "$scratch" && grep -q "bench_rcx is not built" "$err" && [ ! -e other ]
ok $? "it overwrites nothing, and refuses what it cannot put there"

# --- a bare root ---

# put PROGRAM...: copy programs and what they are linked with
put() {
    local program library
    for program; do
        cp -L "$program" root/bin/
        for library in $(ldd "$program" | grep -o '/[^ ]*'); do
            mkdir -p "root$(dirname "$library")"
            cp -Ln "$library" "root$library"
        done
    done
}

# in_root COMMAND...: in a mount namespace of its own, which ends with it
in_root() {
    # shellcheck disable=SC2016
    unshare --mount --fork --pid --kill-child bash -c '
        mount --bind /sys root/sys && mount -t proc proc root/proc && mount --rbind /dev root/dev || exit 77
        exec chroot root /bin/env -i PATH=/bin HOME=/ "$@"' sh "$@"
}

bare() {
    mkdir -p root/{bin,dev,lib,lib64,proc,sys,tmp}
    # shellcheck disable=SC2046  # a list of words
    put "$(command -v dash)" $(dpkg -L coreutils | grep -E '^(/usr)?/bin/[a-z0-9]+$')
    ln -s dash root/bin/sh
    # what the folder's programs need of the C library
    cp -L /lib/x86_64-linux-gnu/lib{pthread,dl,rt,util,m,resolv}.so.* root/lib/x86_64-linux-gnu/
    cp -r folder root/folder
}

if [ "$(id -u)" -ne 0 ] || ! command -v dash dpkg unshare >/dev/null || ! bare 2>"$err" \
    || ! in_root true 2>"$err"; then
    echo "ok 3 # SKIP needs root, Debian, and namespaces of its own"
    echo "1..3"
    exit $((failed > 0))
fi

run 0 in_root /folder/run -o /times.csv -r 1 -p 2 -c "allreduce alltoall barrier" -s "8 65536" \
    && ! grep '^# failed' root/times.csv
ok $? "all libraries run on two ranks where nothing is installed"

# each has two sizes of two collectives, and a barrier
counts=$(sed -n 's/^2,\(allreduce,8\|allreduce,65536\|alltoall,8\|alltoall,65536\|barrier,0\),\([a-z_,-]*\),0,[0-9.e-]*$/\2/p' \
    root/times.csv | sort | uniq -c | awk '{ print $2 ":" $1 }' | xargs)
echo "# $counts" >"$err"
! tr ' ' '\n' <<<"$counts" | grep -qv ':5$' \
    && [[ " $counts " == *" rcx,:5 "* && " $counts " == *" limit,:5 "* ]]
ok $? "the file has a time of each library, collective and size"

run 0 "$elsewhere" show root/times.csv && grep -Eq '^\| 2 \| alltoall \|( [0-9.e-]+ \|){2}$' "$out" \
    && grep -Eq '^\| 2 \| barrier \| [0-9.e-]+ \|  \|$' "$out" \
    && sed 's/,rcx,,0,.*/,rcx/' root/times.csv >cut.csv && run 1 "$elsewhere" show cut.csv && grep -q "is cut" "$err" \
    && echo "p,coll" >other.csv && run 1 "$elsewhere" show other.csv && grep -q "has other columns than" "$err"
ok $? "it is shown as ratios, and a file that is none is refused"

run 0 in_root /folder/run -o /times.csv -t 0 -p 2 && grep -q '^# 0 rounds' root/times.csv \
    && run 2 in_root /folder/run -x
ok $? "the time that is given is kept to"

end_tests
