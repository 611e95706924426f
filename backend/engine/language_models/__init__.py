"""Language models that answer one question at a time, with or without a picture.

chat_model     questions, answers and a cache of them, and the interface of all models
endpoint       a model behind an OpenAI-compatible server (vLLM, Ollama, LM Studio, paid ones)
sight          whether a model behind a server sees the pictures that it is asked about
spending       requests, their cost, and budgets
"""
