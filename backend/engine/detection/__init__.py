"""From a trajectory to a probability of error and to suspect words (TRACED §3.3, §4.3, A.4).

features       a trajectory as a row of fixed length
models         the classifiers among which cross-validation chooses, and how they are stored
classifier     choice, calibration, prediction
cold_start     a detector without any label: injected noise, cross-fitted
retrain        verdicts beside injected noise
localisation   which words make the caption wrong
types          what detection says about one pair
"""
