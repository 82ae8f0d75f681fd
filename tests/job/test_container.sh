#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The steps of packaging/container/Containerfile, and of that in docs/howto/cluster.md,
# in bare roots of Debian 12, which debootstrap makes, as a container engine would run
# them. Needs root, debootstrap and a mirror that apt knows. Usage: test_container.sh SOURCE
set -euo pipefail

here=$(dirname "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/tap.sh
source "$here/../support/tap.sh"
takes SOURCE "$@"
source=$(realpath "$1")
file=$source/packaging/container/Containerfile

skip() { echo "1..0 # SKIP $1"; exit 77; }
(($(id -u) == 0)) || skip "only root may make a root of its own"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
[[ -n ${CONTAINER_TEST_INSIDE-} ]] || exec env CONTAINER_TEST_INSIDE=1 unshare --mount "$BASH" "$0" "$@"
mirror=$(sed -n 's/^URIs: *//p; s/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\).*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1 || true)
[[ -n $mirror ]] || skip "apt has no mirror"

# Debian's slim images have no documentation and no packages' lists.
make_slim()
{
    debootstrap --variant=minbase bookworm "$scratch/slim" "$mirror" >"$out" 2>"$err" || skip "debootstrap failed here"
    rm -rf "$scratch"/slim/usr/share/{doc,man,info,locale,lintian}/* "$scratch"/slim/var/lib/apt/lists/* \
        "$scratch"/slim/var/cache/apt/*
    printf 'path-exclude=/usr/share/%s/*\n' doc man locale >"$scratch/slim/etc/dpkg/dpkg.cfg.d/slim"
    cp /etc/resolv.conf "$scratch/slim/etc/resolv.conf"
}

# enter ROOT COMMAND: run it there, with devices, processes and shared memory
enter()
{
    local -r root=$1
    shift
    unshare --mount --pid --fork --kill-child "$BASH" -c '
        root=$1 && shift
        mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" \
            && exec chroot "$root" "$@"' sh "$root" "$@"
}

# copy FROM TO: a file, or what is in a folder, whose name ends with a slash
copy()
{
    mkdir -p "$2"
    if [[ $1 == */ ]]; then cp -a "$1." "$2"; else cp -a "$1" "$2"; fi
}

# run_steps FILE NAME: the root of its last stage is $root, the image of this name
run_steps()
{
    local line stage=0 folder=/ words
    while IFS= read -r line; do
        read -ra words <<<"$line"
        case ${words[0]-} in
            FROM)
                [[ -d $scratch/images/${words[1]} ]] || return 1
                stage=$((stage + 1)) folder=/
                root=$scratch/$2/${words[3]-stage$stage}
                mkdir -p "$root"
                cp -a "$scratch/images/${words[1]}/." "$root"
                ;;
            WORKDIR) folder=${words[1]} ;;
            COPY)
                if [[ ${words[1]} == --from=* ]]; then
                    copy "$scratch/$2/${words[1]#--from=}${words[2]}" "$root${words[3]}"
                elif [[ ${words[1]} != . ]]; then
                    copy "$source/${words[1]}" "$root${words[2]}"
                else
                    mkdir -p "$root${words[2]}"
                    git -C "$source" ls-files -z | (cd "$source" && xargs -0 cp -a --parents -t "$root${words[2]}")
                fi
                ;;
            RUN) enter "$root" sh -c "cd $folder && ${line#RUN }" >"$out" 2>"$err" || return 1 ;;
            CMD) command=${line#*[\"} command=${command%\"]*} ;;
            '' | '#') ;;
            *) return 1 ;;
        esac
    done <"$1"
    ln -s "$root" "$scratch/images/$2"
}

make_slim
mkdir "$scratch/images" && ln -s "$scratch/slim" "$scratch/images/debian:12-slim"
bad=0
run_steps "$file" rcx || wrong
ok $bad "all steps of the file run"

rm -f "$root/etc/resolv.conf"
megabytes=$(du -s --apparent-size -B 1000000 "$root" | cut -f 1)
[ "$megabytes" -le 200 ]
ok $? "the image has $megabytes MB, and 200 at most"

{ enter "$root" "$command" >"$out" 2>"$err" && grep -q '^RCX 0\.' "$out"; } || wrong
ok $bad "its command is $command"

{ enter "$root" rcxrun -n 2 rcx_perf --check --iters 3 --max 64K >"$out" 2>"$err" && is_silent; } || wrong
ok $bad "two ranks run in it"

awk '$0 == "```dockerfile" { on = 1; next } on && $0 == "```" { exit } on' "$source/docs/howto/cluster.md" >"$scratch/Containerfile"
cp /etc/resolv.conf "$root/etc/resolv.conf"
{ run_steps "$scratch/Containerfile" sum && enter "$root" "$command" >"$out" 2>"$err" && [ "$(<"$out")" = "1 + ... + 1 = 1" ]; } || wrong
ok $bad "a program is compiled in it and added to it: docs/howto/cluster.md"
line=$(sed -n 's/^    podman run --shm-size=1g sum //p' "$source/docs/howto/cluster.md")
# shellcheck disable=SC2086  # words
{ enter "$root" $line >"$out" 2>"$err" && [ "$(<"$out")" = "1 + ... + 4 = 10" ]; } || wrong
ok $bad "four ranks of it sum"

end_tests
