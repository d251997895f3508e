"""What a follower of the database tells, look by look."""

from __future__ import annotations

from datetime import timedelta

from arena.live.follow import MAX_ENDED, Follower
from arena.mqtt.messages import GameState, Move, RunStatus


def told(follower):
    """What one look tells: (games, done, void) of the run, then `(game, ply)` of moves and `(game, ply, result)`."""
    status, *updates = follower.poll()
    assert isinstance(status, RunStatus)
    rest = [
        (update.game_id, update.ply) if isinstance(update, Move) else (update.game_id, update.ply, update.result)
        for update in updates
        if isinstance(update, Move | GameState)
    ]
    return (status.games, status.done, status.void), rest


def test_each_look_tells_what_is_new(database, scribe):
    run = scribe(games=3)
    follower = Follower(database)
    run.start(1, ["e2e4"])
    assert told(follower) == ((3, 0, 0), [(1, 1, None)])
    run.write(run.played(1, "e7e5"), run.played(1, "g1f3"))
    run.start(2)
    assert told(follower) == ((3, 0, 0), [(1, 2), (1, 3), (2, 0, None)])
    run.write(run.ended(1, "1-0", "time"))
    assert told(follower) == ((3, 1, 0), [(1, 3, "1-0")])
    assert told(follower) == ((3, 1, 0), [])


def test_game_that_begins_and_ends_between_two_looks_is_told(database, scribe):
    run = scribe(games=2)
    follower = Follower(database)
    follower.poll()
    run.play_out(1)
    assert told(follower) == ((2, 1, 0), [(1, 4, "0-1")])
    assert told(follower) == ((2, 1, 0), [])


def test_game_whose_end_reaches_the_record_late_is_told(database, scribe):
    run = scribe(games=2)
    follower = Follower(database)
    run.start(1)
    run.start(2)
    run.write(run.ended(1, "1-0", "time"))
    follower.poll()
    end = run.ended(2, "0-1", "time")
    run.write(end.model_copy(update={"at": end.at - timedelta(seconds=20)}))
    assert told(follower) == ((2, 2, 0), [(2, 0, "0-1")])


def test_of_the_games_that_ended_before_the_first_look_only_the_last_are_told(database, scribe):
    run = scribe(games=MAX_ENDED + 3)
    for game in range(1, MAX_ENDED + 4):
        run.play_out(game, [], "1-0", "time")
    _, games = told(Follower(database, run.run.run_id))
    assert [game for game, _, _ in games] == list(range(4, MAX_ENDED + 4))


def test_void_games_are_counted_apart(database, scribe):
    run = scribe(games=2)
    run.play_out(1, [], "*", "infrastructure", void=True)
    assert told(Follower(database))[0] == (2, 0, 1)
