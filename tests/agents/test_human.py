"""A person at the table: what can be typed, and what is said."""

import pytest

from agents.base import Clock, MoveRequest, PlayerLeft
from agents.human import HELP, NO_DRAW, NO_UNDO, HumanAgent
from games import get_game
from games.pictures import board_text


class Table:
    """Somebody who has made up their mind about every line; the end of the list is the end of the input."""

    def __init__(self, *lines):
        self.lines = list(lines)
        self.said = []

    def say(self, text):
        self.said.append(text)

    async def ask(self, question):
        self.said.append(question)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)


async def ask(*lines, moves="", game="chess", clock=None):
    position = get_game(game).position(None, moves.split())
    table = Table(*lines)
    reply = await HumanAgent("Ada", table).choose_move(
        MoveRequest(position, 1, len(position.moves) + 1, 5, clock=clock)
    )
    return reply, table.said


@pytest.mark.parametrize(("typed", "move"), [("Nf3", "g1f3"), ("g1f3", "g1f3"), ("e4", "e2e4")])
async def test_a_move_is_typed_in_either_notation(typed, move):
    reply, _ = await ask(typed)
    assert (reply.move, reply.policy, reply.resigns) == (move, "person", False)


async def test_janggi_is_played_by_hand():
    reply, said = await ask("moves", "a4b4", game="janggi")
    assert reply.move == "a4b4"
    assert "Ada (Cho), move 1: " in said


async def test_the_board_the_last_move_and_the_clocks_come_before_the_question():
    _, said = await ask("Nc3", moves="e2e4 e7e5", clock=Clock(61_500, 9_000, 0))
    shown, question = said
    assert board_text(get_game("chess").position(None, ["e2e4", "e7e5"])) in shown
    assert "Black played e5. Time left: White 1:01.5, Black 0:09.0." in shown
    assert question == "Ada (White), move 2: "


@pytest.mark.parametrize(
    ("game", "moves", "answer", "nearest"),
    [
        ("chess", "e2e4", "e7e5", "8 ♜ ♞ ♝ ♚ ♛ ♝ ♞ ♜"),
        ("janggi", "a4b4", "i7h7", "10  (車)(馬)(象)(士)-+--(士)(象)(馬)(車)"),
    ],
)
async def test_who_plays_second_has_their_own_side_at_the_bottom(game, moves, answer, nearest):
    _, said = await ask("board", answer, moves=moves, game=game)
    again = said[2].splitlines()
    assert again[-2] == nearest
    assert said[0].strip("\n").splitlines()[: len(again)] == again


async def test_it_asks_until_the_answer_is_a_legal_move():
    reply, said = await ask("Ke5", "e9", "", "e4")
    assert reply.move == "e2e4"
    assert "Ke5 is not legal here; `moves` lists the legal moves." in said
    assert "'e9' is not a move in UCI or SAN; `help` tells what can be typed." in said
    assert said.count("Ada (White), move 1: ") == 4


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("help", HELP.format(san="h4", move="h2h4")),
        ("?", HELP.format(san="h4", move="h2h4")),
        ("UNDO", NO_UNDO),
        ("draw", NO_DRAW),
        ("board", board_text(get_game("chess").position())),
    ],
)
async def test_a_word_is_answered_and_the_question_put_again(word, answer):
    reply, said = await ask(word, "d4")
    assert reply.move == "d2d4"
    assert said[2] == answer


async def test_the_legal_moves_are_told_on_request():
    _, said = await ask("moves", "a3")
    assert set(said[2].split()) == {f"{file}{rank}" for file in "abcdefgh" for rank in "34"} | {
        "Na3",
        "Nc3",
        "Nf3",
        "Nh3",
    }


async def test_resigning_ends_the_game():
    reply, _ = await ask("resign")
    assert (reply.move, reply.resigns) == (None, True)
    reply.check()


@pytest.mark.parametrize("lines", [(), ("quit",), ("moves",)])
async def test_leaving_is_no_move_and_no_failure(lines):
    with pytest.raises(PlayerLeft, match="Ada has left"):
        await ask(*lines)
