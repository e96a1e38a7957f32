"""Climbs from rung to rung: `climb` is a generator that asks (`requests`) and does nothing itself,
`keys` the rung of the exit keys, `turns` the wait for the end of a turn, `execute` answers many
ladders in one loop."""
