"""Settings of the documentation site; ``make docs`` builds it into ``docs/_build``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latex2mathml.converter import convert

sys.path.insert(0, str(Path(__file__).parent))

from isoglot import __version__

if TYPE_CHECKING:
    from page_parts import Part
    from sphinx.application import Sphinx

project = "isoglot"
author = "The isoglot authors"
copyright = f"2026, {author}"  # noqa: A001 - Sphinx's name
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["_build", "**.ipynb_checkpoints", "kit", "tutorials/emergence", "tutorials/fixed"]
suppress_warnings = [
    "myst.xref_ambiguous",
    "mystnb.unknown_mime_type",  # Vega-Lite beside the SVG that is shown
    "ref.python",  # a name that two rooms export
]
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
add_module_names = False

STUDIES = "docs/_build/html/results/index.html"  # where a page names this file, the site has a link

html_theme = "furo"
html_title = f"isoglot {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True


def _math(self: Any, node: Any, display: str) -> None:  # noqa: ANN401 - a translator and a node of docutils
    self.body.append(convert(node.astext(), display=display))


def _inline_math(self: Any, node: Any) -> None:  # noqa: ANN401
    from docutils.nodes import SkipNode

    _math(self, node, "inline")
    raise SkipNode


def _block_math(self: Any, node: Any) -> None:  # noqa: ANN401
    from docutils.nodes import SkipNode

    _math(self, node, "block")
    raise SkipNode


def setup(app: Sphinx) -> None:
    """Write the generated pages before anything is read, and divide long ones; formulas become MathML, which needs no script."""
    from page_parts import divided, first_page, followed, moved, write_parts
    from reference_pages import write_pages

    pages: dict[str, list[Part]] = {}

    def write(app: Sphinx) -> None:
        docs = Path(app.srcdir)
        write_pages(docs)
        pages.update(divided(docs))
        write_parts(docs, pages)

    def read(_: Sphinx, name: str, content: list[str]) -> None:
        text = followed(first_page(pages[name]) if name in pages else content[0], moved(pages))
        content[0] = text.replace(
            f"`{STUDIES}`", f'<a href="{Path(STUDIES).relative_to("docs/_build/html")}">results</a>'
        )

    def publish(app: Sphinx, error: Exception | None) -> None:
        """Put the page of the published studies beside the site's own."""
        from isoglot.report.several_studies import studies_page
        from isoglot.study.study import Study

        found = sorted(Path(app.srcdir).parent.glob("results/*/study.json"))
        studies = [Study.open(path.parent) for path in found if not path.parent.name.startswith("thumbnail")]
        studies.sort(key=lambda study: study.about.get("paper") is None)
        if error is None and studies and app.builder.format == "html":
            page = studies_page(
                studies, title="Results: both papers, and the factorial study", papers=("wu2020", "liu2020")
            )
            page.write(Path(app.outdir) / "results", one_file=True)

    app.connect("builder-inited", write)
    app.connect("build-finished", publish)
    app.connect("source-read", read)
    app.registry.html_inline_math_renderers["mathml"] = (_inline_math, None)
    app.registry.html_block_math_renderers["mathml"] = (_block_math, None)


html_math_renderer = "mathml"
