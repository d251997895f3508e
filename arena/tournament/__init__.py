"""Tournaments: who plays whom from which opening, and what the results say about strength.

Pure: no model, no database, no event loop. The same input gives the same answer, anywhere.
"""
