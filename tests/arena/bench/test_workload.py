"""The load: the same prompts, token for token, for every engine."""

import itertools

import chess
import pytest

from arena.bench.workload import PROMPT_SHAPES, Load

GOLDEN = {
    "history": "1ece801dd2ce",
    "fen": "1e4b6f70b8cd",
    "transcript": "4838b6148f53",
}
"""Digests of two games of four plies. They change with the prompt template and with the shapes of prompts: figures
from before and after are then not of one load."""


@pytest.mark.parametrize("shape", PROMPT_SHAPES)
def test_prompts_are_the_very_tokens_that_were_measured_before(make_load, shape):
    assert make_load(prompt=shape).digest().startswith(GOLDEN[shape])


def test_a_workload_is_a_function_of_its_arguments(make_load):
    assert make_load(seed=5).games == make_load(seed=5).games
    assert make_load(seed=6).games[0][-1].prompt != make_load(seed=5).games[0][-1].prompt
    assert make_load(in_flight=1, seed=5).games == make_load(in_flight=2, seed=5).games[:1]


def test_games_are_legal_and_differ(make_load, real_model):
    workload = make_load(in_flight=3, plies=12)
    assert workload.load.requests == sum(map(len, workload.games)) == 36
    assert len({turns[-1].prompt for turns in workload.games}) == 3
    for turns in workload.games:
        board = chess.Board()
        for turn in turns:
            told = real_model.tokenizer.decode(turn.prompt).rpartition("Game so far:")[2].split("\n")[0].split()
            if turn.ply:
                assert told[:-1] == [move.uci() for move in board.move_stack]
                board.push_uci(told[-1])
            assert list(turn.choices) == sorted(move.uci() for move in board.legal_moves)
        assert len(board.move_stack) == 11


def test_history_grows_up_to_its_question_and_fen_shows_the_board(make_load, real_model):
    for before, after in itertools.pairwise(make_load(plies=6).games[0][1:]):
        pairs = zip(before.prompt, after.prompt, strict=False)
        shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        grown = real_model.tokenizer.decode(before.prompt[:shared]).rpartition("Game so far:")[2].split()
        assert len(grown) == before.ply
    texts = [real_model.tokenizer.decode(turn.prompt) for turn in make_load(prompt="fen", plies=6).games[0]]
    for text, turn in zip(texts, make_load(prompt="fen", plies=6).games[0], strict=True):
        assert f"Legal moves: {' '.join(turn.choices)}\n" in text


def test_a_transcript_is_continued_by_the_move_and_one_token(make_load, real_model):
    turns = make_load(prompt="transcript", plies=12).games[0]
    for before, after in itertools.pairwise(turns):
        assert after.prompt[: len(before.prompt)] == before.prompt
        move = real_model.tokenizer.decode(after.prompt[len(before.prompt) :])
        assert move.endswith("\n")
        (ids,) = real_model.tokenizer.encode_choices(before.prompt, [move.strip()])
        assert after.prompt == (*before.prompt, *ids, *real_model.tokenizer.encode("\n"))


@pytest.mark.parametrize("shape", PROMPT_SHAPES)
def test_the_preamble_begins_all_prompts_and_tells_nothing_of_a_game(make_load, shape):
    workload = make_load(prompt=shape)
    assert len(workload.preamble) > 800
    prompts = [turn.prompt for turns in workload.games for turn in turns]
    assert all(prompt[: len(workload.preamble)] == workload.preamble for prompt in prompts)
    assert workload.preamble == make_load(prompt=shape, seed=9, plies=1).preamble


def test_chosen_moves_are_played_and_fixed_ones_go_on_whatever_is_answered(make_load, real_model):
    turns = make_load(prompt="transcript", moves="chosen").turns(0)
    first = next(turns)
    second = turns.send("a2a3")
    assert real_model.tokenizer.decode(second.prompt[len(first.prompt) :]) == "a2a3\n"
    assert "a2a4" not in second.choices
    fixed = make_load()
    turns = fixed.turns(0)
    assert [next(turns), turns.send("no move"), turns.send("")] == list(fixed.games[0][:3])


def test_a_game_of_chosen_moves_that_ends_starts_anew(make_load):
    turns = make_load(prompt="transcript", moves="chosen", plies=6).turns(0)
    first = next(turns)
    for move in ("f2f3", "e7e5", "g2g4"):
        turns.send(move)
    again = turns.send("d8h4")
    assert (again.ply, again.prompt) == (4, first.prompt)
    turns.send("e2e4")
    with pytest.raises(StopIteration):
        turns.send("e7e5")


def test_what_cannot_be_played_is_refused(make_load):
    with pytest.raises(ValueError, match="only if the answer is 'choose', not 'free'"):
        Load(moves="chosen", answer="free")
    with pytest.raises(ValueError, match="no random game of 2000 plies"):
        make_load(plies=2000, in_flight=1)
