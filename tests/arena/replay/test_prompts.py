"""What was new in each prompt, rendered again from what is recorded."""

from __future__ import annotations

import pytest

from agents.prompt_files import PromptLibrary
from agents.registry import recorded_template
from arena.replay.prompts import recorded_replay
from arena.replay.viewmodel import PromptPart
from arena.resources import data_path


@pytest.fixture
def prompted(game):
    """Makes a game whose sides were prompted with these templates; `own` are further settings of both."""

    def prompted(moves, first="transcript", second=None, rules="chess", own=None, **fields):
        settings = [{"prompt": name, **(own or {})} for name in (first, second or first)]
        library = PromptLibrary(data_path("prompts"))
        hashes = [recorded_template(one, rules, library).hash for one in settings]
        names = ("white_settings", "black_settings", "white_template", "black_template")
        return game(moves, rules, **{**dict(zip(names, (*settings, *hashes), strict=True)), **fields})

    return prompted


def new_parts(detail):
    return [ply.chosen.prompt for ply in recorded_replay(detail).plies[1:]]


def test_a_transcript_grows_by_the_move_that_was_played(prompted):
    first, *later = new_parts(prompted(("e4", "e5", "Nf3", "Nc6")))
    assert [part.role for part in first] == ["system", "user", "assistant"]
    assert later == [(PromptPart("assistant", text),) for text in (" e4", " e5,", " Nf3")]


def test_a_chat_shows_what_differs_of_its_last_message(prompted):
    _, second = new_parts(prompted(("e4", "e5"), "uci-history"))
    (part,) = second
    assert part.role == "user"
    assert part.text.startswith("e2e4\nBlack to move")


def test_each_template_is_compared_with_its_own_last_prompt(prompted):
    first, second, third, fourth = new_parts(prompted(("e4", "e5", "Nf3", "Nc6"), "transcript", "pgn"))
    assert (first[0].role, second[0].role) == ("system", "user")
    assert third == (PromptPart("assistant", " e4 e5,"),)
    assert [(part.role, part.text.strip()) for part in fourth] == [("user", "e5 2. Nf3")]


def test_settings_of_the_agent_are_part_of_its_prompt(prompted):
    first, _ = new_parts(prompted(("e4", "e5"), "uci-history", own={"system": "Play badly.", "examples": 1}))
    assert first[0] == PromptPart("system", "Play badly.")
    assert [part.role for part in first] == ["system", "user", "assistant", "user"]


def test_moves_that_nobody_was_asked_for_have_no_prompt(prompted):
    opening = {"policy": "opening", "attempts": ()}
    parts = new_parts(prompted(("e4", "e5", "Nf3"), of_move={1: opening, 2: opening}))
    assert parts[:2] == [(), ()]
    assert parts[2][-1].text == "Moves: e4 e5,"


def test_janggi_prompts_have_the_board_of_their_ply(prompted):
    replay = recorded_replay(prompted(("a4b4", "a7b7"), "fen-legal", rules="janggi"))
    assert replay.plies[1].fen in replay.plies[2].chosen.prompt[-1].text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"white_template": "0123456789abcdef"}, "not shown: template transcript has changed since"),
        ({"white_settings": {"prompt": "gone"}}, "not shown: template gone cannot be read: "),
        ({"white_settings": {"prompt": "pgn", "persona": "x"}}, "persona has no effect"),
    ],
)
def test_template_that_is_not_the_recorded_one_is_told_and_not_shown(prompted, change, words):
    replay = recorded_replay(prompted(("e4", "e5"), **change))
    ((name, why),) = [fact for fact in replay.facts if "prompt" in fact[0]]
    assert name == "prompts of White"
    assert words in why
    assert replay.plies[1].chosen.prompt == ()
    assert replay.plies[2].chosen.prompt != ()


def test_agents_without_a_template_have_no_prompt(game):
    replay = recorded_replay(game(("e4",)))
    assert replay.plies[1].chosen.prompt == ()
    assert not [fact for fact in replay.facts if "prompt" in fact[0]]
