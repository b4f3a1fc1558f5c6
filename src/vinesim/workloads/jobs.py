"""Jobs with sizes from a distribution, of users who work in sessions."""

import numpy as np

from vinesim.model.catalog import code_of
from vinesim.model.errors import InputError, Problem
from vinesim.model.streams import stream
from vinesim.model.workload import Workload
from vinesim.workloads.assemble import MAX_TASKS, assemble, check_counts
from vinesim.workloads.distributions import Constant, Distribution
from vinesim.workloads.setting import Setting

MAX_USERS = 1_000_000


def jobs(
    setting: Setting,
    *,
    n_jobs: int,
    sizes: Distribution,
    tasks_per_job: Distribution = Constant(1.0),
    task_type: str | None = None,
    preferred: str | None = None,
    demand: Distribution | None = None,
    n_users: int = 1,
    user_skew: float = 0.0,
    jobs_per_session: float = 1.0,
    user_correlation: float = 0.0,
    session_correlation: float = 0.0,
) -> Workload:
    """``n_jobs`` jobs whose sizes, numbers of tasks and demands are drawn from distributions.

    ``sizes`` are the operations of a task, the same for all tasks of a job; a time means us on a unit of speed 1.
    ``tasks_per_job`` is rounded up to a whole number of 1 or more. ``task_type`` is the scenario's first by default.
    ``demand`` is a part of a unit's capacity. With several users, each is an application; the share of user k is
    proportional to k to the power of -``user_skew``. A user's jobs come in sessions of ``jobs_per_session`` jobs on
    average (geometric). Sizes within a user and within a session are correlated: the correlations are those of normal
    scores (Gaussian copula), so the distribution of all sizes does not change.
    """
    check_counts(n_jobs=n_jobs)
    _check(n_users, user_skew, jobs_per_session, user_correlation, session_correlation)
    user = _users(n_jobs, n_users, user_skew, stream(setting.seed, "users"))
    if user_correlation or session_correlation:
        session = _sessions(user, jobs_per_session, stream(setting.seed, "sessions"))
        rng = setting.sizes()
        score = np.sqrt(user_correlation) * rng.standard_normal(n_users)[user]
        score += np.sqrt(session_correlation) * rng.standard_normal(n_jobs)[session]
        score += np.sqrt(1.0 - user_correlation - session_correlation) * rng.standard_normal(n_jobs)
        size = sizes.quantile(_normal_shares(score))
    else:
        size = sizes.draw(n_jobs, setting.sizes())
    count = np.maximum(np.ceil(tasks_per_job.draw(n_jobs, stream(setting.seed, "tasks"))), 1.0)
    if count.sum() > MAX_TASKS:
        raise InputError([Problem(("tasks_per_job",), f"at most {MAX_TASKS:,} tasks in all", f"{count.sum():,.0f}")])
    n_tasks = count.astype(np.int64)
    taken = None if demand is None else np.repeat(demand.draw(n_jobs, stream(setting.seed, "demands")), n_tasks)
    code = 0 if task_type is None else code_of(("task_type",), task_type, setting.task_types)
    return assemble(
        n_tasks,
        np.full(n_jobs, code),
        np.repeat(size, n_tasks),
        preferred=preferred,
        demand=taken,
        application=user if n_users > 1 else None,
        application_names=[f"U{k + 1}" for k in range(n_users)] if n_users > 1 else (),
        **setting.common(),
    )


def _check(n_users: int, user_skew: float, per_session: float, of_user: float, of_session: float) -> None:
    problems = []
    if not 1 <= n_users <= MAX_USERS:
        problems.append(Problem(("n_users",), f"a whole number, 1 to {MAX_USERS:,}", f"{n_users}"))
    if not 0 <= user_skew <= 100:
        problems.append(Problem(("user_skew",), "a number from 0 to 100", f"{user_skew:g}"))
    if not 1 <= per_session <= 1e9:
        problems.append(Problem(("jobs_per_session",), "a mean of 1 or more", f"{per_session:g}"))
    for name, value in (("user_correlation", of_user), ("session_correlation", of_session)):
        if not 0 <= value <= 1:
            problems.append(Problem(name, "a number from 0 to 1", f"{value:g}"))
    if not problems and of_user + of_session > 1:
        found = f"{of_user:g} + {of_session:g}"
        problems.append(Problem(("user_correlation",), "at most 1 with session_correlation", found))
    if of_session > 0 and per_session == 1:
        remedy = "Give jobs_per_session above 1."
        problems.append(Problem(("session_correlation",), "sessions of several jobs", "sessions of one job", remedy))
    if user_skew > 0 and n_users == 1:
        problems.append(Problem(("user_skew",), "several users", "one user", "Give n_users above 1."))
    if problems:
        raise InputError(problems)


def _users(n_jobs: int, n_users: int, skew: float, rng: np.random.Generator) -> np.ndarray:
    """Return the user of each job, [J] int64."""
    if n_users == 1:
        return np.zeros(n_jobs, np.int64)
    ends = np.cumsum(np.arange(1, n_users + 1) ** -skew)
    return np.minimum(np.searchsorted(ends, rng.random(n_jobs) * ends[-1], side="right"), n_users - 1)


def _sessions(user: np.ndarray, jobs_per_session: float, rng: np.random.Generator) -> np.ndarray:
    """Return the session of each job, [J] int64. No two users share a session number."""
    order = np.argsort(user, kind="stable")
    is_first = rng.random(len(user)) < 1.0 / jobs_per_session
    is_first[1:] |= user[order][1:] != user[order][:-1]
    is_first[0] = True
    session = np.empty(len(user), np.int64)
    session[order] = np.cumsum(is_first) - 1
    return session


def _normal_shares(score: np.ndarray) -> np.ndarray:
    """Return the standard normal distribution function, kept below 1."""
    from scipy.special import ndtr

    return np.minimum(ndtr(score), np.nextafter(1.0, 0.0))
