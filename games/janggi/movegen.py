"""Legal moves of a board.

Few moves can leave the own general attacked, and which ones can be read off the board: an enemy piece that stands so
that it could attack the general is a *threat*, and whether it does depends only on the points between. A move that
touches none of the points that matter is legal as it is; the others are tried. (For a cannon, occupying such a point
matters as much as leaving it.)
"""

from __future__ import annotations

from typing import NamedTuple

from games.janggi.geometry import CHO, EMPTY, FILES, HAN, LEAPS, RAYS, REACH

CANNONS = "Cc"
GENERALS = "Kk"

Move = tuple[int, int]
"""Origin and target; a pass is the general's own point twice."""

Placed = tuple[int, str]
"""A point and the piece on it."""


class Threat(NamedTuple):
    """An enemy piece that attacks the general if what is `between` lets it."""

    attacker: int
    between: tuple[int, ...]
    by_cannon: bool


def legal_moves(board: str, cho: bool, *, bikjang: bool = False) -> list[Move]:
    """The legal moves of Cho, or of Han, in no order to rely on; none in checkmate.

    `bikjang` says whether the rule is in force: while the generals face each other, only moves that part them and the
    pass are legal, and the pass is so even in check.
    """
    own, enemies = (_army(board, letters) for letters in ((CHO, HAN) if cho else (HAN, CHO)))
    general = general_of(board, cho)
    threats = _threats(board, enemies, general)
    in_check = any(_hits(board, threat) for threat in threats)
    gap = facing(board) if bikjang else None
    critical = _critical_points(board, threats)
    moves: list[Move] = []
    for origin, piece in own:
        targets = targets_of(board, origin, piece)
        if gap is not None:
            targets = [target for target in targets if _parts(origin, target, general, gap)]
        if origin == general:
            targets = _safe_points(board, general, targets, enemies)
        elif in_check or origin in critical:
            targets = [target for target in targets if _is_safe(board, origin, target, threats)]
        elif critical:
            targets = [t for t in targets if t not in critical or _is_safe(board, origin, t, threats)]
        moves += [(origin, target) for target in targets]
    if not in_check or gap is not None:
        moves.append((general, general))
    return moves


def in_check(board: str, cho: bool) -> bool:
    """Whether the general of Cho, or of Han, could be taken by the next move."""
    return _is_attacked(board, general_of(board, cho), _army(board, HAN if cho else CHO))


def general_of(board: str, cho: bool) -> int:
    return board.index("K" if cho else "k")


def facing(board: str) -> tuple[int, ...] | None:
    """The points between the generals if they face each other along an open file (bikjang), else None."""
    lower, upper = sorted((board.index("K"), board.index("k")))
    if (upper - lower) % FILES or board[lower + FILES : upper : FILES].strip(EMPTY):
        return None
    return tuple(range(lower + FILES, upper, FILES))


def after(board: str, origin: int, target: int) -> str:
    """The board after a move; a pass leaves it as it is."""
    if origin == target:
        return board
    left = board[:origin] + EMPTY + board[origin + 1 :]
    return left[:target] + board[origin] + left[target + 1 :]


def targets_of(board: str, origin: int, piece: str) -> list[int]:
    """Where a piece that stands on `origin` can go, whether or not that leaves its general attacked."""
    own = CHO if piece in CHO else HAN
    if piece in "Rr":
        return _slides(board, origin, own)
    if piece in CANNONS:
        return _hops(board, origin, own)
    targets = []
    for target, way in LEAPS[piece][origin]:
        if board[target] in own:
            continue
        for point in way:
            if board[point] != EMPTY:
                break
        else:
            targets.append(target)
    return targets


def _army(board: str, letters: str) -> list[Placed]:
    return [(point, piece) for point, piece in enumerate(board) if piece in letters]


def _threats(board: str, enemies: list[Placed], general: int) -> list[Threat]:
    return [
        Threat(point, between, piece in CANNONS)
        for point, piece in enemies
        if (between := REACH[piece][point].get(general)) is not None
    ]


def _critical_points(board: str, threats: list[Threat]) -> set[int]:
    """The points where a piece that comes or goes can let a threat through that does not hit now.

    One move changes the number of pieces between by at most one: a line with two blockers stays shut, and so does a
    cannon's with three.
    """
    critical: set[int] = set()
    for threat in threats:
        blockers = sum(board[point] != EMPTY for point in threat.between)
        if blockers <= 1 + threat.by_cannon:
            critical.update(threat.between)
    return critical


def _hits(board: str, threat: Threat) -> bool:
    return _is_open(board, threat.between, threat.by_cannon)


def _is_open(board: str, between: tuple[int, ...], by_cannon: bool) -> bool:
    """Whether an attack passes: over nothing, or for a cannon over exactly one piece that is no cannon."""
    screens = 0
    for point in between:
        if board[point] != EMPTY:
            if not by_cannon or board[point] in CANNONS:
                return False
            screens += 1
    return screens == by_cannon


def _is_attacked(board: str, point: int, enemies: list[Placed]) -> bool:
    for origin, piece in enemies:
        between = REACH[piece][origin].get(point)
        if between is not None and _is_open(board, between, piece in CANNONS):
            return True
    return False


def _is_safe(board: str, origin: int, target: int, threats: list[Threat]) -> bool:
    """Whether no threat hits after a move of another piece than the general."""
    board = after(board, origin, target)
    return not any(threat.attacker != target and _hits(board, threat) for threat in threats)


def _safe_points(board: str, general: int, targets: list[int], enemies: list[Placed]) -> list[int]:
    """Those `targets` where the general is not attacked."""
    without = board[:general] + EMPTY + board[general + 1 :]  # it does not stand in the way of what it flees
    return [target for target in targets if not _is_attacked(without, target, enemies)]


def _parts(origin: int, target: int, general: int, gap: tuple[int, ...]) -> bool:
    """Whether a move ends bikjang: the general leaves the file, or a piece comes between."""
    if origin == general:
        return (target - general) % FILES != 0
    return target in gap


def _slides(board: str, origin: int, own: str) -> list[int]:
    targets = []
    for ray in RAYS[origin]:
        for target in ray:
            if board[target] == EMPTY:
                targets.append(target)
                continue
            if board[target] not in own:
                targets.append(target)
            break
    return targets


def _hops(board: str, origin: int, own: str) -> list[int]:
    targets = []
    for ray in RAYS[origin]:
        hopped = False
        for target in ray:
            piece = board[target]
            if piece == EMPTY:
                if hopped:
                    targets.append(target)
            elif piece in CANNONS:
                break
            elif hopped:
                if piece not in own:
                    targets.append(target)
                break
            else:
                hopped = True
    return targets
