"""What a comparison says: cases by one rule (docs/how-we-decide.md), words, and `verdict.json`."""
