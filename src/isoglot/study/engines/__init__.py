"""Engines: what runs the steps of a study, on this machine or on a cluster."""
