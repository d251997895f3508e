"""A report's files in a folder."""

from __future__ import annotations

from pathlib import Path

from arena.errors import UsageError
from arena.report.data import Report
from arena.report.html import to_html
from arena.report.markdown import to_markdown
from arena.report.tables import crosstable_csv, standings_csv, to_json

FILES = {
    "report.html": to_html,
    "report.md": to_markdown,
    "standings.csv": standings_csv,
    "crosstable.csv": crosstable_csv,
    "report.json": to_json,
}


def write_report(report: Report, folder: Path) -> list[Path]:
    """Writes the FILES into `folder`, which is made if it is missing; files of these names are replaced.

    Raises UsageError if `folder` cannot be written to.
    """
    texts = {name: to_text(report) for name, to_text in FILES.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"cannot write a report to {folder}: {error.strerror}") from error
    return [folder / name for name in texts]
