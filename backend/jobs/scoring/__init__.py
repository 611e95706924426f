"""Scores of a dataset: which stages, by which processes, and what is stored.

score_dataset, estimate   a whole run, and what it will take
stage, trajectory_stages, captioner_stages, suggest, vectors, detect   its stages
noisy_copies, classifiers, replace_ranking   what probabilities of error come from
workers, image_batches, dataset_models, dataset_pairs, phrase_attribution   what computes it
known_pictures            whether the model knows such pictures
stored_rows, stored_claims   between the engine's values and the store's rows
"""
