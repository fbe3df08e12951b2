"""How results show themselves in notebooks: by pages, figures and tables of a room that core does not import.

A result that inherits from :class:`Displayed` is looked up here by the name of its class when it is shown.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PAGES = {
    "isoglot.compare.emergence.Emergence": "isoglot.report.compare:emergence_page",
    "isoglot.compare.encoders.Comparison": "isoglot.report.compare:comparison_page",
    "isoglot.diagnose.result.Checkup": "isoglot.report.diagnosis:diagnosis_page",
    "isoglot.steer.sweep.Sweep": "isoglot.report.steer:one_sweep_page",
    "isoglot.steer.token_translation.Translation": "isoglot.report.steer:one_translation_page",
    "isoglot.study.study.Study": "isoglot.report.study:study_page",
}
"""Function that makes the page of a result, by the class of the result."""


class Displayed:
    """A result with a page: ``page()``, ``plot()``, ``to_frame()``, and HTML in notebooks."""

    def page(self) -> Any:  # noqa: ANN401 - a Page of isoglot.report
        """The page that the command of this result writes; ``.write(folder)`` saves it with its files."""
        names = (f"{one.__module__}.{one.__qualname__}" for one in type(self).__mro__)
        module, _, function = next(_PAGES[name] for name in names if name in _PAGES).partition(":")
        return getattr(import_module(module), function)(self)

    def plot(self, name: str | None = None) -> Any:  # noqa: ANN401 - a Figure of isoglot.report
        """A figure of the page; ``.save("x.pdf")`` writes it.

        Args:
            name: Name of the figure, one of ``page().figures()``. Default: the first.

        Raises:
            ConfigError: There is no such figure.
        """
        return self.page().figure(name)

    def to_frame(self) -> Any:  # noqa: ANN401 - pandas has no types here
        """The main table of the page as a pandas ``DataFrame``.

        Raises:
            MissingPartError: pandas is not installed.
        """
        return self.page().tables()[0].to_frame()

    def _repr_html_(self) -> str:
        text: str = self.page()._repr_html_()
        return text
