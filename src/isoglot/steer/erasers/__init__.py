"""Erasers: remove what tells languages apart from representations."""
