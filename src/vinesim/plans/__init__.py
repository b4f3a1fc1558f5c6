"""Plans: search for the best choices within limits; the runs are kept in the folder of a sweep."""
