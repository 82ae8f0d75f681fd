#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# As a subproject of another Meson project, RCX consists of the library and its
# header only. Usage: test_subproject.sh SOURCE_DIR PYTHON3

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../support/tap.sh"
takes "SOURCE_DIR PYTHON3" "$@"
source=$(realpath "$1")
python=$2
cd "$scratch" || exit 2
unset DESTDIR
need=29

if ! command -v meson >/dev/null; then
    echo "1..0 # SKIP needs meson"
    exit 0
fi

mkdir subprojects
cp "$source/tests/job/consumer.c" .
ln -s "$source" subprojects/rcx
cat >meson.build <<'END'
project('host', 'c')
executable('consumer', 'consumer.c',
  dependencies: dependency('rcx', fallback: 'rcx'))
END

# all TARGET_FIELD: the field of all targets, sorted, in one line
all() {
    meson introspect --targets build | "$python" -c "
import json, sys
print(*sorted(target['$1'] for target in json.load(sys.stdin)))"
}

run 0 meson setup build -Doptimization=0 --force-fallback-for=rcx
ok $? "a superproject finds dependency('rcx') in its subproject"

! grep -qiE 'warning|deprecat|download' "$out"
ok $? "without a warning, and without a download"

all name >names
[[ $(sed -E 's/ (kernels|folds|exact_vectors|exact_rows|float_rows)_[a-z0-9]*//g' names) == "consumer method_sources.c optional_algorithms rcx rcx_inside table_all table_chosen" ]] ||
    run 1 cat names
ok $? "its targets are the library's, and the superproject's"

[ "$(all type | tr ' ' '\n' | grep -c executable)" -eq 1 ]
ok $? "the only program is the superproject's"

[ "$(meson introspect --tests build)" = "[]" ] &&
    [ "$(meson introspect --benchmarks build)" = "[]" ]
ok $? "there are no tests"

# has_program FOLDER: the superproject's; it links with RCX and runs
has_program() {
    run 0 meson compile -C "$1"
    ok $? "the superproject builds"
    run 0 env LD_LIBRARY_PATH= "$1/consumer" && [ "$(cat "$out")" = "1 ranks" ]
    ok $? "the superproject's program runs"
}

if ! command -v gfortran >/dev/null; then
    has_program build
    end_tests
fi

# --- the Fortran module, as docs/howto/fortran.md has it; RCX is built once ---

page=$source/docs/howto/fortran.md
block() { awk -v start="\`\`\`$1" '$0 == start { on = 1; next } on && $0 == "```" { exit } on' "$page"; }
grep -v '^project' meson.build >program
block fortran >hello.f90
{ block meson && echo "add_languages('c', native: false)" && cat program; } >meson.build
run 0 meson setup with_fortran -Doptimization=0 --force-fallback-for=rcx,rcx-fortran
ok $? "docs/howto/fortran.md: a superproject finds dependency('rcx-fortran') in its subproject"
has_program with_fortran
run 0 env LD_LIBRARY_PATH= with_fortran/hello && [ "$(cat "$out")" = "the sum is   1.0   1.0   1.0" ]
ok $? "and its Fortran program"

end_tests
