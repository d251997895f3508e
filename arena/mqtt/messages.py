"""What is published about a run: topics and payloads. README.md has the same in a page.

<prefix>/<run>/status         retained: a RunStatus
<prefix>/<run>/<game>/state   retained: a GameState
<prefix>/<run>/<game>/move    a Move
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from agents.mqtt.broker import Broker
from agents.mqtt.codec import BadPayloadError, Payload, decode
from arena.live.board import is_janggi, placement
from arena.printable import printable
from games import game_names
from games.base import Side

MAX_MESSAGE = 16_384
"""Bytes of a payload that is read."""
MAX_TEXT = 300
MAX_ID = 2**63 - 1

Shown = Annotated[str, Field(max_length=2 * MAX_TEXT), AfterValidator(printable)]
"""Text of others on its way to a terminal."""
Run = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,100}$")]
Number = Annotated[int, Field(ge=0, le=MAX_ID)]
Ply = Annotated[int, Field(ge=0, le=100_000)]
Fen = Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z0-9/ -]+$")]
MoveText = Annotated[str, Field(max_length=12, pattern=r"^[a-z0-9@]+$")]
Milliseconds = Annotated[float, Field(ge=0)]
Status = Literal["running", "finished", "interrupted", "failed", "lost"]

PIECES = {"chess": frozenset("KQRBNPkqrbnp"), "janggi": frozenset("KARCNBPkarcnbp")}
SIZES = {"chess": (8, 8), "janggi": (9, 10)}


class Published(Payload):
    """What all have. `session` is when the publisher started, in milliseconds since 1970: when a run is resumed, the
    messages of its later sessions replace those of earlier ones."""

    session: Number
    run: Run
    at: datetime = Field(strict=False)


class RunStatus(Published):
    """How a run stands. `lost` is the will: its publisher went without a word. `dropped` counts moves that were not
    published because the broker was away or slow; the states that came later include them."""

    status: Status
    detail: Shown = ""
    seed: Number | None = None
    model: Shown | None = None
    games: Number = 0
    done: Number = 0
    void: Number = 0
    dropped: Number = 0


def _check_board(game: str, fen: str) -> None:
    """Raises ValueError for what cannot be drawn. Whether it can come up in the game is not asked."""
    family = "janggi" if is_janggi(game) else game
    if game not in game_names() or family not in PIECES:
        raise ValueError("unknown game")
    columns, lines = SIZES[family]
    ranks = placement(fen)
    if len(ranks) != lines or any(len(rank) != columns or not PIECES[family] >= set("".join(rank)) for rank in ranks):
        raise ValueError("no position of this game")


class GameState(Published):
    """The whole position after `ply` plies. `clock_ms` is what each side has left, where there are clocks; `result`
    as in PGN, None while the game goes on."""

    game_id: Number
    game: Annotated[str, Field(max_length=40)]
    white: Shown
    black: Shown
    ply: Ply
    fen: Fen
    to_move: Side
    last_move: MoveText | None = None
    last_san: Shown | None = None
    clock_ms: dict[Side, Milliseconds] = Field(default_factory=dict)
    result: Literal["1-0", "0-1", "1/2-1/2", "*"] | None = None
    termination: Shown = ""
    detail: Shown = ""

    @model_validator(mode="after")
    def _board_can_be_drawn(self) -> Self:
        _check_board(self.game, self.fen)
        return self


class Move(Published):
    """A ply. `ply` counts from 1; `fen` is the position after it; `clock_ms` what the mover has left."""

    game_id: Number
    game: Annotated[str, Field(max_length=40)]
    ply: Annotated[Ply, Field(ge=1)]
    side: Side
    agent: Shown
    move: MoveText
    san: Shown
    fen: Fen
    clock_ms: Milliseconds | None = None
    total_ms: Milliseconds = 0.0

    @model_validator(mode="after")
    def _board_can_be_drawn(self) -> Self:
        _check_board(self.game, self.fen)
        return self


Update: TypeAlias = RunStatus | GameState | Move


def status_topic(broker: Broker, run: str) -> str:
    return broker.topic(run, "status")


def state_topic(broker: Broker, run: str, game_id: int | str) -> str:
    return broker.topic(run, game_id, "state")


def move_topic(broker: Broker, run: str, game_id: int | str) -> str:
    return broker.topic(run, game_id, "move")


def read_update(broker: Broker, topic: str, payload: object) -> Update:
    """The message on `topic`. Raises BadPayloadError, also if the payload is about another run or game."""
    levels = topic.removeprefix(broker.topic("")).split("/")
    update: Update
    match levels:
        case [run, "status"]:
            update, said = decode(RunStatus, payload, MAX_MESSAGE), [run]
        case [run, game_id, "state"]:
            update, said = decode(GameState, payload, MAX_MESSAGE), [run, game_id]
        case [run, game_id, "move"]:
            update, said = decode(Move, payload, MAX_MESSAGE), [run, game_id]
        case _:
            raise BadPayloadError("no topic of ours")
    meant = [update.run] if isinstance(update, RunStatus) else [update.run, str(update.game_id)]
    if meant != said:
        raise BadPayloadError("it is about another run or game than its topic")
    return update
