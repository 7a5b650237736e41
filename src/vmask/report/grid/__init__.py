"""A report of any grid, from its result files alone."""

from vmask.report.grid.report import GridReport
from vmask.report.grid.results import GridResults, Measurement, Setting
from vmask.report.grid.table import Entry, Row, Table

__all__ = ["Entry", "GridReport", "GridResults", "Measurement", "Row", "Setting", "Table"]
