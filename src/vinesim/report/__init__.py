"""Self-contained HTML pages, and the page of a run."""
