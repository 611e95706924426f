"""Language models that answer one question at a time, with or without a picture.

question       questions, answers, and the interface that all models implement
endpoint       a model behind an OpenAI-compatible server (vLLM, Ollama, LM Studio, paid ones)
local          a vision-language model from a directory or the hub, in this process
answer_cache   a cache of answers by question, so that nothing is paid for twice
spending       requests, their cost, and budgets
"""
