import json

import chess
import pytest

from agents.prompt_files import PromptLibrary
from arena.events import AttemptRecord, DecisionRecord
from arena.resources import data_path
from arena.store.records import NewAgent
from arena.store.runs import add_replay, load_run

AFTER_E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"


def test_finished_game_is_shown_with_board_moves_and_costs(scribe, arena):
    scribe = scribe(name="calm")
    scribe.play_out(1)
    code, out, err = arena("show", 1)
    assert (code, err) == (0, "")
    assert out.startswith("Game 1 of run calm: alice (White) - bob (Black)\n")
    assert "0-1 by checkmate after 4 plies." in out
    assert "1. f3 e5 2. g4 Qh4# 0-1" in out
    assert scribe.boards[1].fen() in out
    assert "alice by policy constrained; bob by policy constrained" in out
    rows = [line.split() for line in out.splitlines()]
    headings = [
        "ply",
        "move",
        "prob",
        "queue",
        "prefill",
        "decode",
        "ttft",
        "total",
        "prompt",
        "cached",
        "new",
        "tries",
    ]
    assert headings in rows
    assert ["4", "Qh4#", "0.31", "10", "110", "700", "120", "900", "40", "30", "4", "1"] in rows


def test_board_is_drawn_from_the_recorded_moves(scribe, arena):
    scribe = scribe()
    scribe.play_out(1)
    squares = [line.split() for line in arena("show", 1)[1].splitlines()]
    ranks = [line for line in squares if len(line) == 9 and line[0].isdigit()]
    assert ["4", ".", ".", ".", ".", ".", ".", "P", "q"] in ranks


@pytest.mark.parametrize("ply", [0, 1])
def test_a_ply_is_shown_with_its_position(scribe, arena, ply):
    scribe = scribe()
    scribe.start(1, ["e2e4", "e7e5"])
    out = arena("show", 1, "--ply", ply)[1]
    assert f"After ply {ply}: {[chess.STARTING_FEN, AFTER_E4][ply]}" in out
    assert ("\nPly 1: e4 (e2e4) by alice, policy constrained, probability 0.31" in out) == (ply == 1)
    assert ("queue 10, prefill 110, decode 700, first token after 120" in out) == (ply == 1)
    assert ("40 prompted (30 cached), 14 forwarded in 5 passes, 4 generated; batch of 3" in out) == (ply == 1)
    assert ("1. played | e2e4" in out) == (ply == 1)


def test_a_ply_is_shown_with_what_it_could_have_been_and_what_was_new_in_its_prompt(scribe, arena):
    template = PromptLibrary(data_path("prompts")).load("transcript", "chess").hash
    agents = (NewAgent("alice", "llm", {"prompt": "transcript"}), NewAgent("bob", "llm", {"prompt": "transcript"}))
    scribe = scribe(agents=agents)
    scribe.start(1, white_template=template, black_template="0123456789abcdef")
    chose = (
        DecisionRecord(options=((" e2…", 0.6), (" d2…", 0.3961)), taken=1),
        DecisionRecord(options=((" d2d4", 0.75), (" d2d3", 0.25)), taken=0),
    )
    scribe.write(scribe.played(1, "d2d4", decisions=chose), scribe.played(1, "d7d5"))
    out = arena("show", 1, "--ply", 1)[1]
    assert "  1. e2… 60.0%  >d2… 39.6%\n  2. >d2d4 75.0%  d2d3 25.0%\n" in out
    assert "New in the prompt:\n  system:\n    You are a strong and careful chess player." in out
    assert "Its prompt cannot be shown: template transcript has changed since" in arena("show", 1, "--ply", 2)[1]
    shown = json.loads(arena("show", 1, "--ply", 1, "--json")[1])
    assert shown["position"]["prompt"][-1] == {"role": "assistant", "text": "Moves:"}
    assert shown["moves"][0]["decisions"][1] == {
        "options": [{"text": " d2d4", "probability": 0.75}, {"text": " d2d3", "probability": 0.25}],
        "taken": 0,
    }


def test_failed_attempts_are_shown_with_what_was_said(scribe, arena):
    scribe = scribe()
    scribe.start(1)
    tries = (AttemptRecord(text="I take", failure="unparsable", detail="not a move"), AttemptRecord(text="e4"))
    scribe.write(scribe.played(1, "e2e4", attempts=tries, policy="retry:2"))
    for out in (arena("show", 1)[1], arena("show", 1, "--ply", 1)[1]):
        assert "1. unparsable: not a move | I take" in out
        assert "2. played | e4" in out


def test_recorded_text_cannot_move_the_terminal_or_pose_as_markup(scribe, arena):
    scribe = scribe()
    scribe.start(1, ["e2e4"])
    scribe.write(
        scribe.failed(1, text="\x1b]0;title\x07\x9b2J[red]x[/red]\r\n\u202eabc 한", failure="illegal"),
        scribe.ended(1, "1-0", "forfeit-illegal", detail="\x1b[31mred"),
    )
    out = arena("show", 1)[1]
    assert "Ply 2 got no move:" in out
    assert r"1. illegal | \x1b]0;title\x07\x9b2J[red]x[/red]\r\n\u202eabc 한" in out
    assert r"1-0 by forfeit-illegal (\x1b[31mred) after 1 ply." in out
    assert all(mark.isprintable() or mark == "\n" for mark in out)


def test_state_of_a_game_is_said(scribe, arena):
    scribe = scribe(games=4)
    scribe.play_out(1)
    scribe.play_out(3)
    scribe.start(2, ["e2e4"])
    assert "Unfinished: 1 ply so far." in arena("show", 2)[1]
    assert "1. e4 *" in arena("show", 2)[1]
    assert "The same line as game 1." in arena("show", 3)[1]
    assert "Not started." in arena("show", 4)[1]
    scribe.write(scribe.ended(2, "*", "infrastructure", void=True, detail="engine died"))
    assert "Void after 1 ply: infrastructure (engine died). It does not count." in arena("show", 2)[1]
    replay = add_replay(scribe.db, 2)
    scribe.run = load_run(scribe.db, 1)
    scribe.start(replay.game_id)
    assert "replay 1" in arena("show", replay.game_id)[1]


def test_moves_are_numbered_from_the_position(scribe, arena):
    scribe = scribe()
    scribe.start(1, ["e8f7", "a1b1", "e2d1"], fen="4k3/8/8/8/8/8/4q3/K7 b - - 3 40")
    assert "40... Kf7 41. Kb1 Qd1+ *" in arena("show", 1)[1]


def test_json_has_everything(scribe, arena):
    scribe = scribe()
    scribe.start(1, ["e2e4"])
    scribe.write(scribe.failed(1, text="\x1b[0m", failure="illegal"))
    code, out, _ = arena("show", 1, "--ply", 0, "--json")
    game = json.loads(out)
    assert code == 0
    assert (game["status"], game["result"], game["white_spec"], game["seed"]) == ("playing", None, "llm", 100)
    assert game["position"]["ply"] == 0
    assert game["position"]["fen"] == chess.STARTING_FEN
    assert "r n b q k b n r" in game["position"]["text"]
    assert (game["moves"][0]["san"], game["moves"][0]["attempts"][0]["text"]) == ("e4", "e2e4")
    assert game["open_attempts"][0]["text"] == "\x1b[0m"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("99",), "there is no game 99; the record holds games 1 to 2"),
        (("1", "--ply", "3"), "game 1 has plies 0 to 1, not 3"),
    ],
)
def test_what_does_not_exist_is_a_usage_error(scribe, arena, args, message):
    scribe(games=2).start(1, ["e2e4"])
    assert arena("show", *args) == (2, "", f"arena: {message}\n")


@pytest.mark.parametrize("bad", ["x", "0", "-1", "9" * 30])
def test_what_is_no_game_number_is_a_usage_error(arena, bad):
    code, out, err = arena("show", "--", bad)
    assert (code, out) == (2, "")
    assert bad in err


def test_record_that_cannot_be_replayed_is_an_error(scribe, arena):
    scribe = scribe()
    scribe.start(1)
    scribe.write(scribe.played(1, "e2e4").model_copy(update={"move": "e2e5"}))
    code, _, err = arena("show", 1)
    assert code == 1
    assert "game 1 cannot be replayed from the record" in err
