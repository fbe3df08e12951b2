"""Figures as Vega-Lite specifications: each is described once and drawn in pages, notebooks and files."""

from isoglot.report.figures.charts import Bar, Figure, Line, bars, heat_map, lines, scatter
from isoglot.report.figures.diagrams import plan_figure, plan_in_words, tokens_figure

__all__ = [
    "Bar",
    "Figure",
    "Line",
    "bars",
    "heat_map",
    "lines",
    "plan_figure",
    "plan_in_words",
    "scatter",
    "tokens_figure",
]
