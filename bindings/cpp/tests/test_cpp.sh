#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# rcx.hpp: the example, every function in its three forms, and the error of older compilers.
# Usage: test_cpp.sh RCXRUN AVERAGE FORMS RECOVER

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../../tests/support/tap.sh"
takes "RCXRUN AVERAGE FORMS RECOVER" "$@"
rcxrun=$(realpath "$1")
average=$(realpath "$2")
forms=$(realpath "$3")
recover=$(realpath "$4")
within 60

# the values are 0, 10 11, 20 21 22, 30 31 32 33
run 0 "$rcxrun" -n 4 "$average" && [ "$(cat "$out")" = "10 values, mean 21.000, spread 10.536" ] && is_silent
ok $? "the example"
for n in 1 2 3 5; do
    # the errors that the program provokes are logged, and no others
    run 0 "$rcxrun" -n $n "$forms" && [ ! -s "$out" ] \
        && ! grep -v '^rcx error: \[[0-9]*\] \(rcx_allreduce: op band is not defined\|rcx_bcast: root=\|communicator [0-9]*\|[a-z]* of 3 .* a user-defined op failed\)' "$err"
    ok $? "every function in its three forms, errors, ops, groups, on $n ranks"
done
run 137 "$rcxrun" -k -n 4 "$recover" && [ ! -s "$out" ]
ok $? "a rank is killed, and the others agree on it and go on"
run 1 "$rcxrun" -n 2 -x RCX_ORDER=loud "$average" && grep -q 'RCX_ERR_CONFIG' "$err"
ok $? "an error of rcx_init is an exception, too"

if command -v g++ >/dev/null; then
    root=$(realpath "$(dirname -- "${BASH_SOURCE[0]}")/../../..")
    echo '#include <rcx/rcx.hpp>' >"$scratch/old.cc"
    run 1 g++ -std=c++17 -I"$root/include" -I"$root/bindings/cpp/include" -fsyntax-only "$scratch/old.cc" \
        && grep -q '#error "rcx.hpp needs C++20' "$err"
    ok $? "rcx.hpp says that it needs C++20"
fi

end_tests
