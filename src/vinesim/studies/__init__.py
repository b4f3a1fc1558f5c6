"""Many runs: expand studies into runs, do the runs, store them and compare them."""
