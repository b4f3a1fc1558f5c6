"""The figures, tables and statements of the energy-aware scheduler thesis."""
