"""Scheduling for heterogeneous systems in accelerator-rich environments (RBSS): its tables, figures and statements."""
