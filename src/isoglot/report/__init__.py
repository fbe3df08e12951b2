"""Figures and pages: what the rooms before have measured, shown."""
