"""How kernels are compiled: the only package that knows Numba's insides.

Numba is given plain functions. Here is what VineSim changes in how it compiles them, each with its reason:
``reference`` passes a hundred arrays as one pointer, ``parts`` links functions into one kernel and optimises it once,
``calls`` calls a function at an address, ``intrinsics`` are instructions that Python has no word for, ``disk`` keeps
machine code. ``machine_code`` names it without importing the compiler. tests/unit/jit tells which of them a new release
of Numba breaks.
"""
