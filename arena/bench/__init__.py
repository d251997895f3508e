"""Measurements: one load for every engine, and what each technique is worth on it."""
