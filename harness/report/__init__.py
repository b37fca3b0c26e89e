"""A run as one document: self-contained HTML, or Markdown for a pull request.

The one importer of jinja2 and vl-convert. Both formats are filled from the same ``Report``.
"""

from harness.report.build import report
from harness.report.render import FORMATS, Format, render

__all__ = ["FORMATS", "Format", "render", "report"]
