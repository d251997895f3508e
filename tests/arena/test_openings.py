import chess
import pytest

from arena.errors import UsageError
from arena.openings import (
    OpeningsError,
    check_enough,
    find_opening,
    opening_order,
    openings_hash,
    own_openings,
    read_openings,
    start_position,
)
from games import get_game

CHESS = get_game("chess")
AFTER_E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -"
AFTER_D4 = "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq -"
MATED = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3"


@pytest.fixture
def book(tmp_path):
    def write(name, text, encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


def test_the_list_for_chess_is_long_short_lined_and_distinct():
    openings = own_openings(CHESS)
    assert len(openings) >= 120
    assert {len(opening.moves) for opening in openings} <= set(range(4, 9))
    assert len({chess.Board(opening.fen).epd() for opening in openings}) == len(openings)
    assert len({opening.name for opening in openings}) == len(openings)
    for opening in openings:
        board = chess.Board()
        for move in opening.moves:
            board.push_uci(move)
        assert board.epd() == chess.Board(opening.fen).epd()
        assert not board.is_game_over()


@pytest.mark.parametrize("name", ["janggi", "janggimodern"])
def test_the_list_for_janggi_is_the_sixteen_setups(name):
    openings = own_openings(get_game(name))
    assert len({opening.fen for opening in openings}) == 16
    assert all(opening.fen == opening.start_fen and not opening.moves for opening in openings)


def test_pgn_lines_are_cut_to_plies_exactly(book):
    path = book(
        "book.pgn", '[Event "Line A"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 *\n\n[Opening "B"]\n\n1. d4 d5 *\n'
    )
    whole, cut = read_openings(path, CHESS), read_openings(path, CHESS, plies=4)
    assert [(opening.name, len(opening.moves)) for opening in whole] == [("Line A", 7), ("B", 2)]
    assert cut[0].moves == ("e2e4", "e7e5", "g1f3", "b8c6")
    assert cut[0].fen == "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"
    assert cut[1].moves == ("d2d4", "d7d5")


def test_pgn_lines_may_start_from_a_position(book):
    path = book("book.pgn", f'[SetUp "1"]\n[FEN "{AFTER_E4} 0 1"]\n\n1... c5 *\n')
    (opening,) = read_openings(path, CHESS)
    assert (opening.start_fen, opening.moves) == (f"{AFTER_E4} 0 1", ("c7c5",))


def test_epd_and_fen_lines_are_read(book):
    lines = f'\ufeff# a comment\n{AFTER_E4} id "King\'s pawn"; hmvc 4; fmvn 7;\n\n{AFTER_D4} 0 1\n'
    king, queen = read_openings(book("book.epd", lines), CHESS)
    assert (king.name, king.fen) == ("King's pawn", f"{AFTER_E4} 4 7")
    assert (queen.name, queen.fen) == ("book 4", f"{AFTER_D4} 0 1")


def test_positions_of_janggi_are_read(book):
    fen = "rbna1abnr/4k4/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/4K4/RBNA1ABNR w - - 0 1"
    (opening,) = read_openings(book("setups.fen", fen), get_game("janggi"))
    assert opening.fen == fen


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("book.pgn", "1. e4 e5 2. Ke3 *", r"book\.pgn, game 1: illegal san: 'Ke3'"),
        (
            "book.pgn",
            '1. e4 *\n\n[Event "x"]\n\n1. f3 e5 2. g4 Qh4# *',
            r"game 2: the game is over there, by checkmate",
        ),
        ("book.epd", MATED, r"line 1: the game is over there, by checkmate"),
        ("book.epd", f"{AFTER_E4}\n{AFTER_D4}\n{AFTER_E4} 0 9", r"line 3: the same position as line 1"),
        ("book.epd", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP w KQkq -", r"line 1: .*expected 8 rows"),
        ("book.epd", "e4 e5", r"line 1: 'e4 e5' is no EPD or FEN"),
        ("book.epd", "# nothing\n", r"there is no opening in it"),
        ("book.txt", "", r"read from files called \.pgn, \.epd or \.fen"),
    ],
)
def test_faulty_books_are_refused_with_their_line(book, name, text, message):
    with pytest.raises(OpeningsError, match=message):
        read_openings(book(name, text), CHESS)


def test_files_that_cannot_be_read_are_named(book, tmp_path):
    with pytest.raises(OpeningsError, match=r"none\.pgn: No such file"):
        read_openings(tmp_path / "none.pgn", CHESS)
    with pytest.raises(OpeningsError, match="not UTF-8 text"):
        read_openings(book("book.pgn", '[Event "Größe"]\n\n1. e4 *', "latin-1"), CHESS)


def test_pgn_is_refused_for_janggi_and_plies_for_positions(book):
    with pytest.raises(OpeningsError, match="PGN is for chess; openings of janggi are given as EPD or FEN"):
        read_openings(book("book.pgn", "1. e4 *"), get_game("janggi"))
    with pytest.raises(OpeningsError, match="plies are for PGN"):
        read_openings(book("book.epd", AFTER_E4), CHESS, plies=4)


def test_a_list_that_is_too_short_is_refused():
    with pytest.raises(OpeningsError, match="1 openings are too few: 4 games takes 2"):
        check_enough(start_position(CHESS), 2, "4 games")


def test_orders_use_every_opening_once():
    assert opening_order(4, "sequential", seed=1, start=2) == (2, 3, 0, 1)
    shuffled = opening_order(50, "random", seed=1)
    assert sorted(shuffled) == list(range(50))
    assert shuffled == opening_order(50, "random", seed=1) != opening_order(50, "random", seed=2)


def test_the_hash_is_that_of_the_positions_not_of_the_names(book):
    named = read_openings(book("one.epd", f'{AFTER_E4} id "x";'), CHESS)
    plain = read_openings(book("two.epd", AFTER_E4), CHESS)
    other = read_openings(book("three.epd", AFTER_D4), CHESS)
    assert openings_hash(named) == openings_hash(plain) != openings_hash(other)


def test_an_opening_is_found_by_its_name_in_any_letter_case():
    found = find_opening(CHESS, "petrov, ITALIAN")
    assert (found.name, found.moves) == ("Petrov, Italian", ("e2e4", "e7e5", "g1f3", "g8f6", "d2d3", "b8c6"))
    setups = find_opening(get_game("janggimodern"), "masangmasang-sangmamasang")
    assert (setups.start_fen, setups.moves) == (get_game("janggi").openings[setups.name], ())


@pytest.mark.parametrize(
    ("game", "name", "words"),
    [
        ("chess", "Petrof, Italian", "unknown opening 'Petrof, Italian' of chess; did you mean Petrov, Italian; "),
        ("chess", "petrov", "did you mean Petrov, Italian; Petrov, Steinitz?"),
        ("chess", "Petrof", "did you mean Petrov, Italian; Petrov, Steinitz?"),
        ("chess", "Fried Liver", "there is Bishop's Opening, Vienna, Petrov, "),
        ("janggi", "sicilian", "there is masangmasang-masangmasang, "),
        ("janggi", "masangsangma-sangmamasan", "did you mean masangsangma-sangmamasang?"),
    ],
)
def test_an_unknown_opening_is_named_with_those_that_are_near(game, name, words):
    with pytest.raises(UsageError) as caught:
        find_opening(get_game(game), name)
    assert words in str(caught.value)
