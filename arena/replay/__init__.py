"""Recorded games to look at: what to show at each ply, and the faces that show it."""
