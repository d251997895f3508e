"""`arena agents`: what can play, and one agent looked at for one ply."""

from __future__ import annotations

import json

import pytest


def test_kinds_options_and_templates_are_listed(arena):
    code, out, _ = arena("agents")
    assert code == 0
    for part in (
        "llm[:MODEL]",
        "select=walk|score",
        "[default: walk]",
        "python:CLASS",
        "random?name=Dice",
        "transcript",
    ):
        assert part in out


def test_the_list_as_json_has_every_option_with_its_type_and_default(arena):
    code, out, _ = arena("agents", "--json")
    assert code == 0
    listed = json.loads(out)
    kinds = {kind["name"]: kind for kind in listed["kinds"]}
    assert {"llm", "random", "python"} <= set(kinds)
    options = {option["name"]: option for option in kinds["llm"]["options"]}
    assert (options["select"]["type"], options["select"]["default"]) == ("walk|score", "walk")
    assert kinds["python"]["target"]["required"] is True
    assert "pgn" in [prompt["name"] for prompt in listed["prompts"]]


def test_a_model_is_tried_out_with_prompt_answer_and_likeliest_moves(arena):
    code, out, err = arena("agents", "try", "llm?prompt=pgn", "--moves", "e4 e5", "--top", "3", "--json")
    assert (code, err) == (0, "")
    tried = json.loads(out)
    assert tried["prompt"].endswith("1. e4 e5 2.")
    assert tried["settings"]["prompt"] == "pgn"
    (attempt,) = tried["attempts"]
    assert attempt["failure"] is None
    assert attempt["accounting"]["prompt_tokens"] > 40
    assert 0 < tried["probability"] <= 1
    assert len(tried["likeliest"]) == 3
    chances = [move["probability"] for move in tried["likeliest"]]
    assert chances == sorted(chances, reverse=True)


def test_an_answer_that_is_no_move_is_shown_with_its_verdict(arena):
    spec = "llm?legality=free&max_tokens=3&temperature=0&system=Talk about the weather."
    code, out, _ = arena("agents", "try", spec, "--top", "0")
    assert code == 0
    assert "Prompt, system:\n  | Talk about the weather." in out
    assert "truncated: cut off at the token limit" in out
    assert "No move: forfeit-truncated" in out
    assert "Likeliest" not in out


def test_an_agent_without_a_model_is_tried_out_at_janggi(arena):
    code, out, _ = arena("agents", "try", "random?name=Dice", "--game", "janggi", "--moves", "a4b4")
    assert code == 0
    assert "no model was asked" in out
    assert "Played " in out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["randm"], ["randm", "did you mean random"]),
        (["llm?prompt=explain-json"], ["explain-json", "legality=retry:3"]),
        (["llm?prompt=transcipt"], ["transcipt", "did you mean transcript"]),
        (["random", "--game", "chss"], ["--game", "chss"]),
        (["random", "--moves", "e2e5"], ["--moves", "move 1", "e2e5"]),
        (["random", "--fen", "7k/5KQ1/8/8/8/8/8/8 b - - 0 1"], ["the game is over"]),
        (["llm:no such model"], ["no such model", "smollm2-135m"]),
    ],
)
def test_what_cannot_be_tried_is_one_sentence(arena, args, words):
    code, out, err = arena("agents", "try", *args)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert all(word in err for word in words)
