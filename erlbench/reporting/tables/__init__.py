"""The report's tables: each is a function from a comparison to a `documents.model.Table`."""
