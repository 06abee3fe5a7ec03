"""Gradient steps: task functions, and the updates of critics and actors they are made of. Torch begins here."""
