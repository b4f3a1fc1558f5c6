"""A self-contained HTML page about a run or a sweep."""
