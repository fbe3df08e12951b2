"""Results of a study as tables."""
