"""The table of a run as its record stands, while it is played and after: of a tournament, or of any other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from arena.errors import StoreError
from arena.store.database import Database
from arena.store.models import GameRow, RunRow
from arena.store.runs import agent_names, find_run
from arena.store.stages import find_tournament, last_tries
from arena.tournament.elo import Estimate
from arena.tournament.formats.base import Schedule
from arena.tournament.formats.knockout import Knockout
from arena.tournament.formats.sequential import Sequential
from arena.tournament.formats.swiss import Swiss
from arena.tournament.plan import Plan
from arena.tournament.ratings import Anchor, Pool, rate
from arena.tournament.record import WHITE_SCORES, plan_from, scores
from arena.tournament.results import Decision, GameResult, Tally, decision_of, tally
from arena.tournament.results import select as select_games


@dataclass(frozen=True, slots=True)
class Standing:
    """An agent's line. `points` include those of byes; `elo` counts all games, `elo_on_board` leaves forfeits out and
    `elo_distinct` games that repeat another. `forfeits` are its losses without the board deciding, by termination;
    `void` tries counted for nobody, `unfinished` games are scheduled or being played. `pool` numbers, from 1, those
    who can be compared by `elo`, `pool_on_board` those by `elo_on_board`."""

    player: str
    points: float
    tally: Tally
    elo: Estimate
    elo_on_board: Estimate
    elo_distinct: Estimate
    pool: int
    pool_on_board: int
    forfeits: Mapping[str, int]
    void: int
    unfinished: int
    byes: int


@dataclass(frozen=True, slots=True)
class Standings:
    """A run as it stands: `games` have a result, of `planned` in all, or at most. Where it is no tournament, `format`
    is empty and there is no `anchor`; where not `anchored`, the anchor has only a bound, which carries no scale. `note`
    says in a sentence what a table does not: who is in front of a knockout, what a test accepted."""

    run_id: int
    run: str
    name: str
    format: str
    status: str
    games: int
    planned: int
    forfeits: int
    duplicates: int
    anchor: Anchor | None
    anchored: bool
    table: tuple[Standing, ...]
    note: str

    @property
    def pools(self) -> int:
        return len({line.pool for line in self.table})


@dataclass(slots=True)
class _Found:
    """What the games of the record come to."""

    players: Sequence[str]
    results: list[GameResult]
    forfeits: defaultdict[str, Counter[str]]
    void: Counter[str]
    unfinished: Counter[str]


def standings(db: Database, run: int | str | None = None) -> Standings:
    """The table of a tournament by its run's id or name; None: of the newest. Raises UsageError."""
    with db.reading() as session:
        return _standings(db, session, find_tournament(session, run))


def standings_of_any(db: Database, run: int | str) -> Standings:
    """The table of a run, tournament or not. Raises UsageError for an unknown one, StoreError for a record whose pairs
    do not fit together."""
    with db.reading() as session:
        return _standings(db, session, find_run(session, run))


def _standings(db: Database, session: Session, row: RunRow) -> Standings:
    plan = plan_from(row.config) if row.content_hash is not None else None
    choice = plan.spec.anchor if plan else None
    anchor = Anchor(choice.name, choice.elo) if choice else None
    found = _found(session, row.id)
    try:
        pools = rate(found.players, found.results, anchor)
        all_games = on_board = distinct = _by_player(pools)
        if found.forfeits:
            on_board = _by_player(rate(found.players, select_games(found.results, forfeits=False), anchor))
        if any(result.duplicate for result in found.results):
            distinct = _by_player(rate(found.players, select_games(found.results, duplicates=False), anchor))
    except ValueError as error:
        raise StoreError(f"run {row.name} cannot be rated from the record: {error}") from error
    schedule = plan.schedule(scores(last_tries(db, row.id))) if plan and _needs_schedule(plan) else None
    byes = Counter(bye.player for done in schedule.played for bye in done.stage.byes) if schedule else Counter[str]()
    bye_points = plan.spec.games_per_pair if plan and plan.spec.format == "swiss" else 0
    tallies = _tallies(found.results, found.players)
    lines = [
        Standing(
            player=player,
            points=tallies[player].points + byes[player] * bye_points,
            tally=tallies[player],
            elo=all_games[player][1],
            elo_on_board=on_board[player][1],
            elo_distinct=distinct[player][1],
            pool=all_games[player][0],
            pool_on_board=on_board[player][0],
            forfeits=dict(sorted(found.forfeits[player].items())),
            void=found.void[player],
            unfinished=found.unfinished[player],
            byes=byes[player],
        )
        for player in found.players
    ]
    return Standings(
        run_id=row.id,
        run=row.name,
        name=plan.spec.name if plan else row.name,
        format=plan.spec.format if plan else "",
        status=row.status,
        games=len(found.results),
        planned=plan.format.most_games() if plan else _scheduled(session, row.id),
        forfeits=sum(result.decision is Decision.FORFEIT for result in found.results),
        duplicates=sum(result.duplicate for result in found.results),
        anchor=anchor,
        anchored=any(pool.anchor for pool in pools),
        table=tuple(_ordered(lines, pools, plan, schedule)),
        note=_note(plan, schedule) if plan and schedule else "",
    )


def _found(session: Session, run_id: int) -> _Found:
    names = agent_names(session, run_id)
    found = _Found(tuple(names.values()), [], defaultdict(Counter), Counter(), Counter())
    query = (
        select(
            GameRow.result,
            GameRow.termination,
            GameRow.void,
            GameRow.white_id,
            GameRow.black_id,
            GameRow.pair,
            GameRow.duplicate_of,
        )
        .where(GameRow.run_id == run_id)
        .order_by(GameRow.id)
    )
    rows = session.connection().execute(query)  # without the session's own bookkeeping, which costs more than the rest
    for result, termination, void, white_id, black_id, pair, same in rows:
        white, black = names[white_id], names[black_id]
        if void or result not in WHITE_SCORES:
            (found.void if void else found.unfinished).update((white, black))
            continue
        if white == black:  # an imported game of somebody against himself
            continue
        termination, score = termination or "", WHITE_SCORES[result]
        decision = decision_of(termination)
        found.results.append(GameResult(white, black, score, pair, decision, same is not None))
        if decision is Decision.FORFEIT:
            found.forfeits[black if score == 1 else white][termination] += 1
    return found


def _tallies(results: Iterable[GameResult], players: Sequence[str]) -> dict[str, Tally]:
    own: defaultdict[str, list[GameResult]] = defaultdict(list)
    for result in results:
        own[result.white].append(result)
        own[result.black].append(result)
    return {player: tally(own[player], player) for player in players}


def _by_player(pools: Sequence[Pool]) -> dict[str, tuple[int, Estimate]]:
    return {
        rating.player: (number, rating.elo) for number, pool in enumerate(pools, start=1) for rating in pool.ratings
    }


def _needs_schedule(plan: Plan) -> bool:
    """Whether the table depends on what the format makes of the results."""
    return isinstance(plan.format, Swiss | Knockout | Sequential)


def _ordered(
    lines: list[Standing], pools: Sequence[Pool], plan: Plan | None, schedule: Schedule | None
) -> list[Standing]:
    """Best first: by points where all play the same games, by rating elsewhere; in a knockout who is still in first."""
    by_rating = [player for pool in pools for player in pool.players]
    place = {player: number for number, player in enumerate(by_rating)}
    if plan is None or plan.spec.format in ("gauntlet", "sprt"):
        return sorted(lines, key=lambda line: place[line.player])
    still_in: tuple[str, ...] = ()
    if schedule and isinstance(plan.format, Knockout):
        still_in = plan.format.standing(schedule.played)
    return sorted(lines, key=lambda line: (line.player not in still_in, -line.points, place[line.player]))


def _scheduled(session: Session, run_id: int) -> int:
    query = select(func.count(GameRow.schedule_index.distinct())).where(GameRow.run_id == run_id)
    return session.scalar(query) or 0


def _note(plan: Plan, schedule: Schedule) -> str:
    match plan.format:
        case Knockout():
            left = plan.format.standing(schedule.played)
            return f"{left[0]} has won." if len(left) == 1 else f"Still in: {', '.join(left)}."
        case Sequential():
            verdict, counts = plan.format.verdict(schedule.played)
            test = plan.format.test
            low, high = test.bounds
            llr = f"log-likelihood ratio {test.llr(counts):+.2f} of {low:+.2f} to {high:+.2f}" if counts.units else ""
            accepted = {"H0": test.elo0, "H1": test.elo1}
            if verdict is not None:
                return f"The test accepts {verdict}: {accepted[verdict]:+g} Elo ({llr})."
            return f"The test has not decided{f': {llr}' if llr else ''}."
        case Swiss():
            last = max((game.round for game in schedule.games), default=0)
            return f"Round {last} of {plan.format.rounds}."
    return ""
