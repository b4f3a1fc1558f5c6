"""Sphinx configuration. The reference pages are written from the package's own declarations before each build."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import generate  # noqa: E402

from vinesim.model.version import VERSION  # noqa: E402

generate.write_all(HERE / "reference" / "generated")

project = "VineSim"
author = "The VineSim developers"
project_copyright = author
version = release = VERSION
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", *(f"reference/generated/{part}.md" for part in ("wrong_policies", "mutations"))]
pygments_style = "friendly"
html_theme = "furo"
html_title = "VineSim"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["pages.css"]
# The theme's defaults name no host; nothing in the pages is loaded from the network.
html_theme_options = {"top_of_page_buttons": []}
