"""The progress bar of long work, which goes on if it cannot be shown."""

from typing import Any

from tqdm.auto import tqdm


class Bar(tqdm):  # type: ignore[type-arg]
    """A tqdm progress bar that vanishes if there is no standard error, or none that can be written."""

    def display(self, *given: Any, **by_name: Any) -> Any:
        """Show the bar, for the last time after an error."""
        try:
            return super().display(*given, **by_name)
        except (OSError, AttributeError):  # a full disk, a reader that has gone; a process without standard error
            self.disable = True
