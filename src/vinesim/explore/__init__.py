"""``vinesim explore``: a page with a scenario's controls, and charts that follow them."""
