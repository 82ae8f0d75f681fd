#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tools/quickstart on a machine where everything is installed and built, and its
# output while apt-get runs. Usage: test_quickstart.sh SOURCE_DIR RCXRUN
# RCX_PERF

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "SOURCE_DIR RCXRUN RCX_PERF" "$@"
source=$(realpath "$1")
rcxrun=$(realpath "$2")
perf=$(realpath "$3")
cd "$scratch" || exit 2
need=30

prints() { grep -q -e "$1" "$out"; }
narrow() { ! grep '.\{81\}' "$out" >>"$err"; }

# --- a built checkout, on a machine with any number of cores ---

mkdir -p tools build/tools bin
cp "$source"/tools/{quickstart,packages.sh} tools
ln -s "$rcxrun" "$perf" build/tools
touch build/build.ninja
export PATH=$scratch/bin:$PATH

# fake NAME LINE: a command that prints LINE
fake() {
    printf '#!/bin/sh\necho "%s"\n' "$2" >"bin/$1"
    chmod +x "bin/$1"
}
fake meson "[1/1] built"
echo "echo \"\$*\" >>$scratch/calls" >>bin/meson

# shellcheck source=tools/packages.sh
source "$source/tools/packages.sh"
if [ -n "$(missing build)" ]; then
    echo "1..0 # SKIP needs all packages of a build"
    exit 0
fi

run 0 tools/quickstart --help && prints '^usage: ' && narrow &&
    is_silent
ok $? "--help says what it does, and does nothing"

run 2 tools/quickstart fast && [ ! -s "$out" ] && grep -q '^usage: ' "$err"
ok $? "an argument that it does not know is refused"

fake nproc 64
run 0 tools/quickstart && prints '  ok$' && ! prints WRONG && ! prints share
ok $? "the main job runs, and every result is right"

[ "$(cat calls)" = "compile -C build rcxrun rcx_perf example_allreduce" ]
ok $? "it builds what the main job needs"

prints '^-- .*Next:' && prints 'tools/check  ' && prints 'example_allreduce$'
ok $? "it ends with next steps"
sed -n '/Next:/,$p' "$out" >next
grep -A 9 '^   ninja -C build  .*builds the rest' next | grep -q '^   sudo meson install -C build --no-rebuild' && ! grep 'sudo ninja' next
ok $? "which build all as the user, and install it as root"

rm build/tools/rcxrun
fake rcxrun "a table"
mv bin/rcxrun build/tools
fake nproc 3
run 0 tools/quickstart && prints "4 ranks share 3 cores"
ok $? "it says when ranks outnumber cores"

# --- the site, without Sphinx ---

mkdir none && ln -s "$(command -v bash)" "$(command -v env)" none
run 1 env PATH="$scratch/none" bash "$source/docs/site/build" w x y z \
    && grep -q 'sudo apt-get install --no-install-recommends python3-sphinx python3-myst-parser' "$err" && [ "$(wc -l <"$err")" -eq 1 ]
ok $? "without Sphinx the site says what to install"

# --- output while apt-get runs ---

packages_table='absent  thing  command  no_such_command'
can_install() { :; }
as_root() { echo "Get:1 of a mirror"; }
set -o pipefail

(install_missing absent) >"$out" 2>"$err"
[ $? -eq 1 ] && prints '^installing thing$' && prints '^   Get:1 of a mirror$'
ok $? "the progress of apt-get is shown"

as_root() { echo "no route" && return 100; }
(install_missing absent) >"$out" 2>"$err"
[ $? -eq 1 ] && grep -q '^failed (100): apt_get update' "$err" &&
    grep -q '^no route$' "$err"
ok $? "so is its whole output, if it fails"

end_tests
