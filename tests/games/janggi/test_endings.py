"""How games of janggi end, and what they end as."""

import pytest

from games import get_game
from games.base import Outcome
from games.janggi.differential import RULE_SETS
from games.janggi.endings import Ply, drawn_out_end
from games.janggi.rules import JANGGI

BARE = "4k4/9/9/9/9/9/9/9/9/3K5 w - - 0 1"
SOLDIERS = "4k4/9/9/p8/9/9/P8/9/9/3K5 w - - 0 1"
CHARIOT = "4k4/9/9/9/9/9/9/9/R8/5K3 w - - 0 1"


def after(rules, fen, moves=""):
    return get_game(rules).position(fen, moves.split())


def ends(fen, moves):
    """How the game stands under each rule set: (winner, termination), or None where it goes on."""
    found = []
    for rules in RULE_SETS:
        outcome = after(rules, fen, moves).outcome()
        found.append(outcome and (outcome.winner, outcome.termination))
    return found


def series(*moves, times):
    return " ".join(moves * times)


SHUFFLE = ("a4b4", "a7b7", "b4a4", "b7a7")
CHASE = ("e10d10", "e2d2", "d10e10", "d2e2")


@pytest.mark.parametrize(
    ("fen", "moves", "expected"),
    [
        (None, "", [None, None, None, None]),
        ("3k5/R8/9/8R/9/9/9/9/9/5K3 w - - 0 1", "i7i10", [("first", "checkmate")] * 4),
        (
            None,
            "e2e2 e9e9",
            [("second", "double-pass-points"), (None, "double-pass")] * 2,
        ),
        (BARE, "d1e1 e10e10", [("second", "bikjang-points"), (None, "bikjang"), None, None]),
        (BARE, "d1e1 e10d10", [None] * 4),
        # An accepted bikjang outranks what would be mate.
        ("3nkb3/9/9/9/4N4/9/9/9/9/4K4 w - - 0 1", "e6f8", [None] * 4),
        (
            SOLDIERS,
            series(*SHUFFLE, times=2),
            [("second", "repetition-points"), (None, "repetition"), None, (None, "repetition")],
        ),
        (SOLDIERS, series(*SHUFFLE, times=2).rsplit(" ", 1)[0], [None] * 4),
        (CHARIOT, "a2e2 " + series(*CHASE, times=2), [
            ("second", "perpetual-check"),
            ("second", "perpetual-check"),
            ("second", "repeated-move"),
            ("second", "perpetual-check"),
        ]),
        (SOLDIERS.replace("0 1", "99 90"), "a4b4", [
            ("second", "move-limit-points"), (None, "move-limit"), None, (None, "move-limit"),
        ]),
        (SOLDIERS.replace("0 1", "199 190"), "a4b4", [
            ("second", "move-limit-points"), (None, "move-limit"),
            ("second", "move-limit-points"), (None, "move-limit"),
        ]),
        # A capture sets the clock back, and mate outranks it.
        ("4k4/9/9/9/9/p8/P8/9/9/3K5 w - - 199 190", "a4a5", [None] * 4),
        ("3k5/R8/9/8R/9/9/9/9/9/5K3 w - - 199 190", "i7i10", [("first", "checkmate")] * 4),
    ],
)  # fmt: skip
def test_how_a_game_stands_under_each_rule_set(fen, moves, expected):
    assert ends(fen, moves) == expected


def test_points_are_what_is_on_the_board_with_a_bonus_for_han():
    assert after("janggi", None).points == {"first": 72, "second": 73.5}
    pieces = "4k4/4a4/2n1b4/9/P1R5C/9/9/9/9/3K5 w - - 0 1"
    assert after("janggimodern", pieces).points == {"first": 2 + 13 + 7, "second": 3 + 5 + 3 + 1.5}
    assert after("janggitraditional", None).points is None
    assert after("janggicasual", None).points is None


@pytest.mark.parametrize(
    ("extra", "winner"), [("P", "first"), ("r", "second"), ("A", "first"), ("p", "second"), ("", "second")]
)
def test_han_is_ahead_on_equal_pieces(extra, winner):
    row = f"4{extra}4" if extra else "9"
    palace, row = (row, "9") if extra == "A" else ("9", row)
    fen = f"4k4/9/9/9/{row}/9/9/{palace}/9/3K5 w - - 0 1"
    assert after("janggi", fen).winner_on_points() == winner
    assert after("janggitraditional", fen).winner_on_points() is None


class TestRepeatedMove:
    """`janggimodern`: who brings a piece to a point and twice away and back loses."""

    def outcome(self, moves, fen=SOLDIERS):
        return after("janggimodern", fen, moves).outcome()

    def test_the_mover_loses(self):
        assert self.outcome(series(*SHUFFLE, times=2) + " a4b4") == Outcome("second", "repeated-move")

    def test_what_the_opponent_does_does_not_matter(self):
        moves = "a4b4 a7b7 b4a4 b7c7 a4b4 c7d7 b4a4 d7e7 a4b4"
        assert self.outcome(moves) == Outcome("second", "repeated-move")

    def test_one_pass_before_the_last_move_does_not_break_the_series(self):
        moves = "a4b4 a7b7 b4a4 b7c7 a4b4 c7d7 b4a4 d7e7 d1d1 e7f7 a4b4"
        assert self.outcome(moves) == Outcome("second", "repeated-move")

    def test_a_pass_earlier_breaks_it(self):
        moves = "a4b4 a7b7 b4a4 b7c7 d1d1 c7d7 a4b4 d7e7 b4a4 e7f7 a4b4"
        assert self.outcome(moves) is None

    def test_an_arrival_by_capture_does_not_count(self):
        fen = SOLDIERS.replace("P8", "Pp7")
        moves = "a4b4 a7b7 b4a4 b7c7 a4b4 c7d7 b4a4 d7e7 a4b4"
        position = after("janggimodern", fen, moves)
        assert position.plies_since_capture == 8
        assert position.outcome() is None
        assert position.play("e7f7").play("b4a4").outcome() == Outcome("second", "repeated-move")

    def test_the_start_of_the_game_is_no_arrival(self):
        assert self.outcome("a4b4 a7b7 b4a4 b7c7 a4b4 c7d7 b4a4") is None
        at_a1 = "4k4/9/9/p8/9/9/9/9/9/R2K5 b - - 0 1"
        assert self.outcome("a7b7 a1b1 b7c7 b1a1 c7d7 a1b1 d7e7 b1a1", at_a1) is None

    def test_generals_may_walk_to_and_fro_until_the_fourth_occurrence(self):
        walk = ("d1d2", "e10f10", "d2d1", "f10e10")
        assert self.outcome(series(*walk, times=2) + " d1d2", BARE) is None
        assert self.outcome(series(*walk, times=3), BARE) == Outcome("second", "repetition-points")


@pytest.mark.parametrize(
    ("first_in_check", "second_in_check", "expected"),
    [
        (True, False, Outcome("first", "perpetual-check")),
        (False, True, Outcome("second", "perpetual-check")),
        (True, True, Outcome("second", "repetition-points")),  # nobody's fault, so by points
        (False, False, Outcome("second", "repetition-points")),
    ],
)
def test_who_is_in_check_at_every_turn_of_a_repetition_wins(first_in_check, second_in_check, expected):
    boards = [after("janggi", SOLDIERS, " ".join(SHUFFLE[:count])).board for count in range(4)]
    line = [Ply(boards[ply % 4], second_in_check if ply % 2 else first_in_check) for ply in range(9)]
    assert drawn_out_end(line, 8, "first", JANGGI) == expected
    one_quiet = [*line[:4], line[4]._replace(check=False), *line[5:]]
    if first_in_check and not second_in_check:
        assert drawn_out_end(one_quiet, 8, "first", JANGGI) == Outcome("second", "repetition-points")


def test_legal_moves_outlast_an_end_that_one_could_have_claimed():
    repeated = after("janggi", SOLDIERS, series(*SHUFFLE, times=2))
    assert len(repeated.legal_moves()) == 6
    assert after("janggi", None, "e2e2 e9e9").legal_moves() == ()
    assert after("janggi", BARE, "d1e1 e10e10").legal_moves() == ()
