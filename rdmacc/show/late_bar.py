"""A progress bar that appears late, so that short runs do not show one."""

import time
from typing import Any


class LateBar:
    """A tqdm progress bar that is created after a delay."""

    def __init__(self, total: float, delay_s: float, **options: Any) -> None:
        self.total, self.n, self.text = total, 0.0, ""
        self._begin, self._options = time.time(), options
        self._due, self._bar = self._begin + delay_s, None  # type: tuple[float, Any]

    @property
    def is_due(self) -> bool:
        """Whether the delay is over."""
        return time.time() >= self._due

    def update(self, more: float, text: str = "") -> None:
        """Report progress, with a new text in front of the bar."""
        self.n, self.text = self.n + more, text
        if self._bar is None and self.is_due:
            from rdmacc.show.bar import Bar

            self._bar = Bar(total=self.total, **self._options)
            self._bar.start_t = self._begin
        if self._bar is not None:
            if text:
                self._bar.set_description_str(text, refresh=False)
            self._bar.update(self.n - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
