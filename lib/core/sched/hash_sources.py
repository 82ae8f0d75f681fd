#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write a C file that defines rcx_method_sources, a hash of all files in some folders, and of an option.

usage: hash_sources.py C_FILE DEPENDENCIES OPTION FOLDER_OR_FILE...

DEPENDENCIES is a file for ninja, which names the folders and files.
"""
import hashlib
import pathlib
import sys

output, dependencies, option = sys.argv[1:4]
hashed = hashlib.sha256(option.encode())
seen = []
for folder in map(pathlib.Path, sys.argv[4:]):
    seen.append(folder)
    for path in sorted(folder.rglob("*")) or [folder]:
        seen.append(path)
        if path.suffix in (".c", ".h", ".tuning"):
            text = path.read_bytes()
            hashed.update(f"{path.relative_to(folder)} {len(text)}\n".encode() + text)
pathlib.Path(output).write_text(f"""/* Made by {pathlib.Path(__file__).name}. */
#include "core/sched/method.h"

const uint64_t rcx_method_sources = UINT64_C(0x{hashed.hexdigest()[:16]});
""")
names = " ".join(str(path).replace(" ", "\\ ") for path in seen)
pathlib.Path(dependencies).write_text(f"{output}: {names}\n")
