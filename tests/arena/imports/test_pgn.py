"""Games of PGN files."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from arena.errors import UsageError
from arena.imports.pgn import pgn_games
from arena.imports.record import MoveTimes

MATE = "1. f3 e5 2. g4 Qh4#"


def pgn(moves=f"{MATE} 0-1", **tags):
    tags = {"White": "Ann", "Black": "Bob", "Result": moves.split()[-1], **tags}
    return "\n".join([*(f'[{tag} "{value}"]' for tag, value in tags.items()), "", moves, "", ""])


def read(text):
    return pgn_games(text if isinstance(text, bytes) else text.encode(), "x.pgn")


def test_games_of_a_file_come_in_order_with_their_players():
    first, second = read(pgn() + pgn("1. e4 1/2-1/2", White="Bob", Black="Ann"))
    assert (first.white, first.black, first.position.moves) == ("Ann", "Bob", ("f2f3", "e7e5", "g2g4", "d8h4"))
    assert (second.white, second.black, second.position.moves) == ("Bob", "Ann", ("e2e4",))


def test_times_are_read_and_variations_and_comments_left_out():
    (game,) = read(pgn("1. e4 {[%clk 0:01:30] [%emt 0:00:02.5] good} (1. d4 d5 (1... Nf6) 2. c4) 1... e5 $1 2. Nf3 *"))
    assert game.position.moves == ("e2e4", "e7e5", "g1f3")
    assert game.times == (MoveTimes(2500.0, 90000.0), MoveTimes(), MoveTimes())


@pytest.mark.parametrize(
    ("tags", "date"),
    [
        ({"Date": "2024.05.01"}, datetime(2024, 5, 1, tzinfo=UTC)),
        (
            {"Date": "2024.05.01", "UTCDate": "2024.04.30", "UTCTime": "23:10:05"},
            datetime(2024, 4, 30, 23, 10, 5, tzinfo=UTC),
        ),
        ({"Date": "2024.??.??"}, None),
        ({}, None),
    ],
)
def test_date_is_what_the_tags_say(tags, date):
    assert read(pgn(**tags))[0].date == date


@pytest.mark.parametrize(
    ("moves", "tags", "ending"),
    [
        (f"{MATE} 0-1", {}, ("0-1", "checkmate")),
        (f"{MATE} 0-1", {"Termination": "time forfeit"}, ("0-1", "checkmate")),
        (f"{MATE} *", {}, ("0-1", "checkmate")),
        ("1. e4 1-0", {}, ("1-0", "win")),
        ("1. e4 1-0", {"Termination": "Time forfeit"}, ("1-0", "time")),
        ("1. e4 1-0", {"ArenaTermination": "forfeit-illegal"}, ("1-0", "forfeit-illegal")),
        ("1. e4 1/2-1/2", {"Termination": "normal"}, ("1/2-1/2", "draw")),
        ("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 1/2-1/2", {}, ("1/2-1/2", "threefold-repetition")),
        ("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. e4 1-0", {}, ("1-0", "win")),
        ("1. e4 *", {}, ("*", "unfinished")),
    ],
)
def test_ending_is_named_by_the_rules_or_else_by_the_file(moves, tags, ending):
    (game,) = read(pgn(moves, **tags))
    assert (game.ending.result, game.ending.termination) == ending
    assert game.ending.void == (ending[0] == "*")


def test_other_start_positions_and_player_types_are_kept():
    fen = "4k3/8/8/8/8/8/4q3/K7 b - - 3 40"
    (game,) = read(pgn("40... Kf7 1/2-1/2", SetUp="1", FEN=fen, WhiteType="human"))
    assert (game.position.start_fen, game.position.moves) == (fen, ("e8f7",))
    assert game.kinds == ("human", None)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "iso-8859-1"])
def test_names_are_read_in_both_encodings(encoding):
    assert read(pgn(White="Müller").encode(encoding))[0].white == "Müller"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (pgn() + pgn("1. e4 e5 2. Ke3 1-0"), r"x\.pgn, game 2, line 11: illegal san: 'Ke3'"),
        (pgn(f"{MATE} 1-0"), r"game 1, .* said to be 1-0, but the game ends 0-1 by checkmate"),
        (pgn("1. e4 1-0", Result="0-1"), r"line 5: the game ends with 1-0, but its tag Result is '0-1'"),
        (pgn("1. e4 e5", Result="1-0"), "the game does not end with its result"),
        (pgn("1. e4 1-0 e5", Result="1-0"), "'e5' comes after the end of the game, 1-0"),
        (pgn("1. -- e5 1-0"), "'0000' is not legal"),
        (pgn(Variant="Atomic"), "its rules are 'Atomic'; only standard chess"),
        (pgn(Variant="no such thing"), r"line 6: its rules are 'no such thing'"),
        (pgn(FEN="4k3/8/8/8/8/8/8/8 w - - 0 1"), "impossible position"),
        ("hello world\n", "game 1, line 1: the game does not end with its result"),
        ("", r"x\.pgn: there is no game in it"),
        (b"PK\x03\x04", "it is not text: byte 2 is 0x03"),
    ],
)
def test_damage_is_named_with_its_place(text, message):
    with pytest.raises(UsageError, match=message):
        read(text)
