"""Your own policy: vinesim run examples/quickstart.yaml --policy examples/my_policy.py:Patient"""

from vinesim.policies import OnlinePolicy, first_free, nothing, oldest_pending, preferred_type, start


class Patient(OnlinePolicy):
    """The oldest task waits for a unit of its preferred type, and all tasks behind it wait too."""

    groups = ("preferred_type",)

    @staticmethod
    def decide(model, state, view):
        task = oldest_pending(model, state)
        unit = first_free(model, state, task, preferred_type(model, state, task))
        return start(task, unit) if unit >= 0 else nothing()
