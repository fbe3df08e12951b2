"""Similarity measures of two representations of the same items."""
