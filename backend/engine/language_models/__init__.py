"""Language models that answer one question at a time, with or without a picture.

chat_model  questions, answers and a cache of them, and the interface of all models
asking      limits, the picture as it is sent, a second question after an unreadable answer
answers     answers, read strictly
spending    requests, their cost, and budgets

Models themselves are of features and packages (the group `chat_models`).
"""
