"""Prompt templates: what is told, in which order, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.base import Failure
from agents.prompts import PromptTemplate, PromptTemplateError, load_template, parse_template
from games import get_game

CHESS = get_game("chess")
ENDGAME = "8/8/4k3/8/8/3RK3/8/8 w - - 0 1"
LINE = ("e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6")


def test_history_comes_first_and_the_turn_last(template: PromptTemplate) -> None:
    system, user = template.messages(CHESS.position(None, LINE[:3]), CHESS)
    assert (system.role, user.role) == ("system", "user")
    assert user.content.startswith("Game so far: e2e4 e7e5 g1f3\nBlack to move.")


def test_before_the_first_move_the_prompt_says_so(template: PromptTemplate) -> None:
    _, user = template.messages(CHESS.position(), CHESS)
    assert user.content.startswith("Game so far: no moves yet.\nWhite to move.")


def test_another_start_position_is_told_before_the_history(template: PromptTemplate) -> None:
    _, user = template.messages(CHESS.position(ENDGAME, ["d3d1"]), CHESS)
    assert user.content.startswith(
        f"The game starts from this position (FEN): {ENDGAME}\nGame so far: d3d1\nBlack to move."
    )


@pytest.mark.parametrize("fen", [None, ENDGAME])
def test_what_was_told_of_a_game_is_a_prefix_at_every_later_ply(template: PromptTemplate, fen: str | None) -> None:
    line = LINE if fen is None else ("d3d1", "e6e5", "d1d2", "e5e6")
    for ply in range(len(line)):
        told = template.told(CHESS.position(fen, line[:ply]), CHESS)
        assert told.count(" ") >= ply
        for later in range(ply, len(line) + 1):
            system, user = template.messages(CHESS.position(fen, line[:later]), CHESS)
            assert system.content == template.system
            assert user.content.startswith(told)


def test_the_hash_belongs_to_the_content(template_path: Path, tmp_path: Path) -> None:
    text = template_path.read_text()
    copy = tmp_path / "other-name.toml"
    copy.write_text(text)
    assert load_template(copy).hash == load_template(template_path).hash
    copy.write_text(text.replace("careful chess player", "bold chess player"))
    assert load_template(copy).hash != load_template(template_path).hash
    assert len(load_template(copy).hash) == 16


def test_the_system_prompt_is_of_the_size_that_the_engine_is_measured_with(template: PromptTemplate) -> None:
    """Words, since a tokenizer would be a download: about 1,000 tokens at three quarters of a word each."""
    assert 650 <= len(template.system.split()) <= 850
    assert template.system == template.system.strip()


def test_the_system_prompt_takes_no_side(template: PromptTemplate) -> None:
    assert "{" not in template.system
    prompts = [template.messages(CHESS.position(None, LINE[:ply]), CHESS)[0] for ply in range(4)]
    assert len(set(prompts)) == 1


def test_every_failure_that_can_be_tried_again_has_its_own_sentence(template: PromptTemplate) -> None:
    assert set(template.retry) == {
        Failure.TRUNCATED,
        Failure.EMPTY,
        Failure.UNPARSABLE,
        Failure.ILLEGAL,
    }
    assert len(set(template.retry.values())) == 4


def test_board_fen_and_legal_moves_can_be_told_with_the_turn(template_path: Path) -> None:
    text = template_path.read_text()
    start = text.index('turn = "')
    line = text[start : text.index("\n", start)]
    template = parse_template(
        text.replace(line, r'turn = "\n{fen}\n{board}\n{legal_moves}\n{side}: {{one}} move"'), "test"
    )
    position = CHESS.position(None, LINE)
    _, user = template.messages(position, CHESS)
    assert user.content == "\n".join(
        [
            "Game so far: " + " ".join(LINE),
            position.fen,
            position.text(),
            " ".join(position.legal_moves()),
            "White: {one} move",
        ]
    )


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('name = "chess"', "", "needs name, a text that is not blank"),
        ('name = "chess"', 'name = " "', "needs name"),
        ('name = "chess"', "name = 3", "needs name"),
        ('name = "chess"', 'name = "chess"\nnaem = "x"', "unknown key naem; allowed are name, game, system"),
        ("[user]", "[users]", r"needs a table \[user\]"),
        ('move = " {move}"', 'move = " {mvoe}"', r"user.move: unknown placeholder \{mvoe\}; allowed: \{move\}"),
        ('move = " {move}"', 'move = " x"', r"user.move needs \{move\}"),
        ('move = " {move}"', 'move = " {move!r}"', "user.move: unknown placeholder"),
        ('move = " {move}"', 'move = " {move"', "user.move: "),
        ('history = "Game so far:"', 'history = "{side}:"', r"user.history: unknown placeholder.*allowed: none"),
        ('illegal = "', 'ilegal = "', "unknown key retry.ilegal"),
        ('system = """', "system = '''", "is not valid TOML"),
    ],
)
def test_a_faulty_template_is_refused_by_name_and_key(template_path: Path, old: str, new: str, fault: str) -> None:
    text = template_path.read_text()
    assert old in text
    with pytest.raises(PromptTemplateError, match=fault) as caught:
        parse_template(text.replace(old, new, 1), "mine.toml")
    assert "mine.toml" in str(caught.value)


def test_a_missing_template_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(PromptTemplateError, match=r"cannot read prompt template .*gone.toml"):
        load_template(tmp_path / "gone.toml")
