"""What verdicts and scores say in numbers; pure functions of plain records.

stopping      how many errors remain below the point that the queue has reached
thresholds    from which score on a pair is what the score says
calibration   precision of the flagged, calibration, errors over time
agreement     how far curators agree, chance-corrected
disagreement  how far scorers differ about a pair
"""
