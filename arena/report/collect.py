"""From the record to a Report. Moves are summed by the database: what is held is a few numbers a game."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from arena.report.data import AgentReport, Cost, Manners, Opening, Report, Spread, Versus
from arena.store.assessments import JudgedPlay, judged_play
from arena.store.database import Database
from arena.store.first_tries import FirstTries, first_tries
from arena.store.models import AgentRow, AttemptRow, GameRow, MoveRow, RunRow
from arena.store.records import IMPORTED, OPENING
from arena.store.runs import find_run
from arena.tournament.elo import Estimate, head_to_head
from arena.tournament.ratings import Anchor, Pool, Rating, rate
from arena.tournament.record import plan_from
from arena.tournament.results import Decision, GameResult, decision_of, tally
from arena.tournament.results import select as select_games
from games import get_game
from games.base import UnknownGameError

SCORES = {"1-0": 1.0, "1/2-1/2": 0.5, "0-1": 0.0}
NOTHING = Estimate(None, None, None)


@dataclass(frozen=True, slots=True)
class _Finished:
    """A game that counts, as recorded."""

    result: GameResult
    termination: str
    opening: str | None
    plies: int


def collect(db: Database, run: int | str, *, title: str | None = None) -> Report:
    """The report of a run as it stands, finished or not; a tournament has its name and its anchor from its spec.

    Raises UsageError for an unknown run.
    """
    with db.reading() as session:
        row = find_run(session, run)
        anchor = None
        if row.content_hash is not None:
            spec = plan_from(row.config).spec
            title = title or spec.name
            anchor = Anchor(spec.anchor.name, spec.anchor.elo) if spec.anchor else None
        agents = session.scalars(select(AgentRow).where(AgentRow.run_id == row.id).order_by(AgentRow.id)).all()
        names = {agent.id: agent.name for agent in agents}
        finished = _finished(session, row.id, names)
        results = [game.result for game in finished]
        players = list(names.values())
        tables = [
            _Table(players, select_games(results, forfeits=forfeits, duplicates=duplicates), anchor)
            for forfeits, duplicates in ((True, True), (False, True), (True, False))
        ]
        judged = {str(judge): by_agent for judge, by_agent in judged_play(session, row.id).items()}
        reports = _agents(session, row, agents, finished, tables, judged)
        states = Counter(_states(session, row.id))
        rules = tuple(sorted(session.scalars(select(GameRow.game).where(GameRow.run_id == row.id).distinct())))
        scores = Counter(result.score for result in results)
        pools = tables[0].pools
        return Report(
            run_id=row.id,
            run=row.name,
            status=row.status,
            title=title or row.name,
            rules=rules,
            sides=_sides(rules),
            model=row.model,
            seed=row.seed,
            created_at=row.created_at,
            ended_at=row.ended_at,
            games=len(finished),
            void=states["void"],
            unfinished=states["unfinished"],
            alone=states["alone"],
            duplicates=sum(result.duplicate for result in results),
            forfeits=sum(result.decision is Decision.FORFEIT for result in results),
            moves=sum(report.cost.moves for report in reports),
            first_wins=scores[1.0],
            draws=scores[0.5],
            second_wins=scores[0.0],
            pools=len(pools),
            anchor=next((pool.anchor.player for pool in pools if pool.anchor), None),
            agents=reports,
            openings=_openings((game.opening, game.result.score) for game in finished if game.opening),
            first_moves=_openings(_first_moves(session, row.id)),
            terminations=_terminations(finished),
            lengths=tuple(game.plies for game in finished),
            judges=tuple(judged),
            environment=row.environment,
        )


class _Table:
    """Ratings of one reading of the games, by player."""

    def __init__(self, players: Sequence[str], games: Iterable[GameResult], anchor: Anchor | None) -> None:
        self.pools: tuple[Pool, ...] = rate(players, games, anchor)
        self.ratings: dict[str, Rating] = {rating.player: rating for pool in self.pools for rating in pool.ratings}
        self.pool = {name: number for number, pool in enumerate(self.pools, start=1) for name in pool.players}

    def elo(self, player: str) -> Estimate:
        return self.ratings[player].elo


def _finished(session: Session, run_id: int, names: Mapping[int, str]) -> list[_Finished]:
    rows = session.execute(
        select(
            GameRow.white_id,
            GameRow.black_id,
            GameRow.result,
            GameRow.pair,
            GameRow.termination,
            GameRow.duplicate_of,
            GameRow.opening,
            GameRow.plies,
        )
        .where(GameRow.run_id == run_id, GameRow.result.in_(SCORES), GameRow.void.is_(False))
        .where(GameRow.white_id != GameRow.black_id)
        .order_by(GameRow.schedule_index, GameRow.replay)
    )
    return [
        _Finished(
            GameResult(
                names[row.white_id],
                names[row.black_id],
                SCORES[row.result],
                row.pair,
                decision_of(row.termination),
                row.duplicate_of is not None,
            ),
            row.termination,
            row.opening,
            row.plies,
        )
        for row in rows
    ]


def _states(session: Session, run_id: int) -> Iterable[str]:
    """For each game that does not count: why."""
    columns = (GameRow.status, GameRow.void, GameRow.result, GameRow.white_id == GameRow.black_id, func.count())
    grouped = select(*columns).where(GameRow.run_id == run_id).group_by(*columns[:-1])
    for _, void, result, alone, count in session.execute(grouped):
        why = "void" if void else "unfinished" if result is None or result == "*" else "alone" if alone else None
        if why is not None:
            yield from [why] * count


def _agents(
    session: Session,
    run: RunRow,
    agents: Sequence[AgentRow],
    finished: Sequence[_Finished],
    tables: Sequence[_Table],
    judged: Mapping[str, Mapping[int, JudgedPlay]],
) -> tuple[AgentReport, ...]:
    tries = first_tries(session, run.id)
    costs = _costs(session, run.id)
    entropy = _latencies(session, run.id)
    attempts = _attempts(session, run.id)
    own: defaultdict[str, list[_Finished]] = defaultdict(list)
    for game in finished:
        own[game.result.white].append(game)
        own[game.result.black].append(game)
    order = [player for pool in tables[0].pools for player in pool.players]
    reports = []
    for agent in agents:
        games = [game.result for game in own[agent.name]]
        rating = tables[0].ratings[agent.name]
        samples = entropy.get(agent.id, _Samples())
        reports.append(
            AgentReport(
                name=agent.name,
                spec=agent.spec,
                settings=agent.settings,
                rank=order.index(agent.name) + 1,
                pool=tables[0].pool[agent.name],
                elo=rating.elo,
                elo_fixed=rating.fixed,
                elo_without_forfeits=tables[1].elo(agent.name),
                elo_without_duplicates=tables[2].elo(agent.name),
                tally=tally(games, agent.name),
                first=_versus("", [game for game in games if game.white == agent.name], agent.name),
                second=_versus("", [game for game in games if game.black == agent.name], agent.name),
                versus=_opponents(games, agent.name, [name for name in order if name != agent.name]),
                cost=Cost(*costs.get(agent.id, (0, 0, 0, 0, 0)), spread(samples.total_ms)),
                manners=_manners(
                    agent.name, own[agent.name], tries.get(agent.name), attempts.get(agent.id, {}), samples.entropy
                ),
                judged={judge: play[agent.id] for judge, play in judged.items() if agent.id in play},
            )
        )
    return tuple(sorted(reports, key=lambda report: report.rank))


def _opponents(games: Sequence[GameResult], player: str, others: Sequence[str]) -> tuple[Versus, ...]:
    by_opponent: defaultdict[str, list[GameResult]] = defaultdict(list)
    for game in games:
        by_opponent[game.black if game.white == player else game.white].append(game)
    return tuple(_versus(other, by_opponent[other], player) for other in others)


def _versus(opponent: str, games: Sequence[GameResult], player: str) -> Versus:
    """`player`'s counts over `games`, which are all its own; the Elo difference where there is one opponent."""
    scores = Counter(game.score_of(player) for game in games)
    elo = head_to_head(games, player, opponent).best.elo if opponent and games else None
    return Versus(opponent, scores[1.0], scores[0.5], scores[0.0], elo)


def _costs(session: Session, run_id: int) -> dict[int, tuple[int, int, int, int, int]]:
    """By agent: moves, and tokens prompted, cached, forwarded, generated."""
    tokens = (MoveRow.prompt_tokens, MoveRow.cached_tokens, MoveRow.forwarded_tokens, MoveRow.generated_tokens)
    grouped = (
        select(MoveRow.agent_id, func.count(), *(func.sum(column) for column in tokens))
        .join(GameRow, GameRow.id == MoveRow.game_id)
        .where(GameRow.run_id == run_id, MoveRow.policy != OPENING)
        .group_by(MoveRow.agent_id)
    )
    return {agent: tuple(map(int, counts)) for agent, *counts in session.execute(grouped)}  # type: ignore[misc]


class _Samples:
    """An agent's moves one by one: 8 bytes each."""

    def __init__(self) -> None:
        self.total_ms = array("d")
        self.drawn = 0
        self.bits = 0.0

    @property
    def entropy(self) -> float | None:
        return self.bits / self.drawn if self.drawn else None


def _latencies(session: Session, run_id: int) -> dict[int, _Samples]:
    found: defaultdict[int, _Samples] = defaultdict(_Samples)
    moves = (
        select(MoveRow.agent_id, MoveRow.total_ms, MoveRow.probability)
        .join(GameRow, GameRow.id == MoveRow.game_id)
        .where(GameRow.run_id == run_id, MoveRow.policy.not_in((OPENING, IMPORTED)))  # those are nobody's choice
        .execution_options(yield_per=10_000)
    )
    for agent_id, total_ms, probability in session.execute(moves):
        samples = found[agent_id]
        samples.total_ms.append(total_ms)
        if probability:
            samples.drawn += 1
            samples.bits -= log2(min(1.0, probability))
    return found


def spread(values: Sequence[float]) -> Spread | None:
    """None without values."""
    if not values:
        return None
    ordered = sorted(values)
    ranks = (ordered[ceil(len(ordered) * percent / 100) - 1] for percent in (5, 25, 50, 75, 95, 99))
    return Spread(len(ordered), sum(ordered) / len(ordered), *ranks)


def _attempts(session: Session, run_id: int) -> dict[int, Counter[tuple[bool, str | None]]]:
    """By agent: how many attempts there were, by whether they were the first at their ply, and by failure."""
    first = AttemptRow.number == 1
    grouped = (
        select(AttemptRow.agent_id, first, AttemptRow.failure, func.count())
        .join(GameRow, GameRow.id == AttemptRow.game_id)
        .where(GameRow.run_id == run_id)
        .group_by(AttemptRow.agent_id, first, AttemptRow.failure)
    )
    found: defaultdict[int, Counter[tuple[bool, str | None]]] = defaultdict(Counter)
    for agent_id, is_first, failure, count in session.execute(grouped):
        found[agent_id][bool(is_first), failure] = count
    return found


def _manners(
    name: str,
    games: Sequence[_Finished],
    tries: FirstTries | None,
    attempts: Mapping[tuple[bool, str | None], int],
    entropy: float | None,
) -> Manners:
    failures: Counter[str] = Counter()
    for (_, failure), count in attempts.items():
        if failure is not None:
            failures[failure] += count
    lost = (game for game in games if game.result.score_of(name) == 0 and game.result.decision is Decision.FORFEIT)
    return Manners(
        first_tries=tries,
        attempts=sum(attempts.values()),
        asked=sum(count for (is_first, _), count in attempts.items() if is_first),
        failures=dict(failures.most_common()),
        forfeits=dict(Counter(game.termination for game in lost).most_common()),
        entropy_bits=entropy,
    )


def _first_moves(session: Session, run_id: int) -> Iterable[tuple[str, float]]:
    first = (
        select(MoveRow.san, GameRow.result)
        .join(GameRow, GameRow.id == MoveRow.game_id)
        .where(GameRow.run_id == run_id, GameRow.opening.is_(None), MoveRow.ply == 1)
        .where(GameRow.result.in_(SCORES), GameRow.void.is_(False))
    )
    return ((san, SCORES[result]) for san, result in session.execute(first) if result is not None)


def _openings(games: Iterable[tuple[str | None, float]]) -> tuple[Opening, ...]:
    counts: defaultdict[str, Counter[float]] = defaultdict(Counter)
    for name, score in games:
        counts[name or ""][score] += 1
    found = (Opening(name, scores.total(), scores[1.0], scores[0.5], scores[0.0]) for name, scores in counts.items())
    return tuple(sorted(found, key=lambda opening: (-opening.games, opening.name)))


def _terminations(finished: Sequence[_Finished]) -> dict[str, tuple[int, int, int]]:
    """By termination: wins of the first player, draws, wins of the second."""
    counts: defaultdict[str, Counter[float]] = defaultdict(Counter)
    for game in finished:
        counts[game.termination][game.result.score] += 1
    ordered = sorted(counts.items(), key=lambda entry: (-entry[1].total(), entry[0]))
    return {name: (scores[1.0], scores[0.5], scores[0.0]) for name, scores in ordered}


def _sides(rules: Sequence[str]) -> tuple[str, str]:
    """Names of the sides, if the games agree on them."""
    found = set()
    for name in rules:
        try:
            sides = get_game(name).sides
        except UnknownGameError:  # rules that are not installed: the record can be read all the same
            return "First", "Second"
        found.add((sides["first"], sides["second"]))
    return found.pop() if len(found) == 1 else ("First", "Second")
