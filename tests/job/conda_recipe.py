# SPDX-License-Identifier: BSD-3-Clause
"""Renders and checks the recipe of conda by the documented schema of meta.yaml.

Usage: conda_recipe.py SOURCE_DIR      prints the lines of its script, or what is
                                       wrong, with exit status 1

KEYS has the documented fields of the sections that the recipe uses.
"""

import json
import pathlib
import re
import sys

import jinja2
import yaml

ROOT = pathlib.Path(sys.argv[1])
RECIPE = ROOT / "packaging/conda"
KEYS = {
    "package": {"name": str, "version": str},
    "source": {"path": str},
    "build": {"number": int, "script": list, "skip": bool, "run_exports": list},
    "requirements": {"build": list, "host": list, "run": list},
    "test": {"commands": list, "requires": list},
    "about": {"home": str, "license": str, "license_file": str, "summary": str, "description": str},
    "extra": {},
}


def selected(text, true):
    """Without the lines whose selector, as in `# [not linux]`, does not hold."""
    lines = []
    for line in text.split("\n"):
        selector = re.search(r"#\s*\[([^\]]+)\]\s*$", line)
        if not selector or eval(selector[1], {}, true):  # pylint: disable=eval-used
            lines.append(line)
    return "\n".join(lines)


def load_file_regex(load_file, regex_pattern, from_recipe_dir=False):
    """As conda-build's: the match of a pattern in a file."""
    assert from_recipe_dir
    return re.search(regex_pattern, (RECIPE / load_file).read_text())


def main():
    """See above."""
    wrong = []
    text = selected((RECIPE / "meta.yaml").read_text(), {"linux": True, "osx": False, "win": False})
    text = jinja2.Environment(undefined=jinja2.StrictUndefined).from_string(text).render(
        load_file_regex=load_file_regex, compiler=lambda language: f"{language}_compiler",
        stdlib=lambda language: f"{language}_stdlib", pin_subpackage=lambda name, max_pin: f"{name} {max_pin}")
    recipe = yaml.load(text, Loader=yaml.BaseLoader)  # conda-build gives fields their types
    for section, fields in recipe.items():
        for name, value in fields.items():
            kind = KEYS.get(section, {}).get(name)
            if kind is None:
                wrong.append(f"{section}/{name}: no such field")
            elif (kind is list) != isinstance(value, list) or kind is int and not value.isdigit():
                wrong.append(f"{section}/{name}: {value} is no {kind.__name__}")
    meson = (ROOT / "meson.build").read_text()
    if recipe["package"]["version"] != re.search(r"^  version: '(.+)',", meson, re.M)[1]:
        wrong.append(f"package/version: {recipe['package']['version']}")
    for name in (recipe["source"]["path"], f"{recipe['source']['path']}/{recipe['about']['license_file']}"):
        if not (RECIPE / name).exists():
            wrong.append(f"{name}: no such file")
    for name, version in re.findall(r"dependency\('(ucx|pmix|hwloc)', version: '>= ([\d.]+)'", meson):
        if not any(re.fullmatch(rf"(lib)?{name}(-devel)? >={version}", need) for need in recipe["requirements"]["host"]):
            wrong.append(f"requirements/host: no {name} >={version}")
    if wrong:
        sys.exit("\n".join(wrong))
    print(json.dumps({"script": recipe["build"]["script"], "test": recipe["test"]["commands"]}))


main()
