import io
from dataclasses import replace

import chess
import chess.pgn
import pytest

from arena.errors import StoreError, UsageError
from arena.events import AttemptRecord
from arena.pgn import to_pgn
from arena.store.queries import game_detail

BLACK_TO_MOVE = "4k3/8/8/8/8/8/4q3/K7 b - - 3 40"
ROSTER = ["Event", "Site", "Date", "Round", "White", "Black", "Result"]


def read_back(detail):
    """The game as another program sees it: no error, nothing left over."""
    text = to_pgn(detail)
    stream = io.StringIO(text)
    game = chess.pgn.read_game(stream)
    assert game.errors == []
    assert chess.pgn.read_game(stream) is None
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert [move.uci() for move in game.mainline_moves()] == [move.move for move in detail.moves]
    assert game.board().fen() == (detail.initial_fen or chess.STARTING_FEN)
    if detail.moves:
        assert game.end().board().fen() == detail.moves[-1].fen
    assert text.rstrip().split()[-1] == game.headers["Result"] == (detail.result or "*")
    return game


def test_finished_game_has_its_tags(scribe):
    scribe = scribe(games=2)
    scribe.play_out(1)
    detail = game_detail(scribe.db, 1)
    text = to_pgn(detail)
    assert [line[1:].split()[0] for line in text.splitlines()[:7]] == ROSTER
    headers = read_back(detail).headers
    day = f"{detail.started_at:%Y.%m.%d}"
    expected = {
        "Event": f"Arena run {detail.run}",
        "Date": day,
        "UTCDate": day,
        "Round": "1",
        "White": "alice",
        "Black": "bob",
        "Result": "0-1",
        "PlyCount": "4",
        "Termination": "normal",
        "WhiteType": "program",
        "Model": "tiny",
        "ModelChecksum": "abc123",
        "ArenaRun": "1",
        "ArenaGame": "1",
        "ArenaSeed": "100",
        "ArenaTermination": "checkmate",
    }
    assert {tag: headers.get(tag) for tag in expected} == expected
    assert "FEN" not in headers


def test_moves_carry_times_and_cost(scribe):
    scribe = scribe()
    scribe.start(1)
    scribe.write(
        scribe.played(1, "e2e4", clock_ms=59_100.0, total_ms=3_725_250.0),
        scribe.played(1, "e7e5", prompt_tokens=0, probability=None, total_ms=12.0),
        scribe.played(1, "g1f3", attempts=(AttemptRecord(text="} {", failure="unparsable"), AttemptRecord(text="Nf3"))),
    )
    detail = game_detail(scribe.db, 1)
    first, second, third = read_back(detail).mainline()
    assert (first.emt(), first.clock()) == (3725.25, 59.1)
    assert "ttft 120 ms, 40+4 tokens, p 0.31" in first.comment
    assert second.comment == "[%emt 0:00:00.012]"
    assert (third.emt(), third.clock()) == (0.9, None)
    assert "after unparsable" in third.comment


@pytest.mark.parametrize(
    ("end", "tag"),
    [
        (("1-0", "forfeit-illegal"), "rules infraction"),
        (("0-1", "forfeit-empty"), "rules infraction"),
        (("0-1", "time"), "time forfeit"),
        (("1-0", "crash"), "abandoned"),
        (("1/2-1/2", "ply-limit"), "adjudication"),
        (("1/2-1/2", "threefold-repetition"), "normal"),
    ],
)
@pytest.mark.parametrize("moves", [(), ("e2e4",)])
def test_every_counted_ending_is_written(scribe, end, tag, moves):
    scribe = scribe()
    scribe.play_out(1, moves, *end)
    headers = read_back(game_detail(scribe.db, 1)).headers
    assert (headers["Result"], headers["ArenaTermination"], headers["Termination"]) == (*end, tag)
    assert "ArenaVoid" not in headers


@pytest.mark.parametrize(("termination", "tag"), [("infrastructure", "emergency"), ("crash", "abandoned")])
def test_void_game_has_no_result(scribe, termination, tag):
    scribe = scribe()
    scribe.play_out(1, ["e2e4"], "*", termination, void=True, detail='said "no" \\ and\ndied }')
    headers = read_back(game_detail(scribe.db, 1)).headers
    assert (headers["Result"], headers["Termination"], headers["ArenaVoid"]) == ("*", tag, "true")
    assert headers["ArenaDetail"] == r"said \"no\" \\ and\\ndied }"


def test_unfinished_and_unstarted_games_are_unterminated(scribe):
    scribe = scribe(games=2)
    scribe.start(1, ["e2e4"])
    for number in (1, 2):
        headers = read_back(game_detail(scribe.db, number)).headers
        assert (headers["Result"], headers["Termination"]) == ("*", "unterminated")
        assert "ArenaTermination" not in headers
    assert headers["Date"] == "????.??.??"


@pytest.mark.parametrize("moves", [(), ("e8f7",), ("e8f7", "a1b1", "e2d1")])
def test_game_from_a_position_with_black_to_move(scribe, moves):
    scribe = scribe()
    scribe.start(1, moves, fen=BLACK_TO_MOVE)
    detail = game_detail(scribe.db, 1)
    headers = read_back(detail).headers
    assert (headers["FEN"], headers["SetUp"]) == (BLACK_TO_MOVE, "1")
    if moves:
        assert "40... Kf7" in to_pgn(detail)


def test_castling_promotion_and_en_passant_come_back(scribe):
    scribe = scribe()
    line = ["e2e4", "a7a6", "e4e5", "d7d5", "e5d6", "g8f6", "d6c7", "g7g6", "c7b8q", "f8g7", "g1f3", "e8g8"]
    scribe.start(1, line)
    text = to_pgn(game_detail(scribe.db, 1))
    assert "exd6" in text
    assert "cxb8=Q" in text
    assert "O-O" in text
    read_back(game_detail(scribe.db, 1))


def test_replay_is_a_subround_and_a_duplicate_names_its_original(scribe):
    scribe = scribe(games=3)
    scribe.play_out(1)
    scribe.play_out(3)
    detail = game_detail(scribe.db, 3)
    assert read_back(detail).headers["ArenaDuplicateOf"] == "1"
    assert read_back(replace(detail, replay=2)).headers["Round"] == "3.2"


def test_names_that_need_care_stay_in_their_tags(scribe):
    scribe = scribe()
    scribe.start(1, ["e2e4"])
    detail = replace(
        game_detail(scribe.db, 1), white='the "quick" one', black="back\\slash\x1b[31m", white_spec="human"
    )
    headers = read_back(detail).headers
    assert (headers["White"], headers["Black"]) == (r"the \"quick\" one", r"back\\slash\\x1b[31m")
    assert (headers["WhiteType"], headers["BlackType"]) == ("human", "program")


def test_other_games_than_chess_are_refused(scribe):
    scribe = scribe()
    scribe.start(1)
    with pytest.raises(UsageError, match="game 1 is janggi: PGN can be written for chess only"):
        to_pgn(replace(game_detail(scribe.db, 1), game="janggi"))


def test_record_that_cannot_be_replayed_is_an_error(scribe):
    scribe = scribe()
    scribe.start(1, ["e2e4"])
    detail = game_detail(scribe.db, 1)
    damaged = replace(detail, moves=(replace(detail.moves[0], move="e2e5"),))
    with pytest.raises(StoreError, match=r"game 1 cannot be replayed .*e2e5"):
        to_pgn(damaged)
