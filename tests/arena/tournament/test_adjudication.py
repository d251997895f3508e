"""Games that a judge, or tablebases, end: by scores that are written down here."""

import pytest

from agents.base import AgentCrashed, UnusableAgentError
from arena.endings import Ending
from arena.errors import UsageError
from arena.store.records import NewGame, StoredGame
from arena.tournament.adjudication import Adjudication
from arena.tournament.lineup import TournamentLineup
from arena.tournament.plan import make_plan
from arena.tournament.spec import Adjudication as Rules
from arena.tournament.spec import TournamentSpec
from arena.tournament.tablebases import Tablebases
from games import get_game

MOVES = ("g1f3", "g8f6", "f3g1", "f6g8", "b1c3", "b8c6", "c3b1", "c6b8")
JUDGE = "uci:stockfish?nodes=1"


class ListedJudge:
    """Knows the score of each ply, for the first player, and counts how often it is asked."""

    def __init__(self, scores):
        self.scores = dict(enumerate(scores, start=1))
        self.asked = []

    async def assess(self, position):
        ply = len(position.moves)
        self.asked.append(ply)
        score = self.scores[ply]
        if score is None:
            raise UnusableAgentError("it tells no score with its moves: it cannot be a judge")
        return position.legal_moves()[0], score if position.side_to_move == "first" else -score


def watch_of(scores, opening=0, **rules):
    judge = ListedJudge(scores)
    game = StoredGame(1, NewGame(0, "w", "b", "chess", 1, 99, "", opening_moves=MOVES[:opening]), None, None, False, ())
    return Adjudication(Rules(judge=JUDGE, **rules), judge).watch(game), judge


async def endings(watch, plies, *, first=1):
    """What the watch says after each ply from `first` on."""
    chess = get_game("chess")
    return [await watch.ending(chess.position(None, MOVES[:ply]), at_limit=False) for ply in range(first, plies + 1)]


async def test_a_side_resigns_when_all_of_its_last_moves_looked_lost():
    watch, _ = watch_of([0, 900, 900, 1200, 1100, 1300], resign={"score": 800, "moves": 2})
    assert await endings(watch, 5) == [None, None, None, Ending("1-0", "adjudication-resign"), None]


async def test_the_first_player_resigns_as_well():
    watch, _ = watch_of([-900, 0, -900], resign={"score": 900, "moves": 2})
    assert await endings(watch, 3) == [None, None, Ending("0-1", "adjudication-resign")]


async def test_one_better_look_keeps_a_game_alive():
    watch, _ = watch_of([0, 900, 0, 799, 0, 900], resign={"score": 800, "moves": 2})
    assert await endings(watch, 6) == [None] * 6


async def test_moves_of_the_opening_are_nobodys_to_resign_by():
    watch, judge = watch_of([0, 900, 0, 900, 0, 900], opening=3, resign={"score": 800, "moves": 2})
    assert await endings(watch, 6, first=4) == [None, None, Ending("1-0", "adjudication-resign")]
    assert min(judge.asked) == 4


async def test_a_draw_takes_even_scores_at_the_last_moves_of_both_from_a_ply_on():
    watch, judge = watch_of([0, 5, -5, 3, 0, 0], draw={"score": 5, "moves": 1, "from_ply": 4})
    assert await endings(watch, 5) == [None] * 4 + [Ending("1/2-1/2", "adjudication-draw")]
    assert judge.asked == [5, 4]


async def test_a_resumed_game_has_the_scores_before_looked_up_again():
    whole, _ = watch_of([0, 900, 0, 900], resign={"score": 800, "moves": 2})
    resumed, judge = watch_of([0, 900, 0, 900], resign={"score": 800, "moves": 2})
    assert (
        (await endings(whole, 4))[-1] == (await endings(resumed, 4, first=4))[0] == Ending("1-0", "adjudication-resign")
    )
    assert judge.asked == [4, 2]


@pytest.mark.parametrize(("score", "result"), [(1000, "1-0"), (-1000, "0-1"), (999, "1/2-1/2")])
async def test_at_the_ply_limit_the_side_ahead_wins(score, result):
    watch, _ = watch_of([score], ply_limit=True)
    position = get_game("chess").position(None, MOVES[:1])
    assert await watch.ending(position, at_limit=True) == Ending(result, "adjudication-ply-limit")
    assert await watch.ending(position, at_limit=False) is None


async def test_a_judge_that_tells_nothing_or_dies_makes_the_game_void():
    watch, judge = watch_of([None], resign={"score": 800, "moves": 1})
    (ending,) = await endings(watch, 1)
    assert (ending.result, ending.termination, ending.void) == ("*", "infrastructure", True)
    assert "tells no score" in ending.detail

    async def dies(position):
        raise AgentCrashed("stockfish ended with signal SIGSEGV")

    judge.assess = dies
    (ending,) = await endings(watch, 1)
    assert ending.detail == "the judge failed: stockfish ended with signal SIGSEGV"


def test_a_judge_that_is_to_be_weakened_is_refused():
    rules = {"judge": "uci:cat?skill=0", "draw": {}}
    agents = ["random?name=a", "random?name=b"]
    spec = TournamentSpec(name="x", format="round-robin", agents=agents, adjudication=rules)
    with pytest.raises(UsageError, match=r"adjudication: .* full strength; leave out skill"):
        TournamentLineup(make_plan(spec))


class Oracle:
    def __init__(self, known):
        self.known = known

    def winner(self, position):
        return self.known


@pytest.mark.parametrize(("known", "result"), [(("first",), "1-0"), (("second",), "0-1"), ((None,), "1/2-1/2")])
async def test_what_a_tablebase_knows_ends_a_game(known, result):
    game = StoredGame(1, NewGame(0, "w", "b", "chess", 1, 99, ""), None, None, False, ())
    watch = Adjudication(Rules(syzygy="somewhere"), oracle=Oracle(known)).watch(game)
    assert await watch.ending(get_game("chess").position(), at_limit=False) == Ending(result, "adjudication-tablebase")


class Tables:
    """Stands for chess.syzygy.Tablebase."""

    def __init__(self, wdl):
        self.wdl = {"KQvK": None}
        self._wdl = wdl

    def get_wdl(self, board):
        return self._wdl


@pytest.mark.parametrize(
    ("fen", "wdl", "winner"),
    [
        ("8/8/8/8/8/5k2/3Q4/K7 w - - 0 1", 2, ("first",)),
        ("8/8/8/8/8/5k2/3Q4/K7 b - - 0 1", -2, ("first",)),
        ("8/8/8/8/5K2/8/8/k6q w - - 0 1", -2, ("second",)),
        ("8/8/8/8/8/5k2/3Q4/K7 w - - 0 1", 1, (None,)),
        ("8/8/8/8/8/5k2/3Q4/K7 w - - 0 1", None, None),
        ("8/8/8/8/8/5k2/3Q4/K7 w - - 3 9", 2, None),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 2, None),
    ],
)
def test_tables_are_asked_only_where_they_are_right(monkeypatch, tmp_path, fen, wdl, winner):
    monkeypatch.setattr("chess.syzygy.open_tablebase", lambda folder: Tables(wdl))
    assert Tablebases(tmp_path).winner(get_game("chess").position(fen)) == winner


def test_a_folder_without_tables_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no table"):
        Tablebases(tmp_path)
    with pytest.raises(UsageError, match="No such file"):
        Tablebases(tmp_path / "nowhere")
