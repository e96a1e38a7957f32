"""Answers for people: `report` chooses, `receipt` and `table` draw, `progress` tells how far an
ending is."""
