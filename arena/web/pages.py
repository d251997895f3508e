"""The pages, one function each: what is asked of the record, and the template that shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.responses import JSONResponse, RedirectResponse, Response

from arena.errors import StoreError, UsageError
from arena.printable import printable, shortened
from arena.replay.pages import page_data
from arena.replay.prompts import recorded_replay
from arena.replay.saved import saved_file
from arena.replay.text import replay_text
from arena.store.queries import GameLine, game_detail, list_games, list_runs, run_summary
from arena.store.watching import boards, choices, engine_samples, neighbours, picture, run_line
from arena.web.answers import MAX_NAME, ending, number_of, page, run_key, run_of
from arena.web.charts import HEIGHT, LEFT, RIGHT, WIDTH, engine_charts
from arena.web.standings import standings
from arena.web.stream import ENDED_SHOWN, board_json
from games import get_game
from games.base import InvalidPositionError, UnknownGameError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from arena.store.database import Database
    from arena.web.record import Record

GAMES_A_PAGE = 50
RUNS_A_PAGE = 50
MAX_CHOICES = 200
MAX_PROBLEM = 500
CHART_SAMPLES = 480
RESULTS = ("1-0", "0-1", "1/2-1/2", "*")
FILTERS = ("run", "agent", "result", "termination")

PICTURE_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
"""A picture opened by itself may bring its own styles, and nothing else."""


class Pages:
    """Answers from one record. Starlette runs each method in a thread, since the database blocks."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def home(self, request: Request) -> Response:
        with self._record.reading() as db:
            runs = list_runs(db)
        before = _before(request)
        older = [run for run in runs if before is None or run.run_id < before]
        shown = older[:RUNS_A_PAGE]
        more = shown[-1].run_id if len(older) > len(shown) else None
        return page(request, "runs.html", runs=shown, more=more)

    def games(self, request: Request) -> Response:
        filters = {name: request.query_params.get(name, "").strip() for name in FILTERS}
        before = _before(request)
        problem, found = "", []
        with self._record.reading() as db:
            known = choices(db, most=MAX_CHOICES)
            runs = list_runs(db)[:MAX_CHOICES]
            try:
                found = _filtered(db, filters, before)
            except UsageError as error:
                problem = printable(shortened(str(error), MAX_PROBLEM))
        shown = found[:GAMES_A_PAGE]
        more = {**filters, "before": str(shown[-1].game_id)} if len(found) > len(shown) else None
        return page(
            request,
            "games.html",
            404 if problem else 200,
            games=[(game, ending(game, game.game)) for game in shown],
            filters=filters,
            # A name that does not print as it is cannot be offered as text to send back.
            agents=[name for name in known.agents if name.isprintable() and len(name) <= MAX_NAME],
            terminations=known.terminations,
            runs=runs,
            results=RESULTS,
            problem=problem,
            before=before,
            more="/games?" + urlencode({name: value for name, value in more.items() if value}) if more else None,
        )

    def run(self, request: Request) -> Response:
        with self._record.reading() as db:
            run = run_line(db, run_of(request))
            summary = run_summary(db, run.run_id)
            games = list_games(db, run=run.run_id, limit=GAMES_A_PAGE + 1)
        shown = games[:GAMES_A_PAGE]
        return page(
            request,
            "run.html",
            run=run,
            summary=summary,
            games=[(game, ending(game, game.game)) for game in shown],
            more=f"/games?run={run.run_id}&before={shown[-1].game_id}" if len(games) > len(shown) else None,
        )

    def live(self, request: Request) -> Response:
        with self._record.reading() as db:
            run = run_line(db, run_of(request))
            shown = boards(db, run.run_id, ended=ENDED_SHOWN)
        return page(request, "live.html", run=run, boards=[board_json(board) for board in shown])

    def standings(self, request: Request) -> Response:
        with_forfeits = request.query_params.get("forfeits") != "0"
        with self._record.reading() as db:
            run = run_line(db, run_of(request))
            table = standings(db, run.run_id, with_forfeits=with_forfeits)
        return page(request, "standings.html", run=run, table=table, with_forfeits=with_forfeits)

    def engine(self, request: Request) -> Response:
        with self._record.reading() as db:
            run = run_line(db, run_of(request))
            samples = engine_samples(db, run.run_id, most=CHART_SAMPLES)
        geometry = {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT}
        return page(request, "engine.html", run=run, charts=engine_charts(samples), **geometry)

    def game(self, request: Request) -> Response:
        game_id = number_of(request, "game")
        with self._record.reading() as db:
            detail = game_detail(db, game_id)
        replay = recorded_replay(detail)
        return page(request, "game.html", replay=replay, text=replay_text(replay))

    def game_json(self, request: Request) -> Response:
        game_id = number_of(request, "game")
        with self._record.reading() as db:
            detail = game_detail(db, game_id)
            older, newer = neighbours(db, detail)
        links = {"index": f"/games?run={detail.run_id}"}
        links |= {"previous": f"/games/{older}"} if older else {}
        links |= {"next": f"/games/{newer}"} if newer else {}
        replay = recorded_replay(detail)
        return JSONResponse(page_data(replay, saved=dict([saved_file(detail, replay)]), links=links))

    def board(self, request: Request) -> Response:
        """The board after `?ply=N` (the last, if left out), from the other side with `?flip=1`, as a picture."""
        game_id = number_of(request, "game")
        asked = request.query_params.get("ply")
        ply = None if asked is None else number_of(request, "ply", asked)
        with self._record.reading() as db:
            shown = picture(db, game_id, ply)
        from games.pictures import board_svg

        try:
            position = get_game(shown.game).position(shown.fen)
            svg = board_svg(position, last_move=shown.move, flip=request.query_params.get("flip") == "1")
        except (UnknownGameError, InvalidPositionError, ValueError) as error:
            raise StoreError(f"game {game_id} cannot be drawn from the record: {error}") from error
        return Response(svg, media_type="image/svg+xml", headers=PICTURE_HEADERS)

    def newest(self, request: Request) -> Response:
        """`/live`: the boards of the newest run."""
        with self._record.reading() as db:
            runs = list_runs(db)
        if not runs:
            raise UsageError("no run is recorded yet")
        return RedirectResponse(f"/runs/{runs[0].run_id}/live", 307)


def _filtered(db: Database, filters: Mapping[str, str], before: int | None) -> list[GameLine]:
    """One game more than a page holds. Raises UsageError for a run or an agent that is not in the record."""
    run = run_key(filters["run"]) if filters["run"] else None
    if filters["run"] and run is None:
        raise UsageError(f"there is no run {shortened(filters['run'], MAX_NAME)}")
    rest = {name: filters[name] or None for name in FILTERS if name != "run"}
    return list_games(db, run=run, **rest, before=before, limit=GAMES_A_PAGE + 1)


def _before(request: Request) -> int | None:
    asked = request.query_params.get("before", "")
    return number_of(request, "before", asked) if asked else None
