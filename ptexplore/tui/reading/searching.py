"""Search while the reader types: one thread with connections of its own; what is no longer asked for is dropped."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from ptexplore.errors import PtexploreError

if TYPE_CHECKING:
    from ptexplore.tui.library import Library
    from ptexplore.view.search.find import HitGroup, Sort

# The number of the question, groups so far, whether that is all, trouble.
Heard = Callable[[int, "list[HitGroup]", bool, str], object]


class Searcher:
    """Answers the last question asked. `close` when nobody asks any more."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._own: Library | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._last = 0

    @property
    def indexed(self) -> bool:
        """Whether there is any tree to search."""
        return bool(self._library.trees)

    def ask(self, query: str, sort: Sort, heard: Heard) -> Future[None]:
        """Search; `heard` is called in the thread, after each sort, as long as nothing else was asked meanwhile."""
        self._last += 1
        return self._pool.submit(self._answer, self._last, query, sort, heard)

    @property
    def last(self) -> int:
        """The number of the last question."""
        return self._last

    def _answer(self, number: int, query: str, sort: Sort, heard: Heard) -> None:
        from ptexplore.view.search.find import hits

        groups: list[HitGroup] = []
        try:
            if number == self._last:
                own = self._opened()
                for group in hits(own.trees, own.catalogue, own.noted, query, sort, lambda: number != self._last):
                    if number != self._last:
                        return
                    groups.append(group)
                    heard(number, groups[:], False, "")
        except PtexploreError as error:
            heard(number, groups, True, f"{error.message}: {error.why}" if error.why else error.message)
            return
        if number == self._last:
            heard(number, groups, True, "")

    def warm(self) -> None:
        """Read what every question needs, before the first one."""
        self._pool.submit(self._warm)

    def _warm(self) -> None:
        with contextlib.suppress(PtexploreError):  # whoever asks is told
            own = self._opened()
            for one in own.trees:
                one.store.search("abc", 1)
                one.store.files_like("abc", 1)
            _ = own.noted, own.catalogue

    def _opened(self) -> Library:
        if self._own is None:
            self._own = self._library.apart()
        return self._own

    def close(self) -> None:
        """Wait for nothing; the connections go with the thread's last answer."""
        self._last += 1
        self._pool.shutdown(wait=False, cancel_futures=True)
        if self._own is not None:
            own, self._own = self._own, None
            del own
