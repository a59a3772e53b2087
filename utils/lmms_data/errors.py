"""What goes wrong with data: every error says the cause, and what to do about it."""

from __future__ import annotations


class DataError(Exception):
    """The data cannot be used; the message names cause and remedy. Trying again without the remedy is no use."""

    def __init__(self, cause: str, remedy: str = "") -> None:
        self.cause = cause
        self.remedy = remedy
        super().__init__(f"{cause}\n  What to do: {remedy}" if remedy else cause)

    def __reduce__(self) -> tuple[type[DataError], tuple[str, str]]:
        return type(self), (self.cause, self.remedy)


class SourceError(DataError):
    """The setting that says where data comes from is wrong, or nothing lies there."""


class DownloadError(DataError):
    """A download did not come to its end."""


class ArchiveError(DataError):
    """An archive of images is damaged, or lacks a member."""


class ImageError(DataError):
    """An image is damaged, cut off or too large."""


class RowsError(DataError):
    """Rows lack a column, or hold something that the benchmark does not allow."""
