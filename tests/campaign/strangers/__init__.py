"""Folders from others: attacks on what their texts mean. A finding is a module's function that makes an `Attack`.

`place.py` has what is promised of every command, whatever the attack; `trial.py` lists the findings.
"""
