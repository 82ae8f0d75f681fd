#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Each mutant of the agreement's state machine is found by test_agree. Usage:
# test_agree_mutants.sh CC

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "CC" "$1"
cc="$*"
top=$(cd "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
within 300

# build FOLDER PROGRAM: with the agree.c of FOLDER, which test_agree.c includes
build() {
    $cc -std=gnu11 -O2 -D_GNU_SOURCE -I"$1" -I"$top/lib" -I"$top/include" -I"$top/tests" \
        "$top/tests/unit/test_agree.c" "$top/lib/core/base/heap.c" -lcmocka -o "$2" 2>"$scratch/cc"
}

# mutant WHAT OLD NEW: OLD occurs once in agree.c
mutant() {
    python3 - "$top/lib/core/run/fault/agree.c" "$2" "$3" >"$mutated/agree.c" <<'END'
import sys
text = open(sys.argv[1]).read()
assert text.count(sys.argv[2]) == 1, sys.argv[2]
print(text.replace(sys.argv[2], sys.argv[3]), end='')
END
    build "$scratch" "$scratch/mutant" && ! timeout 100 "$scratch/mutant" 3000 >"$scratch/out" 2>&1 \
        && grep -q "FAILED  \|SIGABRT\|Segmentation" "$scratch/out"
    ok $? "$1"
}

mutated=$scratch/core/run/fault
mkdir -p "$mutated"
build "$top/lib" "$scratch/agree" && run 0 "$scratch/agree" 3000
ok $? "the original passes"
mutant "a member accepts a ballot that it has refused" '|| m->ballot < a->promised)' ')'
mutant "the coordinator forgets accepted values" 'const bool is_bound = a->best != NO_BALLOT;' 'const bool is_bound = false;'
mutant "the first accepted value wins" 'if (accepted > a->best)' 'if (a->best == NO_BALLOT && accepted > a->best)'
mutant "the coordinator's own accepted value is left out" 'a->word, a->accepted, a->accepted_word,
         set_of' 'a->word, NO_BALLOT, a->accepted_word,
         set_of'
mutant "a value is accepted one round early" 'if (a->round == a->rounds)' 'if (a->round == a->rounds + 1)'
mutant "ballot 0 ends one round early" 'if (a->round < 2 * a->rounds)' 'if (a->round < 2 * a->rounds - 1)'
mutant "members are not waited for" 'return is_complete(a, replies(a)) && is' 'return is'
mutant "any part decides" '|| a->s.accepts_minority' '|| true'
mutant "each half decides" '(2 * n == a->s.size && has(a, set, 0))' '2 * n == a->s.size'
mutant "a proposal needs no quorum of those that accept" 'if (!a->has_proposed || !has_quorum(a))' 'if (!a->has_proposed)'
mutant "the coordinator proposes before all have joined" 'if (!a->has_proposed && has_quorum(a))' 'if (!a->has_proposed)'
mutant "members that have joined are not told a decision" 'if (i != a->s.rank && has(a, JOINED, i))' 'if (false)'
mutant "an excluded member decides" 'has(a, VALUE, a->s.rank) ? RCX_AGREE_EXCLUDED' 'false ? RCX_AGREE_EXCLUDED'
mutant "a member that decides does not tell those that it suspects" 'if (a->state == RCX_AGREE_DECIDED)
        send_to_suspects(a, false);' ''
mutant "a member that leaves does not tell those that it suspects" 'if (a->state == RCX_AGREE_DECIDED && !a->is_fast)' 'if (false)'
mutant "a member does not know whom the coordinator suspects" 'merge(a, m);
    decide(' 'decide('
mutant "words of those that joined are not combined" 'a->joined_word &= word;' ''
end_tests
