"""How far a review has come, and whether it may stop.

stopping    how many errors remain below the point that the queue has reached, from a random
            sample, with its interval
figures     pace, precision, calibration: what the verdicts so far say
"""
