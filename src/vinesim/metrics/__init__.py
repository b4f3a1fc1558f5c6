"""Turn the columns of a run into tables and numbers."""
