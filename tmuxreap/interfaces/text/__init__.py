"""Answers for people: `report` tells a result, `voices` has a voice for each type of answer,
`receipt` and `table` draw, `progress` tells how far an ending is."""
