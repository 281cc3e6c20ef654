# SPDX-License-Identifier: Apache-2.0
"""The site made from these pages (`./run docs`). Its order is that of the tables in index.md."""

import re
import tomllib
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

_HERE = Path(__file__).parent
project = "geoelastic"
release = tomllib.loads((_HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
copyright = "the geoelastic maintainers, Apache-2.0"
extensions = ["myst_parser"]
exclude_patterns = [".site", "_build", "conf.py", "site_build.py", "reference/generate.py"]
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"  # browsers set it themselves: no script, no font, nothing to load
suppress_warnings = []
nitpicky = True
html_theme = "furo"
html_title = "geoelastic"
html_static_path = ["theme"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"top_of_page_buttons": []}
pygments_style = "default"


def _for_the_site(app, name, source):
    """Links whose words are a file's name get the title of the page; those to what lies beside these pages become their
    words. The index gets a table of contents for each of its sections."""
    text = re.sub(r"\[([\w./-]+\.md)\]\(\1\)", r"[](\1)", source[0])
    if "/" not in name:
        text = re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", text)
    if name == "index":
        for caption, section in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE):
            pages = re.findall(r"^\| \[[^\]]*\]\(([\w./-]+)\.md\)", section, flags=re.MULTILINE)
            contents = "\n".join([":hidden:", f":caption: {caption}", "", *pages])
            text += f"\n\n```{{toctree}}\n{contents}\n```\n"
    source[0] = text


def _inline_math(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def _display_math(translator, node):
    translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    app.connect("source-read", _for_the_site)
    app.add_html_math_renderer("mathml", (_inline_math, None), (_display_math, None))
