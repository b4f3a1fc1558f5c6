"""The figures, tables and statements of the Symphony paper."""
