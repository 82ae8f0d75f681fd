# SPDX-License-Identifier: BSD-3-Clause
"""Checks package.py of Spack by the documented Package API, without Spack.

Usage: spack_package.py SOURCE_DIR       prints what is wrong, a line each

The names of spack.package that it uses are stood in for here, and record their
calls. The structure of a repository and the directives are those of Spack's
documentation (repositories, packaging guide).
"""

import contextlib
import importlib.util
import pathlib
import re
import sys
import types

ROOT = pathlib.Path(sys.argv[1])
REPO = ROOT / "packaging/spack/spack_repo/rcx"
CALLS = []
WRONG = []


def check(holds, text):
    """Keeps the text if it does not hold."""
    if not holds:
        WRONG.append(text)


def directive(name):
    """A directive of spack.package."""
    return lambda *words, **named: CALLS.append((name, words, named))


class Spec:
    """As much of a spec as meson_args() asks: whether it has +VARIANT."""

    def __init__(self, variants):
        self.variants = variants

    def __contains__(self, text):
        assert re.fullmatch(r"[+~]\w+", text), text
        return (text[0] == "+") == (text[1:] in self.variants)


def load():
    """The module, with the stand-ins."""
    package = types.ModuleType("spack.package")
    for name in ("version", "variant", "depends_on", "extends", "license", "maintainers", "conflicts"):
        setattr(package, name, directive(name))
    meson = types.ModuleType("spack_repo.builtin.build_systems.meson")
    meson.MesonPackage = type("MesonPackage", (), {})
    sys.modules |= {"spack": types.ModuleType("spack"), "spack.package": package, meson.__name__: meson}
    for depth in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        sys.modules[depth] = types.ModuleType(depth)
    place = importlib.util.spec_from_file_location("package", REPO / "packages/rcx/package.py")
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module, meson.MesonPackage


def of(name):
    """The calls of a directive."""
    return [(words, named) for called, words, named in CALLS if called == name]


def main():
    """See above."""
    repo = (REPO / "repo.yaml").read_text()
    check(re.search(r"^repo:\n  namespace: rcx\n  api: v\d+\.\d+\n", repo), "repo.yaml: no namespace and api")
    module, base = load()
    check(issubclass(module.Rcx, base), "class Rcx is no MesonPackage")
    check(module.Rcx.git == f"file://{ROOT.resolve()}", f"git is {module.Rcx.git}, not this checkout")
    check(of("license") and of("license")[0][0] == ("BSD-3-Clause",), "no license, or another one")
    check(of("version"), "no version")

    variants = {words[0]: named for words, named in of("variant")}
    for name, named in variants.items():
        check({"default", "description"} <= named.keys(), f"variant {name} lacks a default or a description")
    options = dict(re.findall(r"^option\('(\w+)', type: '(\w+)'", (ROOT / "meson_options.txt").read_text(), re.M))
    features = {name for name, kind in options.items() if kind == "feature"}
    for chosen in (set(), set(variants)):
        rcx = module.Rcx()
        rcx.spec = Spec(chosen)
        given = dict(re.fullmatch(r"-D(\w+)=(\w+)", word).groups() for word in rcx.meson_args())
        check(given.keys() <= features, f"no option of Meson: {sorted(given.keys() - features)}")
        check(features - given.keys() <= {"tools", "man"}, f"left to chance: {sorted(features - given.keys())}")
        for name in variants:
            check(given.get(name) == ("enabled" if name in chosen else "disabled"), f"variant {name}: {given.get(name)}")

    needs = {words[0].split("@")[0]: (words[0], named) for words, named in of("depends_on")}
    meson = (ROOT / "meson.build").read_text()
    for name, version in re.findall(r"dependency\('(ucx|pmix|hwloc)', version: '>= ([\d.]+)'", meson):
        check(name in needs and needs[name][0] == f"{name}@{version}:", f"{name}: not @{version}:")
        check(needs.get(name, ("", {}))[1].get("when") == f"+{name}", f"{name}: not by its variant")
    with contextlib.suppress(KeyError):
        check("build" in needs["meson"][1]["type"], "meson is no build dependency")
    print(*WRONG, sep="\n", end="\n" if WRONG else "")


main()
