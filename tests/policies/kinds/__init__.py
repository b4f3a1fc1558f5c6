"""One small policy of each kind that the contract allows: test objects, and examples to start from."""
