"""One self-contained page about a run or a sweep."""
