"""Statistics of verdicts and scores; pure functions of plain records.

stopping      estimate of the errors remaining below the point that the queue has reached
calibration   precision of the flagged pairs, calibration, errors over time
agreement     chance-corrected agreement between curators
disagreement  how far scorers differ about a pair
"""
