#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# That rcx_sim reads the rules of other libraries and the prices of other machines.
# Usage: test_tables.sh TABLES RCX_SIM

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/support/tap.sh"
takes "TABLES RCX_SIM" "$@"

bad=0
for table in "$1"/*.tuning; do
    run 0 "$2" map --chosen --rules "$table" -p 6,8 --max 1K || wrong
done
ok $bad "tables of other libraries and machines are valid"

end_tests
