"""How kernels are compiled. This is the only package that relies on Numba's internals.

Kernels are plain Python functions. The modules here change how Numba compiles them, and each gives its reason:
``reference`` passes a hundred arrays as one pointer, ``parts`` links functions into one kernel and optimises it once,
``calls`` calls a function at an address, ``intrinsics`` are instructions that Python lacks, and ``disk`` keeps machine
code. ``machine_code`` names that code without importing the compiler. The tests in tests/unit/jit show which of these
modules a new release of Numba breaks.
"""
