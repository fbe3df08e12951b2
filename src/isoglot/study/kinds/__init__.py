"""The functions of the kinds of steps: each takes :class:`isoglot.study.steps.Work` and returns numbers."""
