"""Does the simulation tell the truth? A live cluster of three local nodes beside the simulation of what it recorded."""
