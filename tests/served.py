"""A run whose requests had tokens, with made-up times of serving engines, for what is computed from such a run."""

from dataclasses import replace

import numpy as np

import vinesim as vs
from vinesim.engine.simulate import result_of
from vinesim.model.batching import Batching
from vinesim.model.result import Serving
from vinesim.model.step_times import StepTime

S = 1e6


def served(**more):
    """Five requests of 10, 1, 11, 5 and 2 output tokens on two engines; the last never finishes.

    From arrival to first token they take 0.5, 1.5, 2.0, 0.5 and 3 s; between tokens 0.1, none, 0.2 and 0.5 s.
    """
    arrival_us = np.array([0.0, 1.0, 2.0, 3.0, 4.0]) * S
    output = np.array([10, 1, 11, 5, 2])
    first_us = arrival_us + np.array([0.5, 1.5, 2.0, 0.5, 3.0]) * S
    finish_us = first_us + np.array([0.9, 0.0, 2.0, 2.0, np.nan]) * S
    work = vs.Workload(
        np.zeros(5), np.arange(6), arrival_us, np.ones(5), *np.zeros((3, 5)), np.full(5, -1),
        task_types=(vs.TaskType("llama"),), input_tokens=[100, 50, 30, 20, 10], output_tokens=output,
        application=[0, 1, 0, 1, 1], application_names=("chat", "code"), **more,
    )  # fmt: skip
    gpu = vs.ProcessorType("GPU", batching=Batching(4, 64, 160, StepTime(100.0)))
    center = vs.Datacenter.of([("GPU", 1, 0), ("GPU", 0, 0)], (gpu,))
    scenario = vs.Scenario(center, work, affinity=[[1.0]])
    plain = vs.simulate(scenario, engine="reference")
    outcome = replace(
        plain.outcome,
        task_unit=np.array([0, 1, 0, 1, 0], np.int32),
        task_init_us=arrival_us,
        task_start_us=arrival_us,
        task_finish_us=finish_us,
        unit_order=np.array([0, 1]),  # as deployed, not by (rack, shelf)
        exit_reason=vs.ExitReason.HORIZON,
        end_us=10 * S,
        serving=Serving(
            scheduled_us=arrival_us + 0.25 * S,
            first_token_us=first_us,
            n_preemptions=np.array([0, 2, 0, 1, 0]),
            found_tokens=np.array([0, 32, 0, 16, 0]),
            memory_peak=np.array([80.0, 100.0]),
            memory_us=np.array([40.0, 50.0]) * S,
        ),
    )
    return scenario, result_of(scenario, outcome, lambda: plain.provenance)
