"""The agent that asks a person at the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from agents.base import Agent, Clock, MoveReply, MoveRequest, PlayerLeft
from games import get_game
from games.base import IllegalMoveError, Position
from games.pictures import Faces, board_text

POLICY = "person"
"""The legality policy of a person: asked until the answer is a legal move."""

HELP = """\
A move is typed as the game writes it, or by its squares: {san} or {move}.
  moves    the legal moves            board    the board again
  resign   give the game up           draw     offer a draw
  quit     leave; `arena play --resume` goes on with this game"""

NO_UNDO = "A move that was played stays played: every ply is on record. There is no undo."

NO_DRAW = "Declined: a draw that the rules let a player claim is taken at once, without an offer, and here is none."


class Table(Protocol):
    """Where a person sits, such as `agents.terminal.Terminal`."""

    def say(self, text: str) -> None: ...

    async def ask(self, question: str) -> str:
        """A line. Raises EOFError when nobody is there any more."""


class HumanAgent(Agent):
    """Plays what a person types, and shows the board from the side of who is to move. Keeps nothing between calls."""

    is_person = True

    def __init__(self, name: str, table: Table, faces: Faces = "hanja") -> None:
        """`faces` are what stands on the pieces; see `games.pictures`."""
        self.name = name
        self._table = table
        self._faces = faces

    async def choose_move(self, request: MoveRequest) -> MoveReply:
        """Asks until the answer is a legal move or a resignation. Raises PlayerLeft."""
        position = request.position
        news = " ".join(filter(None, [_last_move(position), _clocks(position, request.clock)]))
        self._table.say(f"\n{self._board(position)}\n{news}")
        side = get_game(position.game).sides[position.side_to_move]
        while True:
            try:
                text = await self._table.ask(f"{self.name} ({side}), move {len(position.moves) // 2 + 1}: ")
            except EOFError as error:
                raise PlayerLeft(f"{self.name} has left") from error
            match text.lower():
                case "":
                    continue
                case "quit" | "exit":
                    raise PlayerLeft(f"{self.name} has left")
                case "resign":
                    return MoveReply.resignation(POLICY)
                case "board":
                    self._table.say(self._board(position))
                case word if word in _ANSWERS:
                    self._table.say(_ANSWERS[word](position))
                case _:
                    try:
                        return MoveReply.of(position.parse(text), POLICY)
                    except IllegalMoveError:
                        self._table.say(f"{text} is not legal here; `moves` lists the legal moves.")
                    except ValueError as error:
                        self._table.say(f"{error}; `help` tells what can be typed.")

    def _board(self, position: Position) -> str:
        return board_text(position, flip=position.side_to_move == "second", faces=self._faces)


def _last_move(position: Position) -> str:
    if not position.moves:
        return ""
    before = get_game(position.game).position(position.start_fen, position.moves[:-1])
    mover = get_game(position.game).sides[before.side_to_move]
    return f"{mover} played {before.san(position.moves[-1])}."


def _clocks(position: Position, clock: Clock | None) -> str:
    if clock is None:
        return ""
    sides = get_game(position.game).sides
    left = ", ".join(f"{sides[side]} {_time(clock.left(side))}" for side in sides)
    return f"Time left: {left}."


def _time(milliseconds: float) -> str:
    minutes, seconds = divmod(milliseconds / 1000, 60)
    return f"{int(minutes)}:{seconds:04.1f}"


def _help(position: Position) -> str:
    move = position.legal_moves()[-1]
    return HELP.format(san=position.san(move), move=move)


def _moves(position: Position) -> str:
    return "  ".join(position.san(move) for move in position.legal_moves())


_ANSWERS: dict[str, Callable[[Position], str]] = {
    "help": _help,
    "?": _help,
    "moves": _moves,
    "undo": lambda position: NO_UNDO,
    "draw": lambda position: NO_DRAW,
}
