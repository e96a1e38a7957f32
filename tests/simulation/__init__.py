"""The simulation: the whole program on simulated servers, processes, clock, disk and ledger.

`history` draws what happens from a seed, `world`, `people` and `other_tools` play it with their
`lives`, `actors` run the commands and break them, `promises` judges by the world's own truth,
`shrink` finds what a failure needs.
`scripts/simulate` runs it by hand; docs/reports/simulation.md shows what it finds."""
