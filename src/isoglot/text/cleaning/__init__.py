"""Cleaning, splitting and segmenting text."""
