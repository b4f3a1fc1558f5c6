"""Plans: the search for the best choices within limits, by runs in the store of a sweep."""
