"""The arrays of the policy, by name: what is known before the run, and what the policy keeps during it.

Sizes follow from the scenario: N nodes, in sets of W integers (``node_sets.py``), K types of GPUs, P partitions, R
requests, J jobs, H holders of limits, M components of G heterogeneous jobs.
"""

BEFORE = {
    # nodes, in Slurm's order
    "node_cpus": "i8",  # [N]
    "node_memory": "f8",  # [N] MiB
    "node_kinds": "i8",  # [N K] GPUs of each type; CPUs for each partition with MaxCPUsPerNode
    "node_weight": "i8",  # [N] rank of its weight, 0 first
    "n_weights": "i8",
    "n_kinds": "i8",
    "n_gpu_kinds": "i8",
    "feature_nodes": "i8",  # [F W] which nodes have what a constraint requires, and are not excluded
    "named_nodes": "i8",  # [L W] lists of nodes that jobs name (--nodelist)
    "node_leaf": "i8",  # [N] the leaf switch of each node
    "n_leaves": "i8",  # 0: there are no switches
    "switch_nodes": "i8",  # [switches W] the nodes below each switch, the lowest level first
    "switch_level": "i8",  # [switches]
    # partitions
    "part_nodes": "i8",  # [P W]
    "part_tier": "i8",  # [P]
    "part_least_loaded": "?",  # [P] LLN
    "part_cpus_kind": "i8",  # [P] which of the K columns counts the CPUs that its jobs may have of a node; -1: all
    # classes of jobs for preemption: partitions, or QOS
    "job_class": "i8",  # [J] its QOS; -1: the partition that it runs in
    "class_may": "?",  # [C C] whether jobs of one class may preempt those of another
    "class_preempt": "i8",  # [C] what happens to its jobs if they are preempted
    "class_rank": "i8",  # [C] the lowest is preempted first
    "class_level": "i8",  # [C] its jobs may take the cores of lower levels
    "class_spared": "i8",  # [C] the level as which its jobs count for others
    "class_grace_us": "f8",  # [C] how long its jobs continue before they are preempted
    "n_levels": "i8",  # L; 0: nobody is suspended
    "job_exempt_us": "f8",  # [J] how long it runs before it may be preempted
    # requests: jobs with equal requests share one
    "request_cpus": "i8",  # [R] over all nodes
    "request_step": "i8",  # [R] CPUs of a task
    "request_per_node": "i8",  # [R] CPUs at each node; 0: any number
    "request_least": "i8",  # [R] nodes
    "request_most": "i8",
    "request_is_serial": "?",  # [R] whether it is one CPU, taken on the last node with room
    "request_cpu_memory": "f8",  # [R] MiB of each CPU
    "request_node_memory": "f8",  # [R] MiB of each node; -1: all
    "request_kind": "i8",  # [R] the type of its GPUs, or NO_KIND or ANY_KIND
    "request_gpus": "i8",  # [R] at each node
    "request_exclusive": "?",  # [R]
    "request_by_node": "?",  # [R] the engine has one task for each node; otherwise one for each step
    "request_features": "i8",  # [R] of feature_nodes
    "request_named": "i8",  # [R] of named_nodes
    "request_n_named": "i8",  # [R] how many nodes it names
    "request_switches": "i8",  # [R] the most leaf switches that it wants; 0: any number
    "request_switch_wait": "f8",  # [R] how long it waits for them, s
    "request_size": "i8",  # [R] of size_cpus
    "size_cpus": "i8",  # [S] the fewest CPUs that jobs of a size need at each of their nodes
    # jobs
    "job_request": "i8",  # [J]
    "job_number": "i8",
    "job_first_part": "i8",  # [J + 1] of job_part
    "job_part": "i8",
    "part_share": "f8",  # per entry of job_part: what partition and resources add to the priority
    "size_share": "f8",  # [J] what its size adds to the priority
    "association_share": "f8",  # [J] what its association adds
    "qos_share": "f8",  # [J] what its QOS adds
    "job_nice": "f8",
    "job_known_us": "f8",  # [J] when the scheduler receives it
    "job_from_us": "f8",  # [J] its earliest time of eligibility; infinite: never
    "job_limit_us": "f8",  # backfill may shorten it
    "job_least_us": "f8",  # [J] the shortest limit that it may get
    "job_ran_us": "f8",  # [J] how long it has run when it arrives, on nodes that it holds; -1: it is not running
    "job_waited_us": "f8",  # [J] how long it has already been eligible when it arrives
    "job_first_on": "i8",  # [J + 1] of on_node, on_cpus
    "on_node": "i8",
    "on_cpus": "i8",
    "job_reservation": "i8",
    "job_user": "i8",
    "job_association": "i8",
    "job_requeue": "?",
    "job_failed": "?",
    "job_array": "i8",
    "job_throttle": "i8",
    "job_first_dependency": "i8",  # [J + 1]
    "dependency_kind": "i8",
    "dependency_job": "i8",
    "job_is_awaited": "?",  # [J] whether other jobs depend on it
    "job_tres": "f8",  # [J 5] the amounts that limits count of it now
    "job_counted": "i8",  # the entry of job_part for which these are its request; -1: none
    "part_tres": "f8",  # [.. 5] per entry of job_part: the amounts that limits count while it waits
    "part_never": "?",  # per entry of job_part: whether it breaks a limit by itself there
    "part_case": "i8",  # per entry of job_part: the limits in force there
    "job_denied": "?",  # [J] whether a QOS refuses it because it breaks a limit by itself
    "job_batch": "i8",  # [J] the first job of its array, whose jobs are all submitted or refused
    "job_first_licence": "i8",  # [J + 1] of job_licence
    "job_licence": "i8",
    "job_n_licences": "f8",
    # heterogeneous jobs: G jobs with M components in all; those of a job start at once
    "job_member": "i8",  # [J] its index among the components; -1: it is none
    "member_job": "i8",  # [M] the components of a job are consecutive
    "member_group": "i8",  # [M]
    "group_first": "i8",  # [G + 1] of member_job
    # limits: of associations, QOS, and QOS with a user or account, in C cases with I holders in all
    "case_first_holder": "i8",  # [C + 1] of case_holder
    "case_holder": "i8",  # [I]
    "most_tres_per_job": "f8",  # [C 5]
    "is_limited": "?",  # [I]
    "most_jobs": "f8",  # [I]
    "most_accruing": "f8",
    "most_submitted": "f8",
    "most_wall_us": "f8",
    "most_tres": "f8",  # [I 5]
    "most_run_minutes": "f8",
    "most_minutes": "f8",
    "holder_decays": "?",  # whether the usage of its jobs decays
    # billing
    "billing_weight": "f8",  # [P 4+K] of CPUs, memory, nodes, GPUs, and of GPUs of each type
    "licence_weight": "f8",  # [P licences]
    "part_billing": "f8",  # per entry of job_part: the bill for what the job requests
    "job_usage_factor": "f8",  # [J] the factor on its usage
    # the tree of accounts
    "parent": "i8",
    "depth": "i8",
    "above": "i8",  # [A D]
    "raw_shares": "f8",
    "sibling_shares": "f8",
    "is_user": "?",
    "reservation_begin_us": "f8",
    "reservation_end_us": "f8",
    "reservation_nodes": "i8",  # [reservations W]
    "phase_us": "f8",  # [6] the phases of actions that happen on a grid
}
DURING = {
    "due_us": "f8",  # [6] when each action is due next
    "last_us": "f8",  # [6] when each was done last
    "changed_us": "f8",
    "draw": "i8",  # the last random number
    "noted": "f8",  # [3] the last recorded event: time, type, task
    "recheck": "?",  # whether jobs that wait for others may have become eligible
    "held_wake_us": "f8",  # when the first job that a time holds becomes free
    "array_running": "i8",  # [A] running jobs of each array, if any array is throttled
    "array_eligible": "i8",  # [A] eligible jobs of each array
    "free_cpus": "i8",
    "free_memory": "f8",
    "free_kinds": "i8",
    "free_licences": "f8",  # of each name
    "level_cpus": "i8",  # [L N] CPUs that no job of this level or a higher one holds
    "level_cores": "i8",  # [L N C] cores that jobs of each level hold
    "shadow": "i8",  # [N C] cores that jobs of higher levels run on, or would have
    "up_nodes": "i8",  # [W]
    "room_version": "i8",  # changes whenever free resources or the ends of running jobs change
    "room_at": "i8",  # [R P] the version for which has_room is valid
    "has_room": "?",  # [R P] whether a request may have room in a partition
    "then_cpus": "i8",
    "then_memory": "f8",
    "then_kinds": "i8",
    "job_state": "i8",
    "job_in": "i8",  # the partition that it runs in
    "job_case": "i8",  # the case at which it counts: that of all of its partitions, or of the one that it runs in
    "job_by": "i8",
    "job_start_us": "f8",
    "job_end_by_us": "f8",  # the end of its limit
    "job_must_leave": "?",  # whether it is preempted at the end of its grace time
    "job_charged_us": "f8",
    "job_suspended_us": "f8",
    "job_eligible_us": "f8",
    "job_ages_from_us": "f8",  # since when only the limit of its array holds it; -1: not yet
    "job_priority": "f8",
    "job_left": "i8",  # tasks that have not ended
    "job_accrues": "?",
    "job_is_refused": "?",
    "job_held_until_us": "f8",
    "job_row": "i8",
    "job_level": "i8",  # the level as which it counts for others
    "row_node": "i8",
    "row_cpus": "i8",
    "row_kind": "i8",
    "row_gpus": "i8",
    "row_memory": "f8",
    "row_cores": "i8",  # [rows C]
    "row_tasks": "i8",  # of the engine
    "row_next": "i8",
    "spare_row": "i8",
    "running": "i8",
    "n_running": "i8",
    "held": "i8",
    "n_held": "i8",
    "entry_job": "i8",
    "entry_part": "i8",
    "entry_priority": "f8",
    "n_entries": "i8",
    "kept_job": "i8",  # the original entries while the queue is in another order
    "kept_part": "i8",
    "kept_priority": "f8",
    "rank_tier": "i8",  # the keys of that order
    "rank_priority": "f8",
    "rank_job": "i8",
    "is_closed": "?",
    "may": "i8",  # [W] nodes that a job may have
    "not_closed": "i8",  # [W] nodes that no closed partition has
    "chosen": "i8",  # [W] nodes that a job is about to get
    "is_least_loaded": "?",  # whether it takes the least loaded nodes first
    "cpus_kind": "i8",  # part_cpus_kind of the partition that it may start in
    "most_leaves": "i8",  # switches that it may have
    "leaf_nodes": "i8",  # [leaves] usable nodes
    "leaf_cpus": "i8",  # [leaves] CPUs of the usable nodes
    "leaf_largest": "i8",  # [leaves] CPUs of the largest usable node
    "victims": "i8",
    "n_victims": "i8",
    "use_node": "i8",
    "use_cpus": "i8",
    "use_is_in": "?",
    "got_node": "i8",
    "got_cpus": "i8",
    "count_of_cpus": "i8",
    # the plan of a cycle of backfill
    "n_cycles": "i8",
    "n_records": "i8",
    "record_begin_us": "f8",  # [records] one after the other
    "record_end_us": "f8",
    "record_row": "i8",  # of record_nodes
    "record_nodes": "i8",  # [records W] nodes that are planned for nobody
    "stretch": "i8",  # [3] of records
    "rest_nodes": "i8",  # [records W] nodes planned for nobody from a record to the end of the first part
    "second_nodes": "i8",  # [W] nodes planned for nobody in the second part
    "planned_from_us": "f8",  # [N] when a node is first planned for a job
    "full_in": "i8",  # [R P] the cycle in which a request was found to have no room in a partition
    "full_us": "f8",  # [R P] the time before which it has none
    # the ends of running jobs at their limits, one per node of each
    "ends_at": "i8",  # the version for which the list is valid
    "n_ends": "i8",
    "end_us": "f8",
    "end_job": "i8",
    "end_row": "i8",
    "end_node": "i8",
    "ready_at": "i8",  # [S] the version for which the lists of a size are valid
    "ready_node": "i8",  # [S N] the nodes that will have the free CPUs of a size, in the order of ready_end
    "ready_end": "i8",  # [S N] the ends after which they have them
    "n_ready": "i8",  # [S] the number of these nodes
    "ready_now": "i8",  # [S W] nodes that have the free CPUs of a size now
    "ready": "i8",  # [W] nodes that have them before a time
    "able": "i8",  # [W] nodes that a job may have and that have its CPUs at the assumed time
    "n_passed": "i8",  # how many entries of ready_node are before that time
    "member_is_ready": "?",  # [M] whether a component could start now, in this cycle of backfill
    "member_part": "i8",  # [M] the partition in which it could start
    "group_from_us": "f8",  # [G] the last planned start of a component in this cycle
    "group_nodes": "i8",  # [W] nodes that other components of the job have
    "user_tested": "i8",  # in this run or cycle
    "part_tested": "i8",  # [P]
    "association_tested": "i8",
    "user_part_tested": "i8",  # [users P]
    "part_planned": "i8",  # [P]
    "array_planned": "i8",  # [2] the array whose jobs were planned last, and how many of them
    "job_planned_in": "i8",  # [J] the last cycle that planned it
    "holder_jobs": "f8",
    "holder_accruing": "f8",
    "holder_submitted": "f8",
    "holder_tres": "f8",
    "holder_wall_us": "f8",
    "holder_minutes": "f8",
    "holder_left_at": "i8",  # [H] the version for which the next array is valid
    "holder_left_us": "f8",  # [H] the time for which it is valid
    "holder_left": "f8",  # [H 5] the amounts that its running jobs hold times the minutes left of their limits
    "job_billed": "f8",  # [J] what it is billed while it runs
    "billed": "f8",  # [4+K] amounts of the billed resources that a job holds
    "usage": "f8",
    "levels": "f8",
    "user_order": "i8",
    "fair_share": "f8",
    "normalized": "f8",
    "effective": "f8",
    "task_over": "?",
    "n_seen": "i8",
    "wanted": "i8",
    "wanted_job": "i8",
    "n_wanted": "i8",
    "wanted_at": "i8",  # what is carried out next: of the wanted, of its tasks, of its rows, CPUs of the row given
}
ARRAYS = BEFORE | DURING
