"""What each kind of step does: a function that takes :class:`isoglot.study.steps.Work` and returns numbers."""
