"""Answers as text: `report` prints a result, `formatters` has a formatter for each type of answer,
`receipt` and `table` draw, `progress` shows how far an ending is."""
