"""Prompt templates: what is told, in which order, what is refused; each template for each game."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.base import Failure
from agents.history import NativeMoves, movetext, pairs
from agents.prompt_files import PromptLibrary, parse_template
from agents.prompts import RETRIED, PromptError, PromptTemplate
from games import game_names, get_game
from games.base import Position
from inference.types import Message, Text

CHESS = get_game("chess")
ENDGAME = "8/8/4k3/8/8/3RK3/8/8 w - - 0 1"
LINE = ("e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6")
TEMPLATES = ("explain-json", "fen-legal", "pgn", "transcript", "uci-history")
GAMES = ("chess", "janggi")


def text_of(prompt: list[Message] | Text) -> str:
    return prompt.content if isinstance(prompt, Text) else "\n".join(content for _, content in prompt)


def line(game: str, plies: int) -> list[Position]:
    """Positions of a game in which everyone plays the move in the middle of the list."""
    positions = [get_game(game).position()]
    while len(positions) <= plies:
        legal = positions[-1].legal_moves()
        positions.append(positions[-1].play(legal[len(legal) // 2]))
    return positions


# --- the templates that come along ---------------------------------------------------------------------------------


def test_these_templates_come_along(prompts: PromptLibrary) -> None:
    assert prompts.names() == TEMPLATES


@pytest.mark.parametrize("game", game_names())
@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_tells_every_game(prompts: PromptLibrary, name: str, game: str) -> None:
    template = prompts.load(name, game)
    assert (template.name, template.game) == (name, game)
    assert template.summary
    for position in line(game, 3):
        told = text_of(template.prompt(position))
        assert "{{" not in told
        assert "{%" not in told
        assert len({template.choice(position, move) for move in position.legal_moves()}) == len(position.legal_moves())


@pytest.mark.parametrize("game", GAMES)
def test_the_worked_examples_are_legal_and_can_be_told(prompts: PromptLibrary, game: str) -> None:
    template = prompts.load("explain-json", game)
    for example in template.known_examples:
        assert example.move in get_game(game).position(None, example.moves).legal_moves()
    shown = template.customised(examples=3).prompt(get_game(game).position())
    assert [message.role for message in shown] == ["system", *["user", "assistant"] * 3, "user"]
    assert shown[2].content.endswith(f'"move": "{template.known_examples[0].move}"}}')


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize(("name", "shared"), [("uci-history", 0.9), ("transcript", 1.0), ("pgn", 1.0)])
def test_what_was_told_of_a_game_begins_every_later_prompt(
    prompts: PromptLibrary, name: str, shared: float, game: str
) -> None:
    template = prompts.load(name, game)
    told = [text_of(template.prompt(position)) for position in line(game, 6)][1:]
    for before, after in itertools.pairwise(told):
        same = next((at for at, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), len(before))
        assert same >= shared * len(before)


def test_history_comes_first_and_the_turn_last(template: PromptTemplate) -> None:
    system, *_, user = template.prompt(CHESS.position(None, LINE[:3]))
    assert (system.role, user.role) == ("system", "user")
    assert user.content == "Game so far: e2e4 e7e5 g1f3\nBlack to move. Answer with one move such as e2e4."


def test_before_the_first_move_the_prompt_says_so(template: PromptTemplate) -> None:
    *_, user = template.prompt(CHESS.position())
    assert user.content.startswith("Game so far: no moves yet.\nWhite to move.")


@pytest.mark.parametrize(("name", "word"), [("uci-history", "position (FEN): "), ("pgn", '[FEN "')])
def test_another_start_position_is_told_before_the_history(prompts: PromptLibrary, name: str, word: str) -> None:
    told = text_of(prompts.load(name, "chess").prompt(CHESS.position(ENDGAME, ["d3d1"])))
    assert told.index(word + ENDGAME) < told.rindex("d1")


def test_the_system_prompt_is_of_the_size_that_the_engine_is_measured_with(template: PromptTemplate) -> None:
    """Words, since a tokenizer would be a download: about 1,000 tokens at three quarters of a word each."""
    system, *_ = template.prompt(CHESS.position())
    assert 650 <= len(system.content.split()) <= 850


def test_a_game_record_is_told_byte_for_byte(prompts: PromptLibrary) -> None:
    told = prompts.load("pgn", "chess").prompt(CHESS.position(None, LINE))
    assert told == Text(
        '[Event "World Championship"]\n[White "Strong player"]\n[Black "Strong player"]\n[WhiteElo "2850"]\n'
        '[BlackElo "2850"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4.'
    )


# --- what an agent may change --------------------------------------------------------------------------------------


def test_a_persona_stands_behind_the_system_prompt_and_changes_the_hash(template: PromptTemplate) -> None:
    bold = template.customised(persona="You love sacrifices.")
    (system, *user), (plain, *same) = bold.prompt(CHESS.position()), template.prompt(CHESS.position())
    assert system.content == plain.content + "\n\nYou love sacrifices."
    assert user == same
    assert bold.hash not in (template.hash, template.customised(persona="You love peace.").hash)


def test_an_own_system_prompt_takes_the_place_of_the_templates(template: PromptTemplate) -> None:
    own = template.customised(system="Play {{ fast }}.", persona="Bold.")
    assert own.prompt(CHESS.position())[0] == Message("system", "Play {{ fast }}.\n\nBold.")


def test_nothing_to_change_is_the_same_template(template: PromptTemplate) -> None:
    assert template.customised() is template


def test_a_position_of_another_game_is_refused(template: PromptTemplate) -> None:
    with pytest.raises(ValueError, match="'uci-history' is for chess, not janggi"):
        template.prompt(get_game("janggi").position())


@pytest.mark.parametrize("name", sorted({*TEMPLATES} - {"pgn"}))
def test_every_failure_that_can_be_tried_again_has_its_own_sentence(prompts: PromptLibrary, name: str) -> None:
    template, position = prompts.load(name, "chess"), CHESS.position(None, LINE)
    prompt = template.prompt(position)
    told = {text_of(template.feedback(prompt, "e2e5", failure, position)[len(prompt) :]) for failure in RETRIED}
    assert (
        set(template.retry)
        == set(RETRIED)
        == {
            Failure.TRUNCATED,
            Failure.EMPTY,
            Failure.UNPARSABLE,
            Failure.ILLEGAL,
        }
    )
    assert len(told) == 4


# --- native notation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "moves", "text"),
    [
        (None, (), "1."),
        (None, ("e2e4",), "1. e4"),
        (None, ("e2e4", "e7e5"), "1. e4 e5 2."),
        (ENDGAME.replace("w - - 0 1", "b - - 0 7"), (), "7..."),
        (ENDGAME.replace("w - - 0 1", "b - - 0 7"), ("e6e5",), "7... Ke5 8."),
        (ENDGAME.replace("w - - 0 1", "b - - 0 7"), ("e6e5", "d3d1", "e5e6"), "7... Ke5 8. Rd1 Ke6 9."),
    ],
)
def test_movetext_ends_where_the_next_move_is_due(fen: str | None, moves: tuple[str, ...], text: str) -> None:
    assert movetext(CHESS.position(fen, moves), "native") == text


@pytest.mark.parametrize(
    ("fen", "moves", "text"),
    [
        (None, (), ""),
        (None, ("e2e4",), "e4"),
        (None, ("e2e4", "e7e5"), "e4 e5,"),
        (None, ("e2e4", "e7e5", "g1f3"), "e4 e5, Nf3"),
        (ENDGAME.replace("w - - 0 1", "b - - 0 7"), ("e6e5",), "Ke5,"),
        (ENDGAME.replace("w - - 0 1", "b - - 0 7"), ("e6e5", "d3d1"), "Ke5, Rd1"),
    ],
)
def test_a_comma_parts_pairs_of_moves(fen: str | None, moves: tuple[str, ...], text: str) -> None:
    assert pairs(CHESS.position(fen, moves), "native") == text


@pytest.mark.parametrize(
    ("name", "game", "line", "such"),
    [
        ("transcript", "chess", "\ne4 e5, Nf3 Nc6, Bb5", "such as e4."),
        ("transcript", "janggi", "\nPab4 Pih7, Nc3 Ng8", "such as Pab4."),
    ],
)
def test_facts_are_told_in_the_notation_of_the_template(
    prompts: PromptLibrary, name: str, game: str, line: str, such: str
) -> None:
    template, position = prompts.load(name, game), get_game(game).position()
    prompt = template.prompt(position)
    assert line in prompt[0].content
    assert position.legal_moves()[0] not in text_of(prompt)
    assert such in text_of(template.feedback(prompt, "", Failure.EMPTY, position))


def test_facts_with_an_illegal_move_are_refused(prompts: PromptLibrary) -> None:
    text, facts = ((prompts.folder / name).read_text() for name in ("transcript.toml", "games/chess.toml"))
    with pytest.raises(PromptError, match="facts about chess: 'e2e5' is not legal"):
        parse_template(text, facts.replace("e2e4 e7e5", "e2e5 e7e5", 1), "chess", "mine.toml", name="mine")


def test_native_moves_are_the_same_whatever_is_remembered() -> None:
    small = NativeMoves(size=1)
    positions = line("chess", 12)
    whole = NativeMoves().of(positions[-1])
    assert len(whole) == 12
    for position in [*positions, *positions[::-1], *line("chess", 5)]:
        assert small.of(position) == whole[: len(position.moves)]


# --- files ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def parse(prompts: PromptLibrary) -> Callable[..., PromptTemplate]:
    """Parses the text of a shipped template, changed: `parse("pgn", ("old", "new"))`."""

    def make(name: str, *changes: tuple[str, str]) -> PromptTemplate:
        text = (prompts.folder / f"{name}.toml").read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        facts = (prompts.folder / "games" / "chess.toml").read_text()
        return parse_template(text, facts, "chess", "mine.toml", name="mine")

    return make


def test_the_hash_belongs_to_the_content(parse, prompts: PromptLibrary) -> None:
    shipped = prompts.load("uci-history", "chess")
    assert parse("uci-history").hash == shipped.hash
    assert parse("uci-history", ("careful", "bold")).hash != shipped.hash
    assert prompts.load("uci-history", "janggi").hash != shipped.hash
    assert len(shipped.hash) == 16


@pytest.mark.parametrize(
    ("name", "old", "new", "fault"),
    [
        ("uci-history", 'system = """', 'sytem = """', r"unknown key 'sytem' \(did you mean system\?\)"),
        ("uci-history", 'system = """', "system = '''", "is not valid TOML"),
        ("uci-history", 'summary = "chat', 'answer = "prose"\nsummary = "chat', "answer: input should be 'move', "),
        ("uci-history", "[retry]", "[rety]", r"unknown key 'rety'"),
        ("uci-history", 'illegal = "', 'ilegal = "', r"retry.ilegal"),
        ("uci-history", "{{ side }}", "{{ sde }}", r"user: unknown name 'sde' \(did you mean side\?\); allowed are"),
        ("uci-history", "{{ side }}", "{{ side", "user: "),
        ("uci-history", "{{ said }}", "{{ saidd }}", "retry.illegal: unknown name 'saidd'"),
        ("uci-history", "{{ side }}", "{{ side.__class__.mro() }}", "cannot be rendered: .*unsafe"),
        ("uci-history", "{% endif %}", "", "user: .*endif"),
        ("explain-json", "examples = 2", "examples = 20", "examples must be from 0 to 3"),
        ("explain-json", "max_tokens = 96", "max_tokens = 0", "max_tokens: "),
        ("transcript", 'answer = "word"', 'answer = "word"\nexamples = 1', "examples do not go with assistant"),
        ("uci-history", "[retry]", '[retry]\nassistant = "So:"', "retry.assistant goes with assistant"),
        ("pgn", 'text = """', 'user = "x"\ntext = """', "text stands alone, without user"),
        ("pgn", 'text = """', 'system = """', "needs user, a text that is not blank, or text instead"),
    ],
)
def test_a_faulty_template_is_refused_by_name_and_key(parse, name: str, old: str, new: str, fault: str) -> None:
    with pytest.raises(PromptError, match=fault) as caught:
        parse(name, (old, new))
    assert "mine.toml" in str(caught.value)


def test_a_missing_template_file_is_named(prompts: PromptLibrary, tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"cannot read prompt template .*gone.toml"):
        prompts.load(str(tmp_path / "gone.toml"), "chess")
