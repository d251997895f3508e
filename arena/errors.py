"""Errors that a person at the command line can act on."""

from __future__ import annotations


class ArenaError(Exception):
    """Shown as one clear sentence, without a traceback, with exit code 1: something failed."""

    exit_code = 1


class UsageError(ArenaError):
    """Bad input: the message names the value and what would be right. Exit code 2."""

    exit_code = 2


class UnfitError(UsageError):
    """A game that a file format cannot hold: the format is for other games. Exit code 2."""


class StoreError(ArenaError):
    """The database cannot be opened, read or written."""


class NoSuchDatabaseError(StoreError, UsageError):
    """What was named is no database, and the name is at fault. Exit code 2."""
