"""The .gib record."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import get_game
from games.janggi.gib import GibEnd, read_gib, write_gib
from games.janggi.gib_text import GibError
from games.janggi.setups import OPENINGS

CASES = Path(__file__).parents[2] / "cases"
SAMPLE = (CASES / "sample.gib").read_bytes()
RULES = get_game("janggi")


def read(data, file="x.gib"):
    return list(read_gib(data if isinstance(data, bytes) else data.encode(), file, RULES))


def gib(moves="", cho="마상상마", han="마상상마", **tags):
    """A small record; `tags` come after the setups."""
    lines = [f'[{name} "{value}"]' for name, value in {"초차림": cho, "한차림": han, **tags}.items()]
    return "\n".join([*lines, "", moves])


@pytest.mark.parametrize("file", ["sample.gib", "sample-cp949.gib"])
def test_samples_in_both_encodings_replay_to_their_moves(file):
    wanted = [line.split("\t") for line in (CASES / "sample_gib_moves.tsv").read_text("utf-8").splitlines()]
    games = read((CASES / file).read_bytes(), file)
    assert [[game.position.start_fen, " ".join(game.position.moves)] for game in games] == wanted
    assert [game.end for game in games] == [GibEnd("first", "resignation")] * 2
    assert (games[0].cho, games[0].han, games[0].tags["대회명"]) == ("초 견본", "한 견본", "견본 대회")


def test_what_is_written_is_what_was_read():
    games = read(SAMPLE)
    texts = [
        write_gib(RULES.position(game.position.start_fen), game.position.moves, game.end, game.tags) for game in games
    ]
    assert "\n".join(texts) == SAMPLE.decode()


@pytest.mark.parametrize("name", OPENINGS)
def test_each_of_the_sixteen_setups_comes_back_without_a_move(name):
    start = RULES.position(OPENINGS[name])
    (game,) = read(write_gib(start, [], None, {}))
    assert (game.position.fen, game.end) == (start.fen, None)


def test_setups_are_in_board_order_with_cho_at_the_bottom():
    (game,) = read(gib(cho="마상마상", han="상마상마"))
    assert game.position.fen.startswith("rbna1abnr/")
    assert "/RNBA1ANBR w" in game.position.fen


def test_older_names_of_the_setup_tags_are_read():
    (game,) = read('[초포진 "상마마상"]\n[한포진 "마상상마"]\n')
    assert game.position.start_fen == OPENINGS["sangmamasang-masangsangma"]


def test_games_follow_each_other_with_and_without_moves():
    text = "\n".join([gib(), gib("1. 71졸72"), gib("1. 한수쉼 2.49병48")])
    assert [game.position.moves for game in read(text)] == [(), ("a4b4",), ("e2e2", "i7h7")]


def test_comments_are_left_out_wherever_they_stand():
    text = gib("1. 71졸72 {좋은 수\n2. 11차12 [not] a tag} 2. 49병48{!}")
    assert read("{before}\n" + text)[0].position.moves == ("a4b4", "i7h7")


@pytest.mark.parametrize("tail", [b"\x1a", b"\x1a\r\n", b"\xff", b"\r\n\x1a\x1a\x00"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp949"])
def test_what_old_programs_leave_at_the_end_is_no_fault(encoding, tail):
    (game,) = read(gib("1. 71졸72").replace("\n", "\r\n").encode(encoding) + tail)
    assert game.position.moves == ("a4b4",)


@pytest.mark.parametrize(
    ("said", "end"),
    [
        ("초 완승", GibEnd("first", "complete-win")),
        ("한 시간승", GibEnd("second", "time")),
        ("漢 기권승", GibEnd("second", "resignation")),
        ("楚점수승", GibEnd("first", "points")),
        ("한 승", GibEnd("second", "win")),
        ("무승부", GibEnd(None, "draw")),
        ("접속 끊김", None),
        ("초 접속끊김", None),
        ("미상", None),
        ("", None),
    ],
)
def test_results(said, end):
    assert read(gib(대국결과=said))[0].end == end


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (GibEnd("first", "checkmate"), "초 완승"),
        (GibEnd("second", "time"), "한 시간승"),
        (GibEnd("second", "double-pass-points"), "한 점수승"),
        (GibEnd("first", "forfeit-illegal"), "초 승"),
        (GibEnd(None, "repetition"), "무승부"),
    ],
)
def test_our_own_ends_have_korean_words(end, said):
    text = write_gib(RULES.position(), [], end, {})
    assert f'[대국결과 "{said}"]' in text
    assert read(text)[0].end.winner == end.winner


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            gib("1. 71졸72 2. 49병39"),
            r"x\.gib, game 1, line 4, move 2: '49병39' \(i7i8\) is not legal .* rules of janggi",
        ),
        (gib("1. 71졸72\n\n2. 졸"), r"line 6, move 2: '졸' is not a move"),
        (gib("1. 71졸72\n") + gib("1. 71졸73"), r"game 2, line 8, move 1: '71졸73'"),
        (gib("1. 71졸72 3. 49병48"), r"line 4, move 2: the number here is 3"),
        (gib("1. 71졸72 49병48"), r"line 4, move 2: '49병48' should be a tag, or a move after its number"),
        (gib("1. 71졸72 2."), r"line 4, move 2: there is a number, but no move"),
        (gib("1. 71졸72", 총수="2"), "총수 is '2', but there are 1 moves"),
        (gib(cho="마마상상"), "the setup 초차림 is '마마상상'; it should be one of 마상마상, 상마상마"),
        ('[초차림 "마상마상"]', "the setup 한차림 is missing"),
        (gib(대국결과="흑 불계승"), "대국결과 '흑 불계승' should be 초 or 한 with 완승"),
        ('[초차림 "마상마상"]\n[한차림 마상마상]', r"line 2: '\[한차림 마상마상\]' should be a tag"),
        ('[초차림 "마상마상"]\n[한차림 "마상마상"]\n[한차림 "마상마상"]', "line 3: the tag 한차림 comes twice"),
        (gib("1. 71졸72 {never"), "line 4: a comment begins here"),
        ("", r"x\.gib: there is no game in it"),
        (b"\xff\x1a", r"x\.gib: there is no game in it"),
        (b"[\xc3\x28 \x81", r"x\.gib: it is text neither in UTF-8 nor in CP949"),
        (b"\x1a[more", r"x\.gib: it goes on after the mark of its end \(0x1A at byte 0\)"),
    ],
)
def test_damage_is_named_with_its_place(text, message):
    with pytest.raises(GibError, match=message):
        read(text)


def test_only_games_from_a_setup_can_be_written():
    with pytest.raises(ValueError, match="begins with one of the sixteen setups, not with 4k4/"):
        write_gib(RULES.position("4k4/9/9/9/4R4/9/9/9/9/3K5 b - - 0 1"), [], None, {})
    with pytest.raises(ValueError, match=r"the tag 대회명 cannot hold 'a\"b'"):
        write_gib(RULES.position(), [], None, {"대회명": 'a"b'})


@settings(max_examples=60, deadline=None)
@given(st.integers(0, len(SAMPLE) - 1), st.integers(0, 12), st.binary(max_size=6))
def test_a_damaged_file_is_read_or_refused_with_its_name(at, length, junk):
    try:
        games = read(SAMPLE[:at] + junk + SAMPLE[at + length :], "damaged.gib")
    except GibError as error:
        assert str(error).startswith("damaged.gib")  # noqa: PT017
    else:
        assert games
