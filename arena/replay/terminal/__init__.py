"""The replay viewer of a terminal: a list of recorded games, and one game to step through."""
