"""Climbs from rung to rung: `climb` is a generator that yields `requests` and does no I/O itself,
`keys` is the rung of the exit keys, `turns` waits for the end of a turn, `prompts` gives a prompt,
`execute` serves many ladders in one loop."""
