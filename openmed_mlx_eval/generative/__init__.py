"""generative: a language model as tagger. Prompt → tagged text → spans, with every answer and every tag accounted for.

Its front door is `run_generative` in `running`; `alignment` and `evalscope` are pure and need no model.
"""
