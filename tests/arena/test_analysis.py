"""Games before a judge whose opinions are known: what is recorded, what follows from it, and going on after a stop."""

import sys
import textwrap
from collections import Counter

import pytest

from agents.uci.score import MATE
from arena.analysis import analyse, find_games
from arena.errors import ArenaError, UsageError
from arena.store.assessments import Judgement, assessed_plies, centipawn_loss, judged_play
from arena.store.queries import game_detail

JUDGE = """
import sys, os
log = sys.argv[1]
last = int(open(log + ".last").read())
OPINIONS = {0: ("e2e4", 30), 1: ("e7e5", 200), 2: ("d2d4", -20), 3: ("d8h4", 99999)}  # ply: best move, score
def say(line): print(line, flush=True)
for line in sys.stdin:
    line = line.strip()
    if line == "uci": say("id name Known Opinions 1"); say("uciok")
    elif line == "isready": say("readyok")
    elif line == "quit": sys.exit()
    elif line.startswith("position"): ply = len(line.split(" moves ")[1].split()) if " moves " in line else 0
    elif line.startswith("go"):
        if ply > last: os._exit(3)
        open(log, "a").write(f"{ply}\\n")
        best, score = OPINIONS[ply]
        say("info depth 1 score " + ("mate 1" if score > 9999 else f"cp {score}")); say("bestmove " + best)
"""


@pytest.fixture
def judge(tmp_path):
    """A function that makes the spec of an engine with known opinions on Fool's Mate, which dies when it is asked about
    a ply past `last`; and what it was asked so far."""
    program, log = tmp_path / "judge", tmp_path / "asked.txt"
    program.write_text(f"#!{sys.executable} -IS\n{textwrap.dedent(JUDGE)}")
    program.chmod(0o755)

    def make(last=9):
        log.with_suffix(".txt.last").write_text(str(last))
        return f"uci:{program}?args={log}&nodes=5"

    make.asked = lambda: Counter(map(int, log.read_text().split())) if log.exists() else Counter()
    return make


@pytest.fixture
def played(scribe):
    """Two games of Fool's Mate, with the players' sides swapped."""
    scribe = scribe(games=2)
    for game in scribe.run.games:
        scribe.play_out(game.game_id)
    return scribe


async def test_moves_are_judged_by_the_scores_before_and_after(database, played, judge):
    await analyse(database, judge(), [1])
    name = f"Known Opinions 1 ({judge()})"
    assert [move.judgements for move in game_detail(database, 1).moves] == [
        (Judgement(name, "e2e4", 30, -200, 230, False),),
        (Judgement(name, "e7e5", 200, 20, 0, True),),  # the judge's own choice loses nothing
        (Judgement(name, "d2d4", -20, 1 - MATE, 980, False),),  # a lost position counts as -1000
        (Judgement(name, "d8h4", MATE - 1, MATE, 0, True),),  # mated: no engine is asked
    ]
    assert game_detail(database, 2).moves[0].judgements == ()


async def test_agreement_and_loss_add_up_by_agent(database, played, judge):
    await analyse(database, judge(), find_games(database, [played.run.name]))
    with database.reading() as session:
        ((_, play),) = judged_play(session, played.run.run_id).items()
    assert [(one.moves, one.agreed, one.lost, one.blunders) for one in play.values()] == [(4, 2, 1210, 1)] * 2
    assert [one.average_loss for one in play.values()] == [302.5, 302.5]
    assert [one.agreement for one in play.values()] == [0.5, 0.5]


async def test_an_analysis_that_was_cut_short_goes_on_where_it_was(database, played, judge):
    with pytest.raises(ArenaError, match=r"judge ended with status 3; what it assessed is recorded"):
        await analyse(database, judge(last=1), [1])
    with database.reading() as session:
        recorded = assessed_plies(session, 1, 1)
    assert recorded
    assert recorded <= {0, 1}
    before = judge.asked()
    rest = await analyse(database, judge(), [1])
    assert rest.assessed == 5 - len(recorded)
    assert all(judge.asked()[ply] == before[ply] for ply in recorded)
    with database.reading() as session:
        assert assessed_plies(session, 1, 1) == {0, 1, 2, 3, 4}


async def test_what_was_assessed_before_is_not_again(database, played, judge):
    told = []
    first = await analyse(database, judge(), [1])
    again = await analyse(database, judge(), [1, 2], lambda done, total: told.append((done, total)))
    assert (first.positions, first.assessed) == (5, 5)
    assert (again.positions, again.assessed) == (10, 5)
    assert told == [(done, 10) for done in range(5, 11)]
    assert judge.asked() == {0: 2, 1: 2, 2: 2, 3: 2}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("random", "a judge is a UCI engine"),
        ("uci:no-such-engine", "no engine 'no-such-engine'"),
        ("uci:cat?skill=3", "cat|full strength"),
        ("nonsense", "unknown kind of agent"),
    ],
)
async def test_what_cannot_judge_is_refused(database, played, spec, message):
    with pytest.raises(UsageError, match=message):
        await analyse(database, spec, [1])


def test_games_that_are_not_there_are_refused(database, played):
    with pytest.raises(UsageError, match="there is no game 99"):
        find_games(database, [99])
    with pytest.raises(UsageError, match="there is no run nowhere"):
        find_games(database, ["nowhere"])


def test_a_loss_is_never_negative_and_never_beyond_the_cap():
    assert centipawn_loss(30, 90, agrees=False) == 0
    assert centipawn_loss(MATE - 3, 400, agrees=False) == 600
    assert centipawn_loss(5000, 1200, agrees=False) == 0
    assert centipawn_loss(MATE - 3, 3 - MATE, agrees=False) == 2000


def test_the_command_tells_what_it_did_and_show_what_it_found(arena, played, judge):
    code, out, _ = arena("analyse", played.run.name, "--engine", judge())
    assert code == 0
    assert out == "Known Opinions 1 has assessed the 10 positions of 2 games: 10 now.\n"
    code, out, _ = arena("show", 1, "--ply", 1)
    assert "plays e2e4, loss 230 centipawns; +0.30 before, -2.00 after" in out
    _, out, _ = arena("show", 1)
    assert "\nJudged by Known Opinions 1" in out


def test_the_command_wants_to_know_what_to_analyse(arena, played, judge):
    code, _, err = arena("analyse", "--engine", judge())
    assert code == 2
    assert "say what to analyse" in err
