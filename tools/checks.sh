# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the checks of the core, adapters and bench share. Sourced after packages.sh.
#
#   count_tests BUILD     prints the numbers of passed, failed and skipped tests
#                         in Meson's log of a build folder
#   install_core PREFIX   builds the core of this checkout, installs library and
#                         tools in PREFIX, and removes the build
#   use_core PREFIX       lets pkg-config and the shell find it

# Meson's log has one JSON object on each line.
count_tests()
{
    local -r log=$1/meson-logs/testlog.json
    if [[ ! -e $log ]]; then
        echo 0 0 0
        return
    fi
    python3 - "$log" <<'EOF'
import collections, json, sys
n = collections.Counter(json.loads(line)["result"] for line in open(sys.argv[1]))
good = n["OK"] + n["EXPECTEDFAIL"]
print(good, sum(n.values()) - good - n["SKIP"], n["SKIP"])
EOF
}

install_core()
{
    local -r build=$1.build core=${BASH_SOURCE[0]%/*}/..
    local status=0
    rm -rf "$build"
    quietly meson setup "$build" "$core" --prefix="$1" --buildtype=release -Dwerror=true \
        -Dauto_features=disabled -Ducx=enabled -Dpmix=enabled -Dtools=enabled &&
        watched ninja -C "$build" &&
        quietly meson install -C "$build" --no-rebuild || status=1
    rm -rf "$build"
    return $status
}

use_core()
{
    export PKG_CONFIG_PATH=$1/lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} PATH=$1/bin:$PATH
}
