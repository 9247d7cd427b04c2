"""How cold and how warm a model is: fresh processes, steady state, single documents, and the machine they ran on.

A fresh process of `cold` imports this package too, so nothing is imported here.
"""
