"""Many runs: studies expanded, run, kept and compared."""
