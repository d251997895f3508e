"""Janggi, Korean chess: rules, positions and notation. `README.md` says which rules, and why."""
