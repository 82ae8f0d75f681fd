#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The wheel, and docs/howto/python.md: its commands and programs, as they are printed, in a
# checkout with a build folder. Usage: test_wheel.sh PYTHON BUILD SOURCE VERSION quick|full

# shellcheck source=tests/support/tap.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../../tests/support/tap.sh"
takes "PYTHON BUILD SOURCE VERSION EXTENT" "$@"
python=$1
build=$(realpath "$2")
source=$(realpath "$3")
version=$4
extent=$5
here=$(dirname -- "$(realpath -- "${BASH_SOURCE[0]}")")
page=$source/docs/howto/python.md
export PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
# A network would not be noticed, and neither would the library of the build folder.
export PIP_NO_INDEX=1 PIP_CONFIG_FILE=/dev/null PIP_DISABLE_PIP_VERSION_CHECK=1
unset LD_LIBRARY_PATH PYTHONPATH
within 300
[ "$(command -v python3)" -ef "$python" ] || PATH=$(dirname -- "$python"):$PATH
"$python" -c 'import pip, ensurepip' 2>"$err" || { echo "1..0 # SKIP needs pip and venv"; exit 0; }

# A checkout, with this build folder.
mkdir "$scratch/checkout" && cd "$scratch/checkout" || exit 2
for entry in "$source"/*; do
    [[ ${entry##*/} == build* || ${entry##*/} == dist ]] || ln -s "$entry" .
done
ln -s "$build" build

# --- the wheel, in an empty environment ---

make_wheel=$(sed -n 's/^    \(python3 -m pip wheel .*\)/\1/p' "$page")
run 0 bash -c "$make_wheel" && [ -s "dist/$(ls dist)" ]
ok $? "a wheel is made: $make_wheel"
wheel=$PWD/dist/$(ls dist)
run 0 "$python" "$here/check_wheel.py" "$wheel" "$version"
ok $? "its names, tags, metadata and hashes are right"
run 0 bash -c "${make_wheel/ dist / again }" && cmp "$wheel" again/*.whl >"$out"
ok $? "again, it has the same bytes"

run 0 "$python" -m venv "$scratch/empty"
(cd "$scratch/empty" && find . ! -name '*.pyc' ! -name __pycache__ | sort) >"$scratch/before"
run 0 "$scratch/empty/bin/pip" install "$PWD"/dist/*.whl && run 0 "$scratch/empty/bin/pip" check
ok $? "it installs into an empty environment, without a network"
cp "$here/two_ranks.py" "$scratch"
at=lib/$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')/site-packages/rcx
cd "$scratch" || exit 2
run 0 "$scratch/empty/bin/python" two_ranks.py && [ "$(wc -l <"$out")" -eq 2 ] \
    && [ "$(sort -u "$out" | sed "s/[a-z_]*[.]cpython[^']*/cffi/")" = "3.0 $at/__init__.py ['$at/cffi', '$at/librcx.so.0']" ]
ok $? "two ranks run outside of the tree, with the wheel's library and cffi alone"
cat >alone.py <<'END'
import array, rcx
with rcx.Context() as context:
    x = array.array("d", [1.0])
    context.world.allreduce(x)
    print(x[0])
END
run 0 "$scratch/empty/bin/rcxrun" -n 3 "$scratch/empty/bin/python" alone.py && [ "$(sort -u "$out")" = 3.0 ]
ok $? "its rcxrun runs a program"
run 0 "$scratch/empty/bin/pip" uninstall --yes rcx
(cd "$scratch/empty" && find . ! -name '*.pyc' ! -name __pycache__ | sort) >"$scratch/after"
run 0 diff "$scratch/before" "$scratch/after"
ok $? "nothing is left when it is removed"
cd "$scratch/checkout" || exit 2
if [ "$extent" = full ]; then
    run 0 bash -c "$(sed 's/ --config-settings [^ ]*//; s/ dist / compiled /' <<<"$make_wheel")" \
        && run 0 "$python" "$here/check_wheel.py" "$(echo "$PWD"/compiled/*.whl)" "$version"
    ok $? "a wheel is made without a build folder"
fi

# --- the page ---

# program NAME: prints the program of the page with this name
program() { awk -v name="$1:" '$0 == name { on = 1; next } on == 1 && $0 == "```python" { on = 2; next } on == 2 && $0 == "```" { exit } on == 2' "$page"; }
for name in $(sed -n 's/^\([a-z_]*[.]py\):$/\1/p' "$page"); do
    program "$name" >"$name"
done
has() { "$python" -c "import $1" 2>"$err"; }
while read -r line; do
    case $line in
        sudo* | meson* | "$make_wheel") continue ;; # done
        *on_dask* | *survivors* | *dask_fit*) needs=distributed ;;
        *tensors*) needs=torch ;;
        *bindings/torch*) needs=torch && [ -e "$build/bindings/torch/rcx_torch/__init__.py" ] || needs=no_torch_backend ;;
        *processes*) needs=numpy ;;
        *) needs=sys ;;
    esac
    if ! has $needs; then
        number=$((number + 1))
        echo "ok $number - the page: $line # SKIP needs $needs"
        continue
    fi
    run 0 bash -c "$line" && case $line in
        *processes.py) [ "$(cat "$out")" = "[$(printf '[5.0, 5.0, 5.0], %.0s' 1 2 3)[5.0, 5.0, 5.0]]" ] ;;
        *tensors.py) [ "$(cat "$out")" = "tensor([10., 10., 10.])" ] ;;
        *on_dask.py) [ "$(cat "$out")" = $'[39.0, 39.0, 39.0, 39.0]\n[0, 1, 2, 3]' ] ;;
        *survivors.py) [ "$(cat "$out")" = $'lost (2,)\n4 of 4 workers' ] ;;
        *dask_fit.py) [ "$(grep -c '^4 workers: .*, equal on all$' "$out")" -eq 2 ] ;;
        */spawn.py) [ "$(cat "$out")" = "4 ranks: 2.000000 + 3.000000 x" ] ;;
        *venv* | *'pip install'*) ;;
        *) false ;;
    esac
    ok $? "the page: $line"
done < <(sed -n 's/^    \([a-zA-Z].*\)/\1/p' <(awk '/^```/ { code = !code; next } !code' "$page"))

end_tests
