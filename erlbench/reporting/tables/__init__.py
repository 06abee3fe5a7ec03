"""The report's tables: each is a function from the cells of a page to a `documents.model.Table`."""
