"""Does the simulation tell the truth? A live cluster of three local nodes compared with the simulation of what it
recorded."""
