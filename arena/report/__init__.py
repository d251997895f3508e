"""The report of a recorded run: what it says is collected once, and written as HTML, Markdown, CSV and JSON."""
