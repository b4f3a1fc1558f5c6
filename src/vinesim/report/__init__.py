"""A self-contained HTML page, and the one about a run."""
