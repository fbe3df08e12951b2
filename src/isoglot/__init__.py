"""isoglot: how languages come to share one space inside a masked language model."""

__version__ = "0.1.0.dev0"
