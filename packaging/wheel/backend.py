# SPDX-License-Identifier: BSD-3-Clause
"""Make a wheel of the Python package for pip (PEP 517), by Meson, without a network.

The wheel has librcx, rcxrun, and the part of cffi that the package needs to run. UCX, PMIx,
hwloc and libffi are those of the system, so it is of one version of Python and one platform.
"""

import base64
import hashlib
import json
import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

ROOT = Path.cwd()  # pip calls the hooks in the checkout
TARGETS = {"rcx": "shared_library", "rcxrun": "executable", "_rcx_h.py": "custom"}
NEEDED = {"python", "tools", "ucx", "pmix"}  # of meson_options.txt; other features are off
PACKAGE = ROOT / "bindings/python/rcx"

# of the Python that Meson runs make_rcx_h.py with: its tag, platform and cffi
DESCRIBE = """
import json, sys, sysconfig, _cffi_backend
print(json.dumps([f"cp{sys.version_info[0]}{sys.version_info[1]}",
                  sysconfig.get_platform().replace("-", "_").replace(".", "_"),
                  _cffi_backend.__file__]))
"""
WHERE = '''# SPDX-License-Identifier: BSD-3-Clause
"""The path of librcx."""

import pathlib

library = str(pathlib.Path(__file__).with_name("librcx.so.0"))
'''
METADATA = """Metadata-Version: 2.1
Name: rcx
Version: {version}
Summary: Collective operations on UCX for programs that are not MPI programs
License: BSD-3-Clause
License-File: LICENSE
License-File: LICENSE.cffi
Classifier: License :: OSI Approved :: BSD License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.10
Requires-External: ucx (>=1.13)
Requires-External: pmix (>=4)
Description-Content-Type: text/markdown

"""


def output_of(*command):
    """Run a command in the checkout, as from a shell: pip's build environment hides modules
    from Python programs such as Meson."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("PYTHON")}
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def build(folder):
    """Build the targets in folder."""
    features = [option["name"] for option in json.loads(
        output_of("meson", "introspect", "--buildoptions", "meson.build"))
        if option["section"] == "user" and option["type"] == "combo" and option["name"] != "hwloc"]
    options = [f"-D{name}={'enabled' if name in NEEDED else 'disabled'}" for name in features]
    print(output_of("meson", "setup", *options, folder))
    print(output_of("meson", "compile", "-C", folder,
                    *(f"{name}:{kind}" for name, kind in TARGETS.items())))


def built_in(folder):
    """Return a dict of the files of the targets, and what DESCRIBE prints."""
    targets = {target["name"]: target for target in json.loads(
        output_of("meson", "introspect", "--targets", folder)) if target["name"] in TARGETS}
    python = targets["_rcx_h.py"]["target_sources"][0]["compiler"][0]
    return ({name: Path(target["filename"][0]) for name, target in targets.items()},
            json.loads(output_of(python, "-c", DESCRIBE)))


def package(built, cffi):
    """Return the files of the package rcx: their names, and what they contain."""
    files = {f"rcx/{path.name}": path.read_bytes() for path in PACKAGE.iterdir()
             if path.suffix == ".py" or path.name == "py.typed"}
    declarations = built["_rcx_h.py"].read_text()
    line = "import _cffi_backend\n"
    if line not in declarations or b"$ORIGIN" in cffi.read_bytes():
        raise SystemExit("this cffi cannot be part of a wheel: install Debian's python3-cffi")
    files["rcx/_rcx_h.py"] = declarations.replace(line, (  # rather that of the environment
        f"try:\n    {line}except ImportError:\n    from . {line}"), 1).encode()
    files["rcx/_where.py"] = WHERE.encode()
    files[f"rcx/{cffi.name}"] = cffi.read_bytes()
    files["rcx/librcx.so.0"] = built["rcx"].read_bytes()
    return files


def hash_line(name, content):
    """Return the line of a file in RECORD."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return f"{name},sha256={digest},{len(content)}\n"


def write(path, files):
    """Write the wheel: the same bytes from the same files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)  # of 1980
            is_program = "/scripts/" in name or ".so" in name
            entry.external_attr = (0o100755 if is_program else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)


def contents(folder):
    """Return the files of the package, rcxrun, and the tag of the wheel."""
    built, (python, platform, cffi) = built_in(folder)
    files = dict(sorted(package(built, Path(cffi)).items()))
    return files, built["rcxrun"].read_bytes(), f"{python}-{python}-{platform}"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Write the wheel to a folder, and return its name. The setting builddir is a folder that
    has been built, in the checkout or absolute."""
    about = json.loads(output_of("meson", "introspect", "--projectinfo", "meson.build"))
    name = f"rcx-{about['version']}"
    if "builddir" in (config_settings or {}):
        files, rcxrun, tag = contents(config_settings["builddir"])
    else:
        with tempfile.TemporaryDirectory() as folder:
            build(folder)
            files, rcxrun, tag = contents(folder)
    files[f"{name}.data/scripts/rcxrun"] = rcxrun
    readme = (ROOT / "bindings/python/README.md").read_text()
    metadata = METADATA.format(version=about["version"])
    files |= {
        f"{name}.dist-info/LICENSE": (ROOT / "LICENSE").read_bytes(),
        f"{name}.dist-info/LICENSE.cffi": Path(__file__).with_name("LICENSE.cffi").read_bytes(),
        f"{name}.dist-info/METADATA": (metadata + readme).encode(),
        f"{name}.dist-info/WHEEL": ("Wheel-Version: 1.0\nGenerator: rcx\nRoot-Is-Purelib: false\n"
                                    f"Tag: {tag}\n").encode(),
    }
    record = f"{name}.dist-info/RECORD"
    files[record] = ("".join(hash_line(*file) for file in files.items()) + f"{record},,\n").encode()
    write(Path(wheel_directory) / f"{name}-{tag}.whl", files)
    return f"{name}-{tag}.whl"


def build_sdist(sdist_directory, config_settings=None):
    """There is none: `meson dist` archives the project."""
    raise NotImplementedError("a source distribution is made by meson dist")
