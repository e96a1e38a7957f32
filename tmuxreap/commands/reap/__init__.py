"""Who is to be reaped, and why: `candidates` might be stalled, idle or expired, `verdicts` judges,
`children` and `leftovers` tell what an agent began and what ended sessions left."""
