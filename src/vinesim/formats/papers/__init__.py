"""The text files of the VineSim papers."""
