"""From a trajectory to a probability of error and to suspect words (TRACED §3.3, §4.3, A.4).

features       a trajectory as a row of fixed length
families       the candidate classifiers for cross-validation, and their serialisation
classifier     model selection, calibration, prediction
cold_start     a detector trained without labels, on injected noise, cross-fitted
verdict_learning  updating a cold start by verdicts, and comparing the result with what is in use
localisation   which words make the caption wrong
word_weights   weights of the word signs, fitted on injected noise
reasons        contributions of the signs to a pair's probability
types          the result of detection for one pair
"""
