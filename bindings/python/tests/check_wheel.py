# SPDX-License-Identifier: BSD-3-Clause
"""Check the form of a wheel of rcx, with nothing of what makes it: check_wheel.py WHEEL VERSION"""

import base64
import csv
import email
import hashlib
import io
import re
import stat
import sys
import sysconfig
import zipfile


def main(path, version):
    """Check names, tags, metadata, and the hash of each file."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    tag = f"{python}-{python}-{re.sub('[-.]', '_', sysconfig.get_platform())}"
    assert path.rsplit("/", 1)[-1] == f"rcx-{version}-{tag}.whl", (path, tag)
    about = f"rcx-{version}.dist-info"
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        names = wheel.namelist()
        assert len(names) == len(set(names))
        rows = list(csv.reader(io.StringIO(wheel.read(f"{about}/RECORD").decode())))
        assert sorted(row[0] for row in rows) == sorted(names)
        for name, digest, size in rows:
            if name == f"{about}/RECORD":
                assert (digest, size) == ("", "")
                continue
            content = wheel.read(name)
            padded = digest.removeprefix("sha256=") + "="
            assert base64.urlsafe_b64decode(padded) == hashlib.sha256(content).digest(), name
            assert int(size) == len(content), name
        assert names[-1] == f"{about}/RECORD"
        metadata = email.message_from_bytes(wheel.read(f"{about}/METADATA"))
        assert (metadata["Name"], metadata["Version"]) == ("rcx", version)
        assert metadata["License"] == "BSD-3-Clause" and metadata["Requires-Dist"] is None
        assert all(f"{about}/{name}" in names for name in metadata.get_all("License-File"))
        form = email.message_from_bytes(wheel.read(f"{about}/WHEEL"))
        assert (form["Tag"], form["Root-Is-Purelib"]) == (tag, "false")
        assert {"rcx/__init__.py", "rcx/py.typed", "rcx/librcx.so.0", "rcx/dask.py"} <= set(names)
        for info in wheel.infolist():
            is_program = info.filename.endswith("/rcxrun") or ".so" in info.filename
            assert stat.S_IMODE(info.external_attr >> 16) == (0o755 if is_program else 0o644)
        assert not any("/build" in wheel.read(name).decode(errors="replace") for name in names
                       if name.endswith("_where.py"))
    print("as PEP 427 has it")


main(*sys.argv[1:])
