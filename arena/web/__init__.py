"""The record in a browser: runs, games, replays, live boards, standings, the engine's figures. Read-only."""
