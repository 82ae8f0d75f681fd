#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The manual: a page for each function, which man has nothing to say about.
# Usage: test_man.sh FOLDER RCX_H

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../tests/support/tap.sh"
takes "FOLDER RCX_H" "$@"
folder=$1
header=$2
if ! command -v man >/dev/null || ! command -v groff >/dev/null; then
    echo "1..0 # SKIP needs man and groff"
    exit 0
fi

grep -oE '\brcx_[a-z0-9_]+\(' "$header" | tr -d '(' | sort -u >"$scratch/declared"
(cd "$folder" && printf '%s\n' *.3) | sed 's/\.3$//' | sort >"$scratch/pages"
diff "$scratch/declared" "$scratch/pages" >"$out"
ok $? "each function of rcx.h has a page"

for page in "$folder"/*.[137]; do
    if read -r so target <"$page" && [ "$so" = .so ]; then
        [ -e "$folder/${target#man3/}" ] || echo "${page##*/}: no $target"
        continue
    fi
    LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | sed "s|^|${page##*/}: |"
done >"$out"
[ ! -s "$out" ]
ok $? "man has no warnings"

LC_ALL=C.UTF-8 MANWIDTH=80 man -l "$folder/rcx_allreduce.3" >"$out" 2>"$err" \
    && grep -q 'rcx_iallreduce(const void \*sendbuf, void \*recvbuf,' "$out" \
    && grep -q 'RCX_ERR_UNSUPPORTED  the op is not defined on the type' "$out"
ok $? "a page has declarations, and the errors that all collectives have"

LC_ALL=C.UTF-8 MANWIDTH=80 man -l "$folder/rcx_allreduce.3" >"$out" 2>"$err" && grep -q '^RETURN VALUE' "$out" \
    && grep -q '^EXAMPLES' "$out" && grep -q 'status = rcx_allreduce(&mine, &sum, 1,' "$out" \
    && LC_ALL=C.UTF-8 MANWIDTH=80 man -l "$folder/rcx.7" >"$out" 2>"$err" && grep -q 'int main(void)' "$out"
ok $? "a page says what is returned, and shows a call; rcx(7) shows a program"
! grep -l 'clang.*format' "$folder"/*.[137] >"$out"
ok $? "no page has what is meant for a tool"

end_tests
