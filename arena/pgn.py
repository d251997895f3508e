"""A recorded game as PGN, by the standard's export format, with what the record knows in tags and comments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agents.spec import kind_of
from arena.errors import StoreError, UnfitError
from arena.printable import printable
from arena.store.records import IMPORTED, OPENING

if TYPE_CHECKING:
    import chess.pgn

    from arena.store.queries import GameDetail, MoveDetail

TERMINATIONS = {
    "time": "time forfeit",
    "crash": "abandoned",
    "infrastructure": "emergency",
    "ply-limit": "adjudication",
    "adjudication": "adjudication",
    "abandoned": "abandoned",
    "unfinished": "unterminated",
}
"""The standard's words for ours; a forfeit is a `rules infraction`, all that is not listed is `normal`."""

EVENT_TAGS = ("Event", "Site", "Date", "Round", "UTCDate", "UTCTime")
"""Of an imported game its file knows these better than the record."""


def to_pgn(detail: GameDetail) -> str:
    """The game as PGN text that ends in one line break. Times: `%emt` is the move's wall time, `%clk` what the mover
    had left; the plain comment has the first token's latency, prompted + generated tokens, and the probability.

    Raises UnfitError for another game than chess, StoreError for a record that cannot be replayed.
    """
    if detail.game != "chess":
        raise UnfitError(f"game {detail.game_id} is {detail.game}: PGN can be written for chess only")
    import chess
    import chess.pgn

    game = chess.pgn.Game()
    try:
        if detail.initial_fen is not None:
            game.setup(chess.Board(detail.initial_fen))
        node: chess.pgn.GameNode = game
        board = game.board()
        for move in detail.moves:
            node = node.add_variation(board.push_uci(move.move))
            _annotate(node, move)
    except ValueError as error:
        raise StoreError(f"game {detail.game_id} cannot be replayed from the record: {error}") from error
    for tag, value in _with_source(_tags(detail), detail.source_tags).items():
        game.headers[tag] = _tag_value(value)
    return game.accept(chess.pgn.StringExporter(headers=True, comments=True)) + "\n"


def _tags(detail: GameDetail) -> dict[str, str]:
    """Tags in the order they are written, the seven of the roster first; `SetUp` and `FEN` come with the board."""
    start = detail.started_at
    tags = {
        "Event": f"Arena run {detail.run}",
        "Site": "?",
        "Date": f"{start:%Y.%m.%d}" if start else "????.??.??",
        "Round": f"{detail.index + 1}" + (f".{detail.replay}" if detail.replay else ""),
        "White": detail.white,
        "Black": detail.black,
        "Result": detail.result or "*",
        "UTCDate": f"{start:%Y.%m.%d}" if start else None,
        "UTCTime": f"{start:%H:%M:%S}" if start else None,
        "PlyCount": str(len(detail.moves)),
        "TimeControl": detail.time_control,
        "Termination": _termination(detail),
        "WhiteType": _kind(detail.white_spec),
        "BlackType": _kind(detail.black_spec),
        "Opening": detail.opening,
        "Model": detail.model,
        "ModelChecksum": detail.model_checksum,
        "WhiteTemplate": detail.white_template,
        "BlackTemplate": detail.black_template,
        "ArenaRun": str(detail.run_id),
        "ArenaGame": str(detail.game_id),
        "ArenaSeed": str(detail.seed),
        "ArenaPair": None if detail.pair is None else str(detail.pair),
        "ArenaCharge": detail.charge,
        "ArenaTermination": detail.termination,
        "ArenaVoid": "true" if detail.void else None,
        "ArenaDetail": detail.detail or None,
        "ArenaDuplicateOf": None if detail.duplicate_of is None else str(detail.duplicate_of),
    }
    return {tag: value for tag, value in tags.items() if value is not None}


def _with_source(tags: dict[str, str], source: Mapping[str, str] | None) -> dict[str, str]:
    """For an imported game, what its file said where we know no better: event, date, ratings and the like."""
    if source is None:
        return tags
    ours = {tag: value for tag, value in tags.items() if tag not in ("UTCDate", "UTCTime")}  # maybe of the import
    theirs = {
        tag: value
        for tag, value in source.items()
        if tag in EVENT_TAGS or (tag not in (*ours, "FEN", "SetUp") and not tag.startswith("Arena"))
    }
    return ours | theirs


def _termination(detail: GameDetail) -> str:
    if detail.termination is None:
        return "unterminated"
    if detail.termination.startswith("forfeit-"):
        return "rules infraction"
    if detail.termination.startswith("adjudication-"):
        return "adjudication"
    return TERMINATIONS.get(detail.termination, "normal")


def _kind(spec: str) -> str | None:
    """The standard's word for a player of that spec; None for one whose moves come from a file."""
    if spec == IMPORTED:
        return None
    return "human" if kind_of(spec) == "human" else "program"


def _tag_value(value: str) -> str:
    """A value as the standard wants it between the quotes: printing characters, quote and backslash escaped."""
    return printable(value).replace("\\", "\\\\").replace('"', '\\"')


def _annotate(node: chess.pgn.GameNode, move: MoveDetail) -> None:
    notes = []
    if move.prompt_tokens:
        notes = [f"ttft {move.ttft_ms:.0f} ms", f"{move.prompt_tokens}+{move.generated_tokens} tokens"]
    if move.probability is not None:
        notes.append(f"p {move.probability:.3g}")
    failed = [attempt.failure for attempt in move.attempts if attempt.failure]
    if failed:
        notes.append(f"after {', '.join(failed)}")
    if move.policy == OPENING:
        notes.append(OPENING)
    node.comment = ", ".join(notes)
    if move.clock_ms is not None:
        node.set_clock(move.clock_ms / 1000)
    if move.total_ms or move.policy not in (IMPORTED, OPENING):
        node.set_emt(move.total_ms / 1000)
