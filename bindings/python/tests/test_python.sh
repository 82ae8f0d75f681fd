#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The Python package rcx: its documentation, the example, every operation, and failures.
# Usage: test_python.sh RCXRUN PYTHON FOLDER

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../../tests/support/tap.sh"
takes "RCXRUN PYTHON FOLDER" "$@"
rcxrun=$(realpath "$1")
python=$2
export PYTHONPATH=$3 PYTHONDONTWRITEBYTECODE=1
here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
within 60

# --- one process ---

run 0 "$python" "$here/document.py" && grep -qx '[1-9][0-9]* examples, 0 failed' "$out"
ok $? "examples in the documentation give the results that they show"
run 0 "$python" "$here/document.py" "$here/../../../include/rcx/rcx.h" && grep -qx 'as rcx.h' "$out"
ok $? "numbers and functions are those of rcx.h"
if "$python" -c 'import mypy' 2>"$scratch/mypy"; then
    # With the types of python3-typeshed, the file that cffi writes has errors.
    printf '[mypy]\n[mypy-rcx._rcx_h]\nignore_errors = True\n[mypy-distributed.*]\nfollow_imports = skip\n' >"$scratch/mypy.ini"
    run 0 "$python" -m mypy --config-file "$scratch/mypy.ini" --strict --ignore-missing-imports --no-incremental --cache-dir=/dev/null "$3/rcx"
    ok $? "types, by mypy --strict"
fi
"$python" -c 'import numpy' || { end_tests; exit; }

# --- jobs ---

for n in 1 4; do
    run 0 "$rcxrun" -n $n "$python" "$here/../examples/fit.py" \
        && grep -qxE "$n ranks: \[1\. +2\. +3\. +4\. +5\. +6\. +7\. +8\. *\], off by 0\.00[0-9]+ at most" "$out"
    ok $? "the example, on $n ranks"
done
for n in 1 2 3 5; do
    run 0 "$rcxrun" -n $n "$python" "$here/forms.py" && [ ! -s "$out" ] && [ "$(said | sort -u)" = "done" ]
    ok $? "every operation in its three forms, types, errors, threads, on $n ranks"
done

run 137 "$rcxrun" -k -n 3 "$python" "$here/ends.py" killed \
    && [ "$(grep -cE '^(PeerError|DeadlineError) \(1,\)$' "$out")" -eq 2 ]
ok $? "a rank that is killed is an exception on the others, which names it"
run 0 "$rcxrun" -n 3 "$python" "$here/ends.py" raised && grep -qx "KeyError 'of a user'" "$out" \
    && [ "$(grep -c '^PeerError .*1' "$out")" -eq 2 ]
ok $? "an exception of a user's ends the others' calls, and is not lost"
run 0 "$rcxrun" -n 3 "$python" "$here/ends.py" left && [ "$(grep -cx 'all is well' "$out")" -eq 3 ]
ok $? "a communicator that is aborted does not affect others"
run 0 "$rcxrun" -n 3 "$python" "$here/ends.py" kept && [ "$(grep -cx 'all is well' "$out")" -eq 3 ]
ok $? "buffers of an operation that failed are kept until its context ends"
run 0 "$rcxrun" -n 3 "$python" "$here/ends.py" closed \
    && [ "$(sort "$out")" = $'PeerError\nPeerError\nclosed' ]
ok $? "objects of a context that was closed, also with an error, do not use it"
for how in killed world; do
    run 137 "$rcxrun" -k -n 4 "$python" "$here/recover.py" $how \
        && [ "$(grep -cx 'went on' "$out")" -eq 3 ]
    ok $? "a rank is killed, and the others agree on it and go on: $how"
done
run 3 "$rcxrun" -k -n 4 "$python" "$here/recover.py" excluded \
    && [ "$(sort "$out")" = $'excluded\nwent on\nwent on\nwent on' ]
ok $? "a rank that was stopped is excluded, and gets an exception for it"
run 0 "$rcxrun" -n 3 "$python" "$here/recover.py" agreed && [ "$(grep -cx agreed "$out")" -eq 3 ]
ok $? "an agreement is the AND of the flags of all ranks"
run 1 "$rcxrun" -n 2 -x RCX_ORDER=loud "$python" "$here/forms.py" && grep -q 'rcx\.Error: .*RCX_ORDER' "$err"
ok $? "a wrong variable in the environment is an exception that names it"

for what in made interrupted; do
    run 0 "$rcxrun" -n 2 "$python" "$here/leftovers.py" $what && [ "$(grep -cx done "$out")" -eq 2 ]
    ok $? "objects without references are freed, and Ctrl-C ends a call that waits: $what"
done

mkdir "$scratch/files"
for rank in 0 1 2; do
    "${bound[@]}" "$python" "$here/host.py" "$scratch/files" $rank 3 >"$scratch/host.$rank" 2>&1 &
done
wait
[ "$(cat "$scratch"/host.?)" = $'0 9.0\n1 9.0\n2 9.0' ]
ok $? "a bootstrap of the host's own"
run 0 "$python" "$here/host.py" "$scratch/files" 0 3 bad && grep -q "^.*Error(.*OSError('the folder is gone')" "$out"
ok $? "an exception that it raises is the cause of the context's error"

run 0 "$python" "$here/start.py" 3 && [ "$(sort "$out")" = $'0 9.0\n1 9.0\n2 9.0' ] && is_silent
ok $? "an id, which rank 0 passes to the others"
run 0 "$python" "$here/start.py" wrong \
    && [ "$(<"$out")" = $'ArgumentError\nTypeError\nArgumentError\nArgumentError\nValueError' ]
ok $? "a wrong address or id is an exception"

end_tests
