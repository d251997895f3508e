"""The live screen as lines of text: a RunView and a size go in, exactly so many lines come out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from arena.live.board import PLAIN, Palette, board_lines, board_size
from arena.live.state import GameView, RunView

MARGIN = 2  # columns beside each board, at least; one of them to its left
ROW_WIDTH = 38  # columns of a game shown as one line
BOARD_TEXT = 2  # lines of text that come with each board


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the games go: the first `board_rows` * `columns` as boards of `cell` columns, the rest as rows."""

    columns: int
    board_rows: int
    cell: int
    row_columns: int

    @property
    def boards(self) -> int:
        return self.columns * self.board_rows


def fit(games: int, width: int, height: int, board: tuple[int, int]) -> Layout:
    """The layout with the most boards that still shows every game in `width` columns and `height` lines.

    If none shows all, one row of boards where it fits, and as many rows as there is room for. `board` is the
    size of one, in columns and lines, without its text.
    """
    columns = max(0, width // (board[0] + MARGIN))
    row_columns = max(1, width // ROW_WIDTH)
    lines = board[1] + BOARD_TEXT
    most = min(height // lines, -(-games // columns)) if columns else 0
    for board_rows in range(most, 0, -1):
        rest = games - board_rows * columns
        if rest <= 0 or -(-rest // row_columns) <= height - board_rows * lines:
            break
    else:
        board_rows = min(1, most)
    columns = min(columns, games) if board_rows else 0
    return Layout(columns, board_rows, width // columns if columns else 0, row_columns)


def render(view: RunView, width: int, height: int, palette: Palette = PLAIN) -> list[Text]:
    """The screen in at most `height` lines of at most `width` columns: header, games, notice, engine figures."""
    head = [_header(view, width)]
    foot = [_figures(view.figures, width)]
    if view.notice:
        foot.insert(0, _cut(Text(f" {view.notice}", "yellow"), width))
    room = max(0, height - len(head) - len(foot))
    body = _games(view.slots, width, room, palette) if view.slots else [Text(f" {view.waiting_for}", "dim")]
    if len(body) < room:
        body.insert(0, Text())
    body = body[:room]
    filler = [Text() for _ in range(room - len(body))]
    return [_cut(line, width) for line in (*head, *body, *filler, *foot)][:height]


def _games(games: Sequence[GameView], width: int, height: int, palette: Palette) -> list[Text]:
    sizes = {board_size(game.fen) for game in games}
    size = max(columns for columns, _ in sizes), max(lines for _, lines in sizes)
    layout = fit(len(games), width, height, size)
    rest = games[layout.boards :]
    rows = _rows(rest, layout.row_columns, width, height - layout.board_rows * (size[1] + BOARD_TEXT))
    spare = height - layout.board_rows * (size[1] + BOARD_TEXT) - len(rows)
    lines: list[Text] = []
    for row in range(layout.board_rows):
        here = games[row * layout.columns : (row + 1) * layout.columns]
        cells = [_cell(game, layout.cell, size[1], palette) for game in here]
        lines += [_side_by_side(parts, layout.cell) for parts in zip(*cells, strict=True)]
        if spare >= layout.board_rows:
            lines.append(Text())
    return lines + rows


def _cell(game: GameView, width: int, height: int, palette: Palette) -> list[Text]:
    """One game: who plays, the board, what happened last; text as wide as the board where that is enough. A board of
    less than `height` lines has empty ones below."""
    board = board_lines(game.game, game.fen, game.last_move, palette)
    below = [Text()] * (height - len(board))
    text = [_fitted(line, game, board_size(game.fen)[0], width - 1) for line in (_names, _status)]
    return [Text.assemble(" ", line) for line in (text[0], *board, text[1], *below)]


def _fitted(line: Callable[[GameView, int], Text], game: GameView, wanted: int, most: int) -> Text:
    """`line` in `wanted` columns if nothing of it is lost so, else in `most`."""
    narrow = line(game, wanted)
    return line(game, most) if "…" in narrow.plain.removeprefix(_move_number(game)) else narrow


def _rows(games: Sequence[GameView], columns: int, width: int, height: int) -> list[Text]:
    """Games as one line each, several side by side, with a last line for those that have no room."""
    fitting = len(games)
    if fitting > height * columns:
        fitting = max(0, (height - 1) * columns)
    cell = width // columns
    texts = []
    for game in games[:fitting]:
        names = _names(game, (cell - 1) // 2)
        texts.append(Text.assemble(" ", _pad(names, (cell - 1) // 2), " ", _status(game, (cell - 4) // 2)))
    lines = [_side_by_side(texts[at : at + columns], cell) for at in range(0, len(texts), columns)]
    if fitting < len(games) and height > 0:
        lines.append(Text(f" and {len(games) - fitting} more games", "dim"))
    return lines


def _names(game: GameView, width: int) -> Text:
    """`white – black`, the side to move standing out, or the winner."""
    ended = game.result is not None
    standing_out = {
        "1-0": ("bold green", "dim"),
        "0-1": ("dim", "bold green"),
        "1/2-1/2": ("", ""),
        "*": ("dim", "dim"),
    }
    if ended:
        white, black = standing_out[game.result or "*"]
    else:
        white, black = ("bold", "") if game.to_move == "first" else ("", "bold")
    half = max(1, (width - 3) // 2)
    left = _shorten(game.white, max(half, width - 3 - cell_len(game.black)))
    right = _shorten(game.black, max(1, width - 3 - cell_len(left)))
    return Text.assemble((left, white), (" – ", "dim"), (right, black), no_wrap=True)


def _status(game: GameView, width: int) -> Text:
    """The last move and the ply, or the result and how it came about."""
    if game.result is not None:
        shown = {"1/2-1/2": "½-½", "*": "void"}.get(game.result, game.result)
        style = "red" if game.termination.startswith(("forfeit", "crash", "infra", "time")) else "cyan"
        return _cut(Text.assemble((shown, "bold"), " ", (game.termination, style), no_wrap=True), width)
    if game.last_san is None:
        return _cut(Text("to begin", "dim"), width)
    move = f"{_move_number(game)} {game.last_san}"
    ply = f"ply {game.ply}"
    space = width - cell_len(move) - cell_len(ply)
    if space < 1:
        return _cut(Text(f"{move} {ply}"), width)
    return Text.assemble(move, " " * space, (ply, "dim"), no_wrap=True)


def _move_number(game: GameView) -> str:
    """The number of the last move as it is written: `12.` for the first player's, `12…` for the second's."""
    return f"{(game.ply + 1) // 2}{'.' if game.to_move == 'second' else '…'}"


def _header(view: RunView, width: int) -> Text:
    """Which run it is and how far, with as much of both as fits."""
    name = Text.assemble(" ", ("arena", "bold"), "  ", (view.name, "bold cyan"), no_wrap=True)
    if not view.name:  # the run has not begun
        return _cut(name, width)
    seed = Text.assemble(name, ("" if view.seed is None else f"  seed {view.seed}", "dim"))
    model = Text.assemble(seed, (f"  {view.model}" if view.model else "", "dim"))
    void = f", {view.void} void" if view.void else ""
    clock = f"  {view.moves} moves  {clock_text(view.seconds)} "
    long = f"{view.done}/{view.games} games done, {view.playing} playing{void}{clock}"
    short = f"{view.done}/{view.games} games{clock}"
    if view.seconds_left is not None:
        left = f"(about {clock_text(view.seconds_left)} left) "
        long, short = long + left, short + left
    for what, how_far in ((model, long), (seed, long), (seed, short), (name, short)):
        space = width - what.cell_len - cell_len(how_far)
        if space > 0:
            return Text.assemble(what, " " * space, how_far, no_wrap=True)
    return _cut(name, width)


def figures_line(figures: Mapping[str, float], *, short: bool = False) -> str:
    """The engine's figures in one line; of a run without an engine only the moves a second."""
    value = {name: float(number) for name, number in figures.items()}
    parts = [f"{value['moves_per_s']:.1f} moves/s"]
    if "running" in value:
        p50, p95 = f"{value['ttft_p50_ms']:.0f}", f"{value['ttft_p95_ms']:.0f}"
        pages = f"{value['pages_total'] - value['pages_free']:.0f}/{value['pages_total']:.0f}"
        parts += [
            f"{'run' if short else 'running'} {value['running']:.0f}",
            f"queue {value['waiting']:.0f}",
            f"TTFT {p50}/{p95} ms" if short else f"TTFT p50 {p50} p95 {p95} ms",
            f"hit {value['hit_rate']:.0%}" if short else f"cache hit {value['hit_rate']:.1%}",
            f"KV {pages}" if short else f"KV pages {pages}",
        ]
    return (" · " if short else "  ·  ").join(parts)


def _figures(figures: Mapping[str, float] | None, width: int) -> Text:
    if figures is None:
        return Text()
    text = figures_line(figures)
    if cell_len(text) + 1 > width:
        text = figures_line(figures, short=True)
    return _cut(Text(f" {text}", "green"), width)


def clock_text(seconds: float) -> str:
    """`4:05`, or `1:04:05` from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _side_by_side(parts: Sequence[Text], cell: int) -> Text:
    return Text.assemble(*(_pad(part, cell) for part in parts), no_wrap=True)


def _pad(text: Text, width: int) -> Text:
    return Text.assemble(text, " " * max(0, width - text.cell_len))


def _cut(text: Text, width: int) -> Text:
    text.truncate(max(0, width), overflow="ellipsis")
    return text


def _shorten(name: str, width: int) -> str:
    """`name` in at most `width` columns, with its number kept: `Careful-12` becomes `Car…-12`."""
    if cell_len(name) <= width:
        return name
    head, dash, number = name.rpartition("-")
    tail = dash + number if dash and number.isdecimal() and len(number) + 3 <= width else ""
    return set_cell_size(head if tail else name, max(0, width - 1 - len(tail))) + "…" + tail
