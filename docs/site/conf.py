# SPDX-License-Identifier: BSD-3-Clause
"""For Sphinx; see build."""

import os

project = "RCX"
version = release = os.environ["RCX_VERSION"]
author = "the RCX developers"
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "alabaster"
html_theme_options = {"description": "Reduction Collectives on UCX", "page_width": "70em"}
html_static_path = ["static"]
html_css_files = ["tables.css"]
html_show_copyright = False
