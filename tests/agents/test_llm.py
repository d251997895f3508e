"""The model's agent against a scripted engine: policies, feedback, failures, accounting."""

from __future__ import annotations

import asyncio
import math
from itertools import pairwise

import pytest

from agents.base import Accounting, Failure, InfrastructureError, MoveRequest
from agents.llm import LLMAgent
from agents.llm_settings import Legality, LLMSettings
from agents.seeds import derive_seed
from games import get_game
from inference.errors import (
    EngineClosedError,
    EngineFailedError,
    InvalidRequestError,
    QueueFullError,
    RequestTimeoutError,
    RequestTooLargeError,
)
from inference.types import FinishReason, Message, Text

COST = Accounting(
    prompt_tokens=1000,
    cached_tokens=960,
    forwarded_tokens=45,
    generated_tokens=4,
    forward_passes=5,
    queue_ms=1.0,
    prefill_ms=2.0,
    decode_ms=3.0,
    ttft_ms=2.5,
    batch_size=16,
)


@pytest.fixture
def make(engine, prompts):
    """Makes an agent: `make("retry:3", temperature=0)`, `make(prompt="pgn")`."""

    def make(legality: str = "constrained", *, prompt: str = "uci-history", games=("chess",), **settings) -> LLMAgent:
        templates = {game: prompts.load(prompt, game) for game in games}
        return LLMAgent("Anna", engine, templates, LLMSettings(legality=Legality.parse(legality), **settings))

    return make


# --- constrained ---------------------------------------------------------------------------------------------------


async def test_constrained_chooses_among_the_legal_moves(make, engine, ask) -> None:
    request = ask("e2e4", "e7e5")
    reply = await make(temperature=0.5).choose_move(request)
    (call,) = engine.calls
    assert call.choices == request.position.legal_moves()
    assert call.terminator is None
    assert (call.temperature, call.seed) == (0.5, derive_seed(request.seed, 0))
    assert [message.role for message in call.prompt] == ["system", *["user", "assistant"] * 3, "user"]
    assert reply.move == request.position.legal_moves()[-1]
    assert (reply.policy, reply.probability, reply.failure) == ("constrained", 0.25, None)
    assert reply.accounting == COST
    assert [attempt.text for attempt in reply.attempts] == [reply.move]


@pytest.mark.parametrize("select", ["walk", "score"])
async def test_a_pass_is_offered_only_to_agents_that_may(make, engine, select) -> None:
    position = get_game("janggi").position()
    engine.logprobs = lambda choices: [float(index == 14) for index in range(len(choices))]
    assert position.legal_moves()[14] == "e2e2"
    request = MoveRequest(position, game_id=1, ply=1, seed=7)
    for may_pass, offered in ((True, 32), (False, 31)):
        agent = make(games=("janggi",), select=select, temperature=0, may_pass=may_pass)
        reply = await agent.choose_move(request)
        assert len(engine.calls[-1].choices) == offered
        assert ("e2e2" in engine.calls[-1].choices) == may_pass
        assert reply.move == reply.attempts[0].text == engine.calls[-1].choices[14 if select == "score" else -1]
        assert len(await agent.distribution(position)) == offered


async def test_a_pass_is_played_where_there_is_nothing_else(make, engine) -> None:
    position = get_game("janggi").position("4k4/9/9/9/9/9/9/3r1r3/9/4K4 w - - 0 1")
    assert position.legal_moves() == ("e1e1",)
    reply = await make(games=("janggi",)).choose_move(MoveRequest(position, game_id=1, ply=1, seed=7))
    assert reply.move == "e1e1"


async def test_select_score_draws_from_the_whole_move_probabilities(make, engine, ask) -> None:
    engine.logprobs = lambda choices: [0.0 if move == "d2d4" else -40.0 for move in choices]
    reply = await make(select="score").choose_move(ask())
    assert reply.move == "d2d4"
    assert reply.probability == pytest.approx(1.0)
    assert reply.accounting == COST
    assert engine.calls[0].temperature is None


async def test_select_score_is_a_function_of_the_seed(make, ask) -> None:
    agent = make(select="score")
    moves = [(await agent.choose_move(ask(seed=seed))).move for seed in (1, 2, 3, 4, 5, 6, 1)]
    assert moves[0] == moves[-1]
    assert len(set(moves)) > 1


async def test_select_score_takes_the_first_of_the_best_at_temperature_zero(make, engine, ask) -> None:
    engine.logprobs = lambda choices: [-1.0 if move in ("d2d4", "e2e4") else -2.0 for move in choices]
    replies = [await make(select="score", temperature=0.0).choose_move(ask(seed=seed)) for seed in range(5)]
    assert {reply.move for reply in replies} == {"d2d4"}
    assert replies[0].probability < 0.2, "the model's own, not that of the draw"


async def test_select_score_tells_the_likeliest_moves_and_the_one_taken(make, engine, ask) -> None:
    shares = {"d2d4": 0.4, "e2e4": 0.3, "g1f3": 0.2, "c2c4": 0.05, "b1c3": 0.03, "a2a3": 0.02}
    engine.logprobs = lambda choices: [math.log(shares[move]) if move in shares else -math.inf for move in choices]
    reply = await make(select="score", temperature=0).choose_move(ask())
    (decision,) = reply.decisions
    assert (reply.move, reply.probability, decision.taken) == ("d2d4", pytest.approx(0.4), 0)
    assert [option.text for option in decision.options] == list(shares)[:5]
    assert [option.probability for option in decision.options] == pytest.approx(list(shares.values())[:5])
    taken = [(await make(select="score", temperature=1.0).choose_move(ask(seed=seed))) for seed in range(300)]
    unlikely = next(reply for reply in taken if reply.move == "a2a3")
    assert [option.text for option in unlikely.decisions[0].options] == ["d2d4", "e2e4", "g1f3", "c2c4", "a2a3"]
    assert (unlikely.decisions[0].taken, unlikely.probability) == (4, pytest.approx(0.02))


# --- free text -----------------------------------------------------------------------------------------------------


async def test_free_takes_one_try(make, engine, ask) -> None:
    engine.answers = ["Nf3", "e2e4"]
    reply = await make("free", temperature=0.7, max_tokens=9, top_k=3, top_p=0.9).choose_move(ask())
    (call,) = engine.calls
    assert (reply.move, reply.policy, reply.probability) == ("g1f3", "free", None)
    assert reply.attempts[0].text == "Nf3"
    params = call.params
    assert (params.temperature, params.max_tokens, params.top_k, params.top_p) == (0.7, 9, 3, 0.9)
    assert params.stop == ()


async def test_free_does_not_try_again(make, engine, ask) -> None:
    engine.answers = ["e2e5", "e2e4"]
    reply = await make("free").choose_move(ask())
    assert (reply.move, reply.failure, len(engine.calls)) == (None, Failure.ILLEGAL, 1)


async def test_retry_tells_the_model_which_failure_it_was(make, engine, ask) -> None:
    engine.answers = ["", ("I think I will", FinishReason.LENGTH), "My move is e4", "e2e5", "e2e4"]
    reply = await make("retry:5").choose_move(ask())
    kinds = [Failure.EMPTY, Failure.TRUNCATED, Failure.UNPARSABLE, Failure.ILLEGAL]
    assert reply.move == "e2e4"
    assert reply.policy == "retry:5"
    assert [attempt.failure for attempt in reply.attempts] == [*kinds, None]
    told = engine.calls[-1].prompt[len(engine.calls[0].prompt) :]
    assert told[0::2] == tuple(Message("assistant", said) for said in ("", "I think I will", "My move is e4", "e2e5"))
    assert {message.role for message in told[1::2]} == {"user"}
    for said, (_, feedback) in zip(
        ("was empty", "cut off", "not exactly one move", "e2e5 is not"), told[1::2], strict=True
    ):
        assert said in feedback


async def test_every_try_extends_the_prompt_of_the_last(make, engine, ask) -> None:
    engine.answers = ["no", "still no", "e2e4"]
    await make("retry:3").choose_move(ask())
    prompts = [call.prompt for call in engine.calls]
    assert [len(prompt) - len(prompts[0]) for prompt in prompts] == [0, 2, 4]
    for before, after in pairwise(prompts):
        assert after[: len(before)] == before


async def test_tries_have_seeds_of_their_own_and_costs_add_up(make, engine, ask) -> None:
    request = ask(seed=11)
    reply = await make("retry:3").choose_move(request)
    assert [attempt.seed for attempt in reply.attempts] == [derive_seed(11, number) for number in range(3)]
    assert [call.seed for call in engine.calls] == [attempt.seed for attempt in reply.attempts]
    assert len({attempt.seed for attempt in reply.attempts}) == 3
    assert reply.accounting == COST + COST + COST


async def test_used_up_tries_end_with_the_last_failure(make, engine, ask) -> None:
    engine.answers = ["e2e5", "what?"]
    reply = await make("retry:2").choose_move(ask())
    assert (reply.move, reply.failure) == (None, Failure.UNPARSABLE)
    assert [attempt.failure for attempt in reply.attempts] == [Failure.ILLEGAL, Failure.UNPARSABLE]


# --- time and trouble ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("legality", ["constrained", "free", "retry:3"])
async def test_a_deadline_that_passed_is_a_timeout(make, engine, ask, legality) -> None:
    reply = await make(legality).choose_move(ask(deadline_s=0.0))
    assert (reply.move, reply.failure) == (None, Failure.TIMEOUT)
    assert engine.calls == []


@pytest.mark.parametrize("settings", [{}, {"select": "score"}, {"legality": "retry:3"}])
async def test_running_into_the_deadline_is_a_timeout(make, engine, ask, settings) -> None:
    engine.error = RequestTimeoutError("ran for 30 s")
    engine.takes_s = 30.0
    reply = await make(**settings).choose_move(ask(deadline_s=30.0))
    assert (reply.move, reply.failure, len(engine.calls)) == (None, Failure.TIMEOUT, 1)
    assert reply.attempts[-1].detail == "no answer within 30.0 s: ran for 30 s"


async def test_the_tries_share_one_deadline(make, engine, ask) -> None:
    engine.takes_s = 25.0
    reply = await make("retry:4").choose_move(ask(deadline_s=60.0))
    assert [call.timeout_s for call in engine.calls] == [60.0, 35.0, 10.0]
    assert [attempt.failure for attempt in reply.attempts] == [Failure.UNPARSABLE] * 3 + [Failure.TIMEOUT]


async def test_tries_made_before_the_deadline_are_kept(make, engine, ask) -> None:
    engine.answers = ["e2e5", RequestTimeoutError("late")]
    engine.takes_s = 15.0
    reply = await make("retry:3").choose_move(ask(deadline_s=30.0))
    assert [attempt.failure for attempt in reply.attempts] == [Failure.ILLEGAL, Failure.TIMEOUT]


@pytest.mark.parametrize("deadline_s", [None, 60.0])
async def test_a_limit_of_the_engine_itself_is_not_the_agents_fault(make, engine, ask, deadline_s) -> None:
    engine.error = RequestTimeoutError("waited longer than 5 s")
    engine.takes_s = 5.0
    with pytest.raises(InfrastructureError, match="waited longer than 5 s"):
        await make().choose_move(ask(deadline_s=deadline_s))


@pytest.mark.parametrize("settings", [{}, {"select": "score"}, {"legality": "free"}])
@pytest.mark.parametrize(
    "error",
    [
        QueueFullError("1024 requests wait"),
        EngineClosedError("closed"),
        EngineFailedError("a forward pass raised"),
        RequestTooLargeError("2300 tokens do not fit a context of 2048"),
    ],
)
async def test_an_engine_that_fails_is_not_the_agents_fault(make, engine, ask, settings, error) -> None:
    engine.error = error
    with pytest.raises(InfrastructureError, match=str(error)) as caught:
        await make(**settings).choose_move(ask(deadline_s=60.0))
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("legality", ["constrained", "retry:3"])
async def test_cancelling_goes_through(make, engine, ask, legality) -> None:
    engine.hang = True
    call = asyncio.create_task(make(legality).choose_move(ask()))
    await engine.called.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert len(engine.calls) == 1


async def test_games_played_at_once_do_not_mix(make, engine, ask) -> None:
    agent = make("retry:2")
    lines = [("e2e4",), ("d2d4",), ("g1f3",), ("c2c4",)]
    replies = await asyncio.gather(*(agent.choose_move(ask(*line, seed=line[0])) for line in lines))
    for line, reply in zip(lines, replies, strict=True):
        mine = [call for call in engine.calls if call.seed in {attempt.seed for attempt in reply.attempts}]
        assert len(mine) == 2
        assert all(f"Game so far: {line[0]}\n" in call.prompt[7].content for call in mine)  # behind three examples


async def test_start_warms_the_prompt_that_every_game_begins_with(make, engine, ask) -> None:
    agent = make()
    await agent.start()
    await agent.choose_move(ask())
    warm, first = engine.calls
    assert warm.params.max_tokens == 1
    assert warm.prompt == first.prompt


async def test_start_reports_an_engine_that_fails(make, engine) -> None:
    engine.error = EngineClosedError("closed")
    with pytest.raises(InfrastructureError, match="Anna: closed"):
        await make().start()


async def test_start_warms_each_game_that_will_be_played(make, engine) -> None:
    await make(games=("chess", "janggi")).start()
    chess, janggi = (call.prompt[0].content for call in engine.calls)
    assert "Castling" in chess
    assert "cannon" in janggi


async def test_a_game_without_a_template_is_refused(make, ask) -> None:
    with pytest.raises(ValueError, match="Anna plays janggi, not chess"):
        await make(games=("janggi",)).choose_move(ask())


# --- templates -----------------------------------------------------------------------------------------------------


async def test_a_transcript_is_continued_by_the_move(make, engine, ask) -> None:
    reply = await make(prompt="transcript").choose_move(ask("e2e4", "e7e5"))
    (call,) = engine.calls
    position = ask("e2e4", "e7e5").position
    assert call.prompt[-1] == Message("assistant", "Moves: e4 e5,")
    assert call.choices == tuple(" " + position.san(move) for move in position.legal_moves())
    assert call.terminator == "\n"
    assert " " + position.san(reply.move) == reply.attempts[0].text


async def test_what_a_transcript_generated_begins_the_next_prompt(make, engine, ask) -> None:
    agent = make(prompt="transcript")
    reply = await agent.choose_move(ask("e2e4"))
    await agent.choose_move(ask("e2e4", reply.move))
    first, second = (call.prompt[-1].content for call in engine.calls)
    assert second == first + reply.attempts[0].text + ","


async def test_a_failure_in_a_transcript_is_told_after_what_was_said(make, engine, ask) -> None:
    engine.answers = [" e4 e5", " e5 Nf3"]
    reply = await make("retry:2", prompt="transcript").choose_move(ask("d2d4"))
    assert [attempt.failure for attempt in reply.attempts] == [Failure.ILLEGAL, None]
    assert reply.move == "e7e5"
    _, said, feedback, opened = engine.calls[1].prompt[-4:]
    assert said == Message("assistant", "Moves: d4 e4")
    assert feedback.role == "user"
    assert feedback.content.startswith("e4 is not a legal move")
    assert opened == Message("assistant", "Move:")


async def test_a_third_try_has_both_failures_before_it(make, engine, ask) -> None:
    engine.answers = [" e5 e4", " Nf6 Nc3", " Nf3 Nc6"]
    reply = await make("retry:3", prompt="transcript").choose_move(ask())
    assert reply.move == "g1f3"
    assert [content for role, content in engine.calls[2].prompt if role == "assistant"] == [
        "Moves: e5",
        "Move: Nf6",
        "Move:",
    ]


async def test_a_game_record_is_a_plain_text_in_native_notation(make, engine, ask) -> None:
    reply = await make(prompt="pgn").choose_move(ask("e2e4", "e7e5", "g1f3"))
    (call,) = engine.calls
    assert isinstance(call.prompt, Text)
    assert call.prompt.content.endswith("\n\n1. e4 e5 2. Nf3")
    assert {" Nc6", " Bc5", " a6"} <= set(call.choices)
    assert reply.move == ask("e2e4", "e7e5", "g1f3").position.legal_moves()[-1]


async def test_a_plain_text_is_tried_again_as_it_was_with_another_seed(make, engine, ask) -> None:
    engine.answers = [" Qh5 Nc6", " e4 e5"]
    reply = await make("retry:2", prompt="pgn").choose_move(ask())
    assert reply.move == "e2e4"
    assert engine.calls[0].prompt == engine.calls[1].prompt
    assert engine.calls[0].seed != engine.calls[1].seed


async def test_an_explanation_is_read_from_its_object(make, engine, ask) -> None:
    engine.answers = ['{"reason": "e2e4 would be better", "move": "Nf3"}']
    reply = await make("free", prompt="explain-json").choose_move(ask())
    assert reply.move == "g1f3"
    assert engine.calls[0].params.max_tokens == 96


def test_an_explanation_cannot_be_constrained(make) -> None:
    with pytest.raises(ValueError, match="prompt=explain-json answers in free text: set legality=retry:3, or free"):
        make(prompt="explain-json")


def test_tries_that_could_only_be_the_same_are_refused(make) -> None:
    with pytest.raises(ValueError, match="legality=retry:2 is of no use at temperature 0 with prompt=pgn"):
        make("retry:2", prompt="pgn", temperature=0.0)
    make("retry:1", prompt="pgn", temperature=0.0)


async def test_an_own_seed_changes_what_is_drawn(make, engine, ask) -> None:
    for settings in ({}, {"seed": 1}, {"seed": 2}, {"seed": 1}):
        await make(**settings).choose_move(ask())
    none, one, two, again = (call.seed for call in engine.calls)
    assert one == again
    assert len({none, one, two}) == 3


async def test_the_agent_carries_its_template(make, template) -> None:
    assert make().template_hash("chess") == template.hash
    assert make().name == "Anna"


# --- settings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["constrained", "free", "retry:1", "retry:100"])
def test_legality_reads_what_it_writes(text) -> None:
    assert str(Legality.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "retry", "retry:", "retry:0", "retry:101", "retry:-1", "retry:x", "free:2", "constrained:1"]
)
def test_an_unknown_legality_is_named(text) -> None:
    with pytest.raises(ValueError, match=f"not '{text}'"):
        Legality.parse(text)


@pytest.mark.parametrize(
    "settings", [{"temperature": -1.0}, {"max_tokens": 0}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.5}]
)
def test_settings_out_of_range_are_refused(settings) -> None:
    with pytest.raises(InvalidRequestError, match=next(iter(settings))):
        LLMSettings(**settings)


def test_settings_in_force_are_those_that_have_an_effect() -> None:
    assert LLMSettings().in_force() == {
        "temperature": 1.0,
        "legality": "constrained",
        "select": "walk",
        "pass": False,
    }
    assert LLMSettings(legality=Legality("retry", 3)).in_force() == {
        "temperature": 1.0,
        "legality": "retry:3",
        "top_k": 0,
        "top_p": 1.0,
    }
