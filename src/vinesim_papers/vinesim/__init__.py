"""The figures, tables and statements of the VineSim papers."""
