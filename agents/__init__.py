"""Agents: each turns a position into a request and an answer into a move."""
