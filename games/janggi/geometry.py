"""The board and how each piece moves on it, as tables made once.

Points are the integers 0..89: (rank - 1) * 9 + file, so a1 is 0, i1 is 8 and i10 is 89. A board is a string of 90
characters in that order: a piece by its FEN letter (capitals are Cho, moving up the board), `.` for an empty point.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

FILES = 9
RANKS = 10
POINTS = FILES * RANKS

EMPTY = "."
CHO = "KARCNBP"
HAN = CHO.lower()

_ORTHOGONAL = ((0, 1), (1, 0), (0, -1), (-1, 0))  # (file, rank)

POINT_NAMES = tuple(f"{'abcdefghi'[point % FILES]}{point // FILES + 1}" for point in range(POINTS))
POINT_OF = {name: point for point, name in enumerate(POINT_NAMES)}

MOVE_NAMES = tuple(tuple(origin + target for target in POINT_NAMES) for origin in POINT_NAMES)
"""`MOVE_NAMES[origin][target]` is the canonical move: `a9a10`."""

MOVE_OF = {name: (origin, target) for origin, row in enumerate(MOVE_NAMES) for target, name in enumerate(row)}
"""Origin and target of a canonical move."""

PALACES = {
    side: frozenset(POINT_OF[f"{file}{rank}"] for file in "def" for rank in ranks)
    for side, ranks in (("K", (1, 2, 3)), ("k", (8, 9, 10)))
}
"""The nine points of each general's palace, by the general's letter."""


def _step(point: int, files: int, ranks: int) -> int | None:
    """The point that many files and ranks away, None off the board."""
    file, rank = point % FILES + files, point // FILES + ranks
    return rank * FILES + file if 0 <= file < FILES and 0 <= rank < RANKS else None


def _walk(point: int, files: int, ranks: int) -> Iterator[int]:
    """The points in one direction, from the next to the edge of the board."""
    following = _step(point, files, ranks)
    while following is not None:
        yield following
        following = _step(following, files, ranks)


def _palace_diagonals() -> dict[int, tuple[tuple[int, ...], ...]]:
    """The rays along the palace diagonals: from a corner over the centre to the far corner, from the centre outward."""
    rays: dict[int, tuple[tuple[int, ...], ...]] = {}
    for centre in (POINT_OF["e2"], POINT_OF["e9"]):
        rays[centre] = tuple((centre + across,) for across in (10, 8, -8, -10))
        for across in (10, 8, -8, -10):
            rays[centre - across] = ((centre, centre + across),)
    return rays


DIAGONALS = _palace_diagonals()

RAYS: tuple[tuple[tuple[int, ...], ...], ...] = tuple(
    tuple(ray for files, ranks in _ORTHOGONAL if (ray := tuple(_walk(point, files, ranks)))) + DIAGONALS.get(point, ())
    for point in range(POINTS)
)
"""The lines that chariots and cannons move along, by their origin: each from the next point outward."""

Leap = tuple[int, tuple[int, ...]]
"""A target, and the points on the way to it, which have to be empty."""


def _palace_leaps(point: int, palace: frozenset[int]) -> Iterator[Leap]:
    for ray in RAYS[point]:
        if point in palace and ray[0] in palace:
            yield ray[0], ()


def _soldier_leaps(point: int, forward: int) -> Iterator[Leap]:
    for files, ranks in ((0, forward), (-1, 0), (1, 0)):
        if (target := _step(point, files, ranks)) is not None:
            yield target, ()
    for ray in DIAGONALS.get(point, ()):
        if (ray[0] // FILES - point // FILES) == forward:
            yield ray[0], ()


def _jumping_leaps(point: int, diagonal_steps: int) -> Iterator[Leap]:
    """One step along a line, then `diagonal_steps` outward: 1 for the horse, 2 for the elephant."""
    for files, ranks in _ORTHOGONAL:
        for side in (-1, 1):
            across, along = (files or side), (ranks or side)
            way = [_step(point, files + across * n, ranks + along * n) for n in range(diagonal_steps + 1)]
            on_board = [step for step in way if step is not None]
            if len(on_board) == len(way):
                yield on_board[-1], tuple(on_board[:-1])


def _leaps(piece: str) -> tuple[tuple[Leap, ...], ...]:
    def of(point: int) -> Iterable[Leap]:
        match piece:
            case "K" | "A":
                return _palace_leaps(point, PALACES["K"])
            case "k" | "a":
                return _palace_leaps(point, PALACES["k"])
            case "P":
                return _soldier_leaps(point, 1)
            case "p":
                return _soldier_leaps(point, -1)
        return _jumping_leaps(point, 1 if piece in "Nn" else 2)

    return tuple(tuple(of(point)) for point in range(POINTS))


LEAPS = {piece: _leaps(piece) for piece in CHO + HAN if piece not in "RCrc"}
"""`LEAPS[piece][origin]`: the moves of the pieces that are no sliders, blocked or not."""

Reach = dict[int, tuple[int, ...]]
"""Targets, each with the points between."""


def _reach(piece: str, origin: int) -> Reach:
    if piece in LEAPS:
        return dict(LEAPS[piece][origin])
    return {target: ray[:index] for ray in RAYS[origin] for index, target in enumerate(ray)}


REACH: dict[str, tuple[Reach, ...]] = {
    piece: tuple(_reach(piece, origin) for origin in range(POINTS)) for piece in CHO + HAN
}
"""`REACH[piece][origin]`: every point that the piece could attack, whatever the rest of the board. It does attack it
if the points between are empty; a cannon, if exactly one piece is between, and that is no cannon."""
