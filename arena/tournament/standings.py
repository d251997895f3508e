"""The table of a tournament as its record stands, while it is played and after."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from arena.store.database import Database
from arena.store.models import GameRow
from arena.store.runs import agent_names
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

UNKNOWN = Estimate(None, None, None)


@dataclass(frozen=True, slots=True)
class Standing:
    """An agent's line. `points` include those of byes; `elo` counts all games, `elo_on_board` leaves forfeits out and
    `elo_distinct` games that repeat another. `forfeits` are its losses without the board deciding, by termination;
    `void` tries counted for nobody, `unfinished` games are scheduled or being played. `pool` numbers, from 1, those
    who can be compared."""

    player: str
    points: float
    tally: Tally
    elo: Estimate
    elo_on_board: Estimate
    elo_distinct: Estimate
    pool: int
    forfeits: Mapping[str, int]
    void: int
    unfinished: int
    byes: int


@dataclass(frozen=True, slots=True)
class Standings:
    """A tournament as it stands: `games` have a result, of `planned` in all, or at most. `note` says in a sentence what
    a table does not: who is in front of a knockout, what a test accepted."""

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
    table: tuple[Standing, ...]
    note: str

    @property
    def pools(self) -> int:
        return len({line.pool for line in self.table})


@dataclass(slots=True)
class _Found:
    """What the games of the record come to."""

    results: list[GameResult]
    forfeits: defaultdict[str, Counter[str]]
    void: Counter[str]
    unfinished: Counter[str]


def standings(db: Database, run: int | str | None = None) -> Standings:
    """The table of a tournament by its run's id or name; None: of the newest. Raises UsageError."""
    with db.reading() as session:
        row = find_tournament(session, run)
        run_id = row.id
        plan = plan_from(row.config)
        found = _found(session, row.id)
    players = plan.spec.players
    choice = plan.spec.anchor
    anchor = Anchor(choice.name, choice.elo) if choice else None
    all_games = _by_player(rate(players, found.results, anchor))
    on_board = distinct = all_games
    if found.forfeits:
        on_board = _by_player(rate(players, select_games(found.results, forfeits=False), anchor))
    if any(result.duplicate for result in found.results):
        distinct = _by_player(rate(players, select_games(found.results, duplicates=False), anchor))
    schedule = plan.schedule(scores(last_tries(db, run_id))) if _needs_schedule(plan) else None
    byes = Counter(bye.player for done in schedule.played for bye in done.stage.byes) if schedule else Counter[str]()
    bye_points = plan.spec.games_per_pair if plan.spec.format == "swiss" else 0
    tallies = _tallies(found.results, players)
    lines = [
        Standing(
            player=player,
            points=tallies[player].points + byes[player] * bye_points,
            tally=tallies[player],
            elo=all_games[player][1],
            elo_on_board=on_board[player][1],
            elo_distinct=distinct[player][1],
            pool=all_games[player][0],
            forfeits=dict(sorted(found.forfeits[player].items())),
            void=found.void[player],
            unfinished=found.unfinished[player],
            byes=byes[player],
        )
        for player in players
    ]
    return Standings(
        run_id=run_id,
        run=row.name,
        name=plan.spec.name,
        format=plan.spec.format,
        status=row.status,
        games=len(found.results),
        planned=plan.format.most_games(),
        forfeits=sum(result.decision is Decision.FORFEIT for result in found.results),
        duplicates=sum(result.duplicate for result in found.results),
        anchor=anchor,
        table=tuple(_ordered(lines, plan, schedule)),
        note=_note(plan, schedule) if schedule else "",
    )


def _found(session: Session, run_id: int) -> _Found:
    names = agent_names(session, run_id)
    found = _Found([], defaultdict(Counter), Counter(), Counter())
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
        if result is None or void:
            (found.void if void else found.unfinished).update((white, black))
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


def _ordered(lines: list[Standing], plan: Plan, schedule: Schedule | None) -> list[Standing]:
    """Best first: by points where all play the same games, by rating elsewhere; in a knockout who is still in first."""
    if plan.spec.format in ("gauntlet", "sprt"):
        return sorted(lines, key=lambda line: (line.pool, -_rank(line.elo)))
    still_in: tuple[str, ...] = ()
    if schedule and isinstance(plan.format, Knockout):
        still_in = plan.format.standing(schedule.played)
    return sorted(lines, key=lambda line: (line.player not in still_in, -line.points, -_rank(line.elo)))


def _rank(elo: Estimate) -> float:
    known = [value for value in (elo.value, elo.low, elo.high) if value is not None]
    return known[0] if known else float("-inf")


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
