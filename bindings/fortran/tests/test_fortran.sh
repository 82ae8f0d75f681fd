#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Module rcx: all functions in all forms, types, errors, a rank that dies, the example; and that
# module and header agree. FOLDER has the module files.
# Usage: test_fortran.sh RCXRUN GFORTRAN LIBRCX_FORTRAN FOLDER COLLECTIVES TYPES OBJECTS ERRORS CG

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../../tests/support/tap.sh"
takes "RCXRUN GFORTRAN LIBRCX_FORTRAN FOLDER COLLECTIVES TYPES OBJECTS ERRORS CG" "$@"
rcxrun=$(realpath "$1")
gfortran=$2
library=$(realpath "$3")
folder=$(realpath "$4")
collectives=$(realpath "$5")
types=$(realpath "$6")
objects=$(realpath "$7")
errors=$(realpath "$8")
cg=$(realpath "$9")
here=$(realpath "$(dirname -- "${BASH_SOURCE[0]}")/..")
header=$here/../../include/rcx/rcx.h
within 60

# Errors that a program provokes are lines of RCX; its own are on stdout.
only_lines_of_rcx() { [ ! -s "$out" ] && ! grep -v '^rcx error: ' "$err"; }

# --- the functions ---

for n in 1 2 3 4; do
    run 0 "$rcxrun" -n $n "$collectives" && [ ! -s "$out" ] && is_silent
    ok $? "every collective in its forms, with counts of both kinds, in place, on $n ranks"
    run 0 "$rcxrun" -n $n "$types" && [ ! -s "$out" ] && is_silent
    ok $? "every datatype, op and exact sum on $n ranks"
    run 0 "$rcxrun" -n $n "$objects" "$scratch/dump" && only_lines_of_rcx
    ok $? "contexts, communicators, messages, requests, users' ops, memory, ids on $n ranks"
done

# --- errors ---

for n in 1 3; do
    run 0 "$rcxrun" -n $n "$errors" arguments && only_lines_of_rcx \
        && grep -qx 'rcx error: rcx_bcast: buf has 4 elements of 4 bytes: needs 5 of datatype 5, which are 20 bytes' "$err" \
        && grep -q '^rcx error: rcx_ibcast: buf is not contiguous' "$err" \
        && grep -qx 'rcx error: rcx_allgatherv: counts(1)=-1: needs 0 or more' "$err"
    ok $? "wrong arguments are a status and a line; sections are packed, or refused, on $n ranks"
done
run 1 "$rcxrun" -n 2 "$errors" absent && [ ! -s "$out" ] \
    && grep -qx 'ERROR STOP rcx_bcast: RCX_ERR_ARG: .*' "$err" && grep -q 'root=-1' "$err"
ok $? "an error without a status ends the program, and says why"
run 1 "$rcxrun" -n 2 "$errors" failed && [ ! -s "$out" ] \
    && grep -qx 'ERROR STOP rcx_barrier: RCX_ERR_COMM_FAILED: .*: communicator 1 (world): rcx_comm_abort() on rank [01]' "$err"
ok $? "one of a communicator that has failed tells the reason"
run 7 "$rcxrun" -n 3 "$errors" abort && grep -q 'code 7: the end$' "$err"
ok $? "rcx_abort ends the job with its code and text"
for n in 2 4; do
    run 137 "$rcxrun" -k -n $n "$errors" dead && [ ! -s "$out" ]
    ok $? "a rank of $n is killed: the others get a status, agree, and go on"
done

# --- the example ---

for n in 1 2 3 4; do
    run 0 "$rcxrun" -n $n "$cg" && grep -q "^$n ranks: [0-9]* iterations, error " "$out" && is_silent
    ok $? "conjugate gradients on $n ranks find the solution"
    run 0 "$rcxrun" -n $n "$cg" exact && grep -q ', difference from one rank 0.0E+00$' "$out"
    ok $? "and that of one rank to the bit, with exact sums, on $n ranks"
done

# --- module and header ---

functions=$(grep -o '\brcx_[a-z0-9_]*(' "$header" | tr -d '(' | sort -u | grep -vx rcx_in_place)
constants=$(sed 's,/\*.*,,' "$header" | grep -oE '\bRCX_[A-Z0-9_]+( = |, *$| -?[(0-9])' | grep -oE 'RCX_[A-Z0-9_]+' |
    sort -u | grep -vxE 'RCX_(API|H)')
{
    echo 'program names'
    for name in $functions $constants RCX_IN_PLACE; do
        echo "  use rcx, only: $name"
    done
    echo 'end program'
} >"$scratch/names.f90"
[ "$(wc -w <<<"$functions")" -gt 120 ] && [ "$(wc -w <<<"$constants")" -gt 100 ] \
    && run 0 "$gfortran" -fsyntax-only -I"$folder" "$scratch/names.f90"
ok $? "the module has every function and constant of rcx.h"

nm -D --defined-only "$library" | sed -n 's/.* T \(rcx_f_.*\)/\1/p' | sort >"$scratch/there"
nm -D --undefined-only "$collectives" "$types" "$objects" "$errors" "$cg" | sed -n 's/.* U \(rcx_f_.*\)/\1/p' |
    sort -u >"$scratch/called"
# call.c's own, and request_free: module rcx calls it
sed -i -E '/^rcx_f_(at|array|begin|buffer|count|counts|end|finish|is_in_place|reach|stop|sum|times)$/d' "$scratch/there"
run 0 comm -23 "$scratch/there" "$scratch/called" && [ ! -s "$out" ] && [ "$(wc -l <"$scratch/there")" -gt 130 ]
ok $? "these tests call every function of the library"

fields=$(sed -n 's/^ *RCX_PARAM_\([A-Z]*\) = .*/\1/p' "$header")
bad=0
for field in $fields; do
    grep -q "call set(RCX_PARAM_$field)" "$here/rcx.f90" || { echo "# rcx_init has no RCX_PARAM_$field"; bad=1; }
done
[ -n "$fields" ] && [ $bad -eq 0 ]
ok $? "rcx_init has every parameter"

# with LINE: a header that has this line, too
with() { sed "s/^RCX_API rcx_status_t rcx_barrier(rcx_comm_t \*comm);/&\n$1/" "$header" >"$scratch/rcx.h"; }
maker=(python3 "$here/make_rcx_h.py" "$scratch/rcx.h" "$scratch/rcx_h.f90" "$scratch/rcx_h.c")
with 'RCX_API rcx_status_t rcx_comm_paint(rcx_comm_t *comm, int color);'
run 0 "${maker[@]}" && grep -q 'subroutine rcx_comm_paint(comm, color, status)' "$scratch/rcx_h.f90" \
    && grep -q 'rcx_comm_paint(comm.handle, color)' "$scratch/rcx_h.c"
ok $? "a function that is added to rcx.h is in the module"
with 'RCX_API rcx_status_t rcx_comm_paint(rcx_comm_t *comm, struct tm *when);'
run 1 "${maker[@]}" && grep -q 'rcx_comm_paint: no rule' "$err"
ok $? "and if there is no rule for it, that is an error"

with 'RCX_API rcx_status_t rcx_blend(const void *sendbuf, void *recvbuf, size_t count, rcx_datatype_t datatype, rcx_comm_t *comm);'
run 1 "${maker[@]}" && grep -q 'rcx_blend: NEEDS does not have sendbuf' "$err"
ok $? "and so it is if its buffers are of unknown lengths"

cd "$scratch" || exit 2
run 0 "$gfortran" -fsyntax-only -std=f2018 -Wall -Wextra -pedantic -Werror "$folder/rcx_h.f90" "$here/rcx.f90"
ok $? "the module is Fortran 2018, without a warning"

end_tests
