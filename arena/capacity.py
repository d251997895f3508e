"""Capacity planning: how many games a KV cache holds, and how many keep an engine busy. Arithmetic only.

What a request costs beyond the weights is its KV: 2 (K and V) x layers x KV heads x head_dim numbers a token, for all
of its context. Three techniques keep the contexts of many games, each better than the one before:

    reserved whole        [system|game A ......................][system|game B ......................]
    in pages              [syst][em|g][ame ][A  ]   [syst][em|g][ame ][B  ]
    shared once           [syst] -+- [em|g][ame ][A  ]
                                  +- [em|g][ame ][B  ]

A *place* is the memory of one token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MIB = 2**20


@dataclass(frozen=True, slots=True)
class Context:
    """What a game keeps, in tokens: `shared` is what the contexts of all games begin with, `own` what follows.
    Raises ValueError for a game without tokens."""

    shared: int
    own: int

    def __post_init__(self) -> None:
        if self.shared < 0 or self.own < 1:
            raise ValueError(f"a game keeps 0 or more shared tokens and at least 1 of its own, not {self}")

    @property
    def tokens(self) -> int:
        return self.shared + self.own


@dataclass(frozen=True, slots=True)
class Layout:
    """Where games keep their contexts: `common` places once for all of them, all with a token in them, and `each`
    places for every game, `each_tokens` of which hold one."""

    common: int
    each: int
    each_tokens: int

    def places(self, games: int) -> int:
        """Places that so many games take."""
        return self.common + games * self.each if games else 0

    def games_in(self, places: int) -> int:
        """How many games fit in so many places."""
        return max(0, (places - self.common) // self.each)

    def empty(self, games: int) -> float:
        """Share of their places that hold no token; 0 without games."""
        return 1 - (self.common + games * self.each_tokens) / self.places(games) if games else 0.0

    def copied(self, games: int, context: Context) -> float:
        """Share of their places whose token another place holds as well; 0 without games."""
        if not games:
            return 0.0
        return (self.common + games * self.each_tokens - context.shared - games * context.own) / self.places(games)


def reserved(context: Context, context_length: int) -> Layout:
    """Every game has the model's whole context set aside, contiguously. Raises ValueError if a game is longer."""
    if context.tokens > context_length:
        raise ValueError(f"a game of {context.tokens:,} tokens exceeds the model's context of {context_length:,}")
    return Layout(common=0, each=context_length, each_tokens=context.tokens)


def paged(context: Context, page_size: int) -> Layout:
    """Every game has pages of its own, as many as its tokens need."""
    return Layout(common=0, each=_in_pages(context.tokens, page_size), each_tokens=context.tokens)


def shared_once(context: Context, page_size: int) -> Layout:
    """Pages that are the same in all games are held once. Where the shared prefix ends inside a page, each game has a
    copy of that page's part, and goes on in it."""
    common = context.shared // page_size * page_size
    own = context.tokens - common
    return Layout(common=common, each=_in_pages(own, page_size), each_tokens=own)


def _in_pages(tokens: int, page_size: int) -> int:
    return -(-tokens // page_size) * page_size


@dataclass(frozen=True, slots=True)
class Worth:
    """What a technique makes of the KV memory. `games` fit at once, each with `game_bytes` of its own; `alone_bytes` is
    what one takes that plays alone, and `needed_bytes` what those take that were asked for, None if none were.

    Of the memory that `counted` games take (those asked for, or all that fit), `empty` is the share without a token,
    `copied` the share whose tokens are held elsewhere too.
    """

    technique: str
    kv: str
    game_bytes: int
    alone_bytes: int
    games: int
    counted: int
    empty: float
    copied: float
    needed_bytes: int | None


@dataclass(frozen=True, slots=True)
class Pool:
    """The memory of a KV cache: `kv_bytes`, in pages of `page_size` tokens of `token_bytes` each."""

    kv: str
    token_bytes: int
    page_size: int
    kv_bytes: int

    @property
    def page_bytes(self) -> int:
        return self.token_bytes * self.page_size

    @property
    def pages(self) -> int:
        """Whole pages; what is left over cannot be used."""
        return self.kv_bytes // self.page_bytes

    @property
    def tokens(self) -> int:
        return self.pages * self.page_size


def worth(technique: str, layout: Layout, context: Context, pool: Pool, asked: int | None) -> Worth:
    """What `layout` makes of `pool`; `asked` is how many games are to fit, None: as many as do."""
    games = layout.games_in(pool.tokens)
    counted = games if asked is None else asked
    return Worth(
        technique=technique,
        kv=pool.kv,
        game_bytes=layout.each * pool.token_bytes,
        alone_bytes=layout.places(1) * pool.token_bytes,
        games=games,
        counted=counted,
        empty=layout.empty(counted),
        copied=layout.copied(counted, context),
        needed_bytes=None if asked is None else layout.places(asked) * pool.token_bytes,
    )


@dataclass(frozen=True, slots=True)
class Flow:
    """Moves through an engine: `rate` a second, each `latency_s` seconds from question to answer, on the mean."""

    rate: float
    latency_s: float

    @property
    def in_flight(self) -> float:
        """Requests at the engine at a time, on the mean, by Little's law: rate x latency, whatever the order in which
        they are served (Little, Operations Research 9, 1961)."""
        return self.rate * self.latency_s

    @property
    def games(self) -> int:
        """Games that keep so many requests in flight: each has one at a time, for the side to move."""
        return max(1, math.ceil(self.in_flight - 1e-9))
