"""The documentation site: ``sphinx-build -W docs site``. It needs no network.

``sphinx-build -b dummy -W docs site`` reads everything and resolves every link, but draws and writes nothing.
"""

import sys
from importlib import metadata
from pathlib import Path

import matplotlib as mpl
from sphinx.application import Sphinx

mpl.use("Agg")

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import moving  # noqa: E402
import plots  # noqa: E402 - they lie beside this file
import scheme_pages  # noqa: E402
from api_names import api_text  # noqa: E402
from gallery import draw_gallery, write_gallery  # noqa: E402

from notebooks import write_notebooks  # noqa: E402
from rdmacc.experiments.ledger.score import score_text  # noqa: E402

project = "rdmacc"
author = "The rdmacc authors"
release = metadata.version("rdmacc")
links = (line.split(", ", 1) for line in metadata.metadata("rdmacc").get_all("Project-URL", []))
REPOSITORY = [(name, url) for name, url in links if name == "Repository"]  # the release workflow adds it
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_substitutions = {"score": score_text()}
myst_heading_anchors = 3
suppress_warnings = [
    "myst.xref_missing",  # links into the source tree, which GitHub resolves
    "config.cache",
    "ref.python",  # a package names what its modules define: both are documented
]
autosummary_generate = True
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_typehints = "none"  # the docstrings give types, with units
autodoc_member_order = "bysource"
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # attributes that are properties too are described once
default_role = "code"

html_theme = "pydata_sphinx_theme"
html_title = f"rdmacc {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {
    page: [] for page in ("index", "validation", "plausible", "plots", "gallery")
}  # they have no pages below them
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "logo": {"image_light": "_static/logo.svg", "image_dark": "_static/logo.svg", "text": "rdmacc"},
    "icon_links": [{"name": kind, "url": url, "icon": "fa-solid fa-code-branch"} for kind, url in REPOSITORY],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_context = {"default_mode": "auto"}

write_gallery(HERE)
write_notebooks(HERE)


def setup(app: Sphinx) -> None:
    """Draw the pictures if pages are to be written."""
    app.connect("builder-inited", _draw)
    app.connect("source-read", scheme_pages.complete)
    app.connect("source-read", _list_names)


def _list_names(_: Sphinx, name: str, source: list[str]) -> None:
    """Write what users import into its page: as a substitution it could have no headings."""
    if name == "api":
        source[0] = source[0].replace("{{ api }}", api_text())


def _draw(app: Sphinx) -> None:
    if app.builder.name == "dummy":
        app.config.suppress_warnings.append("image.not_readable")
    else:
        draw_gallery(HERE)
        scheme_pages.draw_schemes()
        plots.draw_plots()
        moving.draw_moving()
