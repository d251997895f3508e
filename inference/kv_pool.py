"""The pages of the KV cache: who may use which. Pure bookkeeping, no tensors."""

from __future__ import annotations


class OutOfPages(Exception):
    """No page is free and none can be evicted."""


class PagePool:
    """Numbers of free pages.

    Owns every page that is not handed out. Page 0 is the null page and never handed out; `total` does not count it.
    Invariant: a page is free or handed out, never both and never twice.
    """

    def __init__(self, total: int) -> None:
        if total < 1:
            raise ValueError(f"the KV pool needs at least 1 page, not {total}")
        self.total = total
        # Lowest numbers first, so that the pages of a prompt computed at one go are neighbours.
        self._free = list(range(total, 0, -1))
        self._is_free = [False] + [True] * total

    @property
    def free(self) -> int:
        return len(self._free)

    def take(self) -> int:
        """A free page. Raises OutOfPages."""
        if not self._free:
            raise OutOfPages
        page = self._free.pop()
        self._is_free[page] = False
        return page

    def give_back(self, page: int) -> None:
        """Raises ValueError for a page that is not handed out."""
        if not 0 < page <= self.total or self._is_free[page]:
            raise ValueError(f"page {page} is not handed out")
        self._is_free[page] = True
        self._free.append(page)

    def check_invariants(self) -> None:
        assert len(set(self._free)) == len(self._free) == sum(self._is_free)
        assert all(self._is_free[page] for page in self._free)
