"""One game to step through."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer, Static

from arena.clocks import clock_text
from arena.errors import ArenaError
from arena.printable import printable
from arena.replay.terminal.board import ply_board
from arena.replay.terminal.detail import move_detail
from arena.replay.terminal.export import ExportScreen
from arena.replay.terminal.latency import LatencyStrip
from arena.replay.terminal.moves import MoveList, PlyChosen
from arena.replay.terminal.record import Record
from arena.replay.viewmodel import Replay

if TYPE_CHECKING:
    from arena.replay.terminal.app import ReplayApp

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
FIXED_S = 1.0
"""How long a ply stands at fixed speed × 1."""

SHORTEST_S = 0.04
FOLLOW_S = 1.0
"""How often a game that is being played is looked at again."""

SCROLLED_LINES = 5
LARGE_LINES = 41
"""Lines of a terminal from which on a chess board is drawn large."""


class GameScreen(Screen[None]):
    """Shows `replay` after ply `ply`. A game that is being played is followed, as long as the last ply is shown."""

    app: ReplayApp
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "ply", key_display="← →"),
        Binding("right", "step(1)", "on", show=False),
        Binding("home", "jump(0)", "start", show=False),
        Binding("end", "end", "end", show=False),
        Binding("space", "play", "play"),
        Binding("plus,equals_sign", "speed(1)", "speed", key_display="+ -"),
        Binding("minus", "speed(-1)", "slower", show=False),
        Binding("down,pagedown", "scroll(1)", "details", show=False),
        Binding("up,pageup", "scroll(-1)", "details", show=False),
        Binding("r", "recorded", "real time"),
        Binding("f", "flip", "flip"),
        Binding("a", "ascii", "ASCII"),
        Binding("n", "neighbour(1)", "game", key_display="n p"),
        Binding("p", "neighbour(-1)", "previous", show=False),
        Binding("e", "export", "export"),
        Binding("slash", "search", "search", key_display="/"),
        Binding("escape", "app.pop_screen", "list"),
    ]

    def __init__(self, record: Record, replay: Replay, *, ascii_only: bool, flip: bool) -> None:
        super().__init__()
        self._record = record
        self.replay = replay
        self.ply = replay.last if replay.live else 0
        self.flip = flip
        self.ascii_only = ascii_only
        self.speed = SPEEDS.index(1.0)
        self.recorded = False
        self._playing: Timer | None = None

    @property
    def playing(self) -> bool:
        """Whether it steps on by itself."""
        return self._playing is not None

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        with Horizontal(id="middle"):
            with Vertical(id="left"):
                yield Static(id="above")
                yield Static(id="board")
                yield Static(id="below")
                yield Static(id="status")
            yield MoveList()
            with VerticalScroll(id="detail", can_focus=False):
                yield Static(id="facts")
        yield LatencyStrip()
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(MoveList).show_game(self.replay)
        self.set_interval(FOLLOW_S, self._follow)
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        self._draw()

    def show(self, ply: int) -> None:
        """Shows the game after a ply; those that there are not become the nearest."""
        self.ply = min(max(ply, 0), self.replay.last)
        self.query_one("#detail", VerticalScroll).scroll_home(animate=False)
        if self.ply == self.replay.last:
            self._pause()
        self._draw()

    def action_step(self, plies: int) -> None:
        self.show(self.ply + plies)

    def action_scroll(self, steps: int) -> None:
        """Moves what is told about the move by some of its lines."""
        self.query_one("#detail", VerticalScroll).scroll_relative(y=steps * SCROLLED_LINES, animate=False)

    def action_jump(self, ply: int) -> None:
        self.show(ply)

    def action_end(self) -> None:
        self.show(self.replay.last)

    def action_play(self) -> None:
        if self.playing:
            self._pause()
        elif self.replay.last > 0:
            if self.ply == self.replay.last:
                self.ply = 0
            self._wait()
        self._draw()

    def action_speed(self, steps: int) -> None:
        self.speed = min(max(self.speed + steps, 0), len(SPEEDS) - 1)
        self._again()

    def action_recorded(self) -> None:
        self.recorded = not self.recorded
        self._again()

    def action_flip(self) -> None:
        self.flip = self.app.flip = not self.flip
        self._draw()

    def action_ascii(self) -> None:
        self.ascii_only = self.app.ascii_only = not self.ascii_only
        self._draw()

    async def action_neighbour(self, steps: int) -> None:
        await self.app.open_neighbour(self.replay.game_id, steps)

    async def action_search(self) -> None:
        await self.app.search()

    def action_export(self) -> None:
        self.app.push_screen(ExportScreen(self._record, self.replay, self.ply, flip=self.flip))

    def on_ply_chosen(self, event: PlyChosen) -> None:
        self.show(event.ply)

    def on_mouse_scroll_down(self) -> None:
        self.action_step(1)

    def on_mouse_scroll_up(self) -> None:
        self.action_step(-1)

    def _again(self) -> None:
        """A new speed holds at once."""
        if self.playing:
            self._pause()
            self._wait()
        self._draw()

    def _pause(self) -> None:
        if self._playing is not None:
            self._playing.stop()
            self._playing = None

    def _wait(self) -> None:
        """Steps on once the next move's time has passed."""
        self._playing = self.set_timer(self.wait_s(), self._step_on)

    def wait_s(self) -> float:
        """How long the ply that is shown stands while playing."""
        chosen = self.replay.plies[min(self.ply + 1, self.replay.last)].chosen
        took = FIXED_S
        if self.recorded and chosen is not None and chosen.latency is not None:
            took = chosen.latency.total_ms / 1000
        return max(took / SPEEDS[self.speed], SHORTEST_S)

    def _step_on(self) -> None:
        if self.playing:
            self.show(self.ply + 1)
        if self.playing:
            self._wait()

    async def _follow(self) -> None:
        """Looks whether more has been played."""
        if not self.replay.live:
            return
        try:
            newer = await self._record.replay(self.replay.game_id)
        except ArenaError as error:
            self.app.complain(error)
            return
        if newer == self.replay:
            return
        at_the_end = self.ply == self.replay.last
        self.replay = newer
        self.query_one(MoveList).show_game(newer)
        self.show(newer.last if at_the_end else self.ply)

    def _draw(self) -> None:
        replay, ply = self.replay, self.replay.plies[self.ply]
        large = self.app.size.height >= LARGE_LINES
        board = ply_board(replay.board, replay.rules, ply, flip=self.flip, ascii_only=self.ascii_only, large=large)
        below, above = (1, 0) if self.flip else (0, 1)
        self.query_one("#title", Static).update(self._title())
        self.query_one("#board", Static).update(board)
        self.query_one("#above", Static).update(self._player(above))
        self.query_one("#below", Static).update(self._player(below))
        self.query_one("#status", Static).update(self._status())
        self.query_one("#facts", Static).update(move_detail(replay, ply))
        self.query_one(MoveList).mark(self.ply)
        times = tuple(ply.chosen.latency if ply.chosen else None for ply in replay.plies[1:])
        self.query_one(LatencyStrip).show_times(times, self.ply, ascii_only=self.ascii_only)

    def _title(self) -> Text:
        replay = self.replay
        line = Text(no_wrap=True, overflow="ellipsis").append(f" game {replay.game_id} ", "bold reverse")
        if replay.status == "playing":
            line.append(" LIVE ", "bold white on red")
        line.append(f"  {printable(replay.title)}  ", "bold").append(printable(replay.ending))
        return line.append("  " + printable(" · ".join(f"{name} {value}" for name, value in replay.facts)), "dim")

    def _player(self, index: int) -> Text:
        """Whose side it is, who plays it, and the clock; the side to move has a mark."""
        player, ply = self.replay.players[index], self.replay.plies[self.ply]
        to_move = (ply.to_move == "first") == (index == 0)
        line = Text("> " if to_move else "  ", no_wrap=True, overflow="ellipsis")
        line.append(player.side, "bold" if to_move else "dim").append(f"  {printable(player.name)}")
        if ply.clocks_ms is not None:
            line.append("   ").append(f" {clock_text(ply.clocks_ms[index])} ", "reverse" if to_move else "")
        return line

    def _status(self) -> Text:
        replay = self.replay
        ply = replay.plies[self.ply]
        line = Text(f"  ply {self.ply} of {replay.last}", no_wrap=True)
        line.append("  check" if ply.check else "", "bold red")
        kind = "recorded speed" if self.recorded else "fixed speed"
        return line.append(f"   {'playing' if self.playing else 'paused'}, {kind} x {SPEEDS[self.speed]:g}", "dim")
