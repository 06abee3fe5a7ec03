"""The attack campaign: random trials that may harm a run in every way that the suite promises to survive."""
