"""Scores of predictions, with intervals and paired tests."""
