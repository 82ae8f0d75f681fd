# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Finds and installs the packages for RCX's build and tests. Sourced by
# quickstart, check, adapters/check and bench/check.
#
#   need SET         installs the missing packages of SET, or ends the script
#   want SET         the same, but only warns if that fails
#   quietly COMMAND  shows COMMAND's output only if it fails
#   watched COMMAND  the same, and shows the current line of output meanwhile
#
# A package counts as installed if its probe succeeds, whatever its origin. So
# root and the network are needed only if something is missing.

# set, Debian package, probe
packages_table='
    build  gcc                      command cc
    build  libc6-dev                header stdio.h
    build  meson                    command meson
    build  ninja-build              command ninja
    build  pkg-config               command pkg-config
    build  libucx-dev               module ucx
    build  libpmix-dev              module pmix
    build  libcmocka-dev            module cmocka
    test   gcc                      command gcc
    test   g++                      command g++
    test   clang                    command clang
    test   clang-format             command clang-format
    test   libclang-rt-dev          clang_runtime fuzzer
    test   binutils                 command nm
    test   openmpi-bin              command mpirun.openmpi
    test   libopenmpi-dev           command mpicc.openmpi
    test   mpich                    command mpirun.mpich
    test   libhwloc-dev             module hwloc
    test   gfortran                 command gfortran
    test   help2man                 command help2man
    test   abigail-tools            command abidw
    full   python3-sphinx           command sphinx-build
    full   python3-myst-parser      python myst_parser
    full   debhelper                command dh
    full   dh-python                command dh_python3
    full   lintian                  command lintian
    test   man-db                   command man
    test   groff-base               command groff
    test   python3-cffi             python cffi
    test   python3-numpy            python numpy
    test   mypy                     command mypy
    test   python3-distributed      python distributed
    test   python3-pip              python pip
    test   python3-venv             python ensurepip
    test   python3-torch            python torch.distributed
    test   libtorch-dev             header torch/csrc/api/include/torch/torch.h
    test   pybind11-dev             header pybind11/pybind11.h
    test   iproute2                 command tc
    test   bash-completion          data bash-completion/bash_completion
    full   zsh                      command zsh
    full   fish                     command fish
    full   debootstrap              command debootstrap
    test   python3-yaml             python yaml
    test   python3-jinja2           python jinja2
    test   munge                    command munged
    test   slurmctld                command slurmctld
    test   slurmd                   command slurmd
    test   slurm-client             command srun
    test   slurm-wlm-basic-plugins  library slurm-wlm/mpi_pmix.so
    adapters  clang                 command clang
    adapters  gcc                   command gcc
    adapters  gfortran              command gfortran
    adapters  libopenmpi-dev        module ompi-c
    adapters  openmpi-bin           command oshcc
    adapters  libsundials-dev       header nvector/nvector_serial.h
    bench  gcc                      command gcc
    bench  libc6-dev                header stdio.h
    bench  meson                    command meson
    bench  ninja-build              command ninja
    bench  pkg-config               command pkg-config
    bench  binutils                 command objdump
    bench  g++                      command g++
    bench  openmpi-bin              command mpirun.openmpi
    bench  libopenmpi-dev           command mpicc.openmpi
    bench  mpich                    command mpirun.mpich
    bench  libmpich-dev             command mpicc.mpich
    bench  libgloo-dev              header gloo/allreduce.h
    bench  iproute2                 command tc
    bench  munge                    command munged
    bench  slurmctld                command slurmctld
    bench  slurmd                   command slurmd
    bench  slurm-client             command srun
    bench  slurm-wlm-basic-plugins  library slurm-wlm/mpi_pmix.so
'

# Daemons are in sbin folders, which a user's PATH may lack.
have_command() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null; }

# of Debian's Python, which runs Meson
have_python() { /usr/bin/python3 -c "import $1" 2>/dev/null; }

have_module() { pkg-config --exists "$1" 2>/dev/null; }

have_file()
{
    local file
    for file; do
        [[ ! -e $file ]] || return 0
    done
    return 1
}

have_header() { have_file {/usr,/usr/local}/include{,/*-linux-*}/"$1"; }

# Clang's runtime library for sanitizers or for fuzzing. Clang 19 prints a
# runtime folder that Debian does not have.
have_clang_runtime()
{
    local folder
    folder=$(clang -print-resource-dir 2>/dev/null) &&
        have_file "$folder"/lib/*/"libclang_rt.$1"{,-*}.a
}

have_data() { have_file {/usr,/usr/local}/share/"$1"; }

have_library() { have_file {/usr,/usr/local}/lib{,64,/*-linux-*}/"$1"; }

# missing SET...: prints a line for each missing package: package, probe, name
missing()
{
    local set package probe name
    while read -r set package probe name; do
        if [[ -n $set && " $* " == *" $set "* ]] && ! "have_$probe" "$name"; then
            echo "$package $probe $name"
        fi
    done <<<"$packages_table"
}

# explain STATUS LOG COMMAND...: prints the end of LOG if STATUS is not 0,
# removes LOG, and returns STATUS
explain()
{
    local -r status=$1 log=$2
    shift 2
    if ((status != 0)); then
        echo "failed ($status): $*"
        tail -n "${CHECK_LOG_LINES:-40}" "$log"
    fi >&2
    rm -f "$log"
    return "$status"
}

quietly()
{
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 </dev/null || status=$?
    explain $status "$log" "$@"
}

# keep LOG: writes its input to LOG, and shows the current line: in place on a
# terminal, else one line every ten seconds.
keep()
{
    local line next=0
    while IFS= read -r line; do
        printf '%s\n' "$line" >&3
        if [[ -t 1 ]]; then
            printf '\r   %-74.74s' "$line"
        elif ((SECONDS >= next)); then
            printf '   %.74s\n' "$line"
            next=$((SECONDS + 10))
        fi
    done 3>"$1"
    [[ ! -t 1 ]] || printf '\r%77s\r' ''
}

watched()
{
    local log status
    log=$(mktemp)
    "$@" 2>&1 </dev/null | keep "$log" && status=0 || status=${PIPESTATUS[0]}
    explain "$status" "$log" "$@"
}

as_root()
{
    if (($(id -u) == 0)); then
        "$@"
    else
        sudo "$@"
    fi
}

apt_get()
{
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -q -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@"
}

can_install()
{
    have_command apt-get || {
        echo "this is not a Debian system"
        return 1
    }
    (($(id -u) == 0)) || have_command sudo || {
        echo "neither root nor sudo is at hand"
        return 1
    }
}

# install_missing SET...: fails if a package is still missing afterwards
install_missing()
{
    local lines packages why
    lines=$(missing "$@")
    [[ -n $lines ]] || return 0
    if ! why=$(can_install); then
        echo "missing, and not installed because $why:"
        awk '{ print "    " $2 " " $3 " (Debian: " $1 ")" }' <<<"$lines"
        return 1
    fi >&2
    mapfile -t packages < <(cut -d ' ' -f 1 <<<"$lines" | sort -u)
    echo "installing ${packages[*]}"
    watched apt_get update || return 1
    watched apt_get install --yes --no-install-recommends "${packages[@]}" ||
        return 1
    # Check again: if pkg-config was missing, so was every module.
    lines=$(missing "$@")
    [[ -z $lines ]] || {
        echo "installed, but not found:"
        echo "$lines"
        return 1
    } >&2
}

need() { install_missing "$@" || exit 1; }

want()
{
    install_missing "$@" ||
        echo "warning: tests of what is missing will be skipped" >&2
}
