"""Many runs: studies are expanded, run, stored and compared."""
