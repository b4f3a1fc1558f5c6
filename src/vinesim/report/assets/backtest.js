// A back-test: each job's wait and place in the order, actual and predicted, and what was in use over time.

(() => {
  const place = section("jobs");
  if (!place || !data.backtest) return;
  const { jobs, edges_us: edges, used, queued } = data.backtest;
  const seconds = (s) => time(s * 1e6);
  let of = "wait", axis = "log";

  const note = el("p", { class: "note" }), graph = el("div");
  const what = radios("Of each job", [["wait", "Wait"], ["rank", "Place in the order of starts"]], (v) => { of = v; draw(); });
  const scale = radios("Axes", [["log", "Log"], ["linear", "Linear"]], (v) => { axis = v; draw(); });
  const values = tableOf("Jobs", () => [["job", "wait, actual", "predicted", "place, actual", "predicted"],
    jobs.name.map((name, i) => [String(name), seconds(jobs.actual[i]), seconds(jobs.predicted[i]), String(jobs.actual_rank[i]), String(jobs.predicted_rank[i])])]);
  place.append(el("div", { class: "controls" }, what.node, scale.node), note, graph, values.node);
  const plotted = chart(graph, spec, 420);

  function spec() {
    const isWait = of === "wait", log = axis === "log";
    const truth = isWait ? jobs.actual : jobs.actual_rank, model = isWait ? jobs.predicted : jobs.predicted_rank;
    // powers of ten are read in s: 0.001 d is no time
    const [unit, size] = !isWait ? ["", 1e6] : log ? ["s", 1e6] : unitOf(1e6 * Math.max(1, ...truth, ...model));
    const least = isWait && log ? 1e6 / size : 0; // what does not wait has no place on a logarithmic axis: 1 s
    const at = (v) => Math.max(least, (v * 1e6) / size);
    const order = truth.map((_, i) => i).sort((a, b) => truth[a] - truth[b]);
    const xs = order.map((i) => at(truth[i]));
    const format = (v) => (v == null ? "-" : isWait ? time(v * size) : number(Math.round(v)));
    const most = Math.max(...xs, ...model.map(at));
    const range = () => (log ? [Math.max(least, isWait ? least : 1) * 0.8, most * 1.25] : [0, most * 1.05]);
    const title = isWait ? `wait, ${unit}` : "place in the order";
    return {
      label: isWait ? "Waits of jobs" : "Places in the order of starts",
      x: { title: `${title}, actual`, log, range, format: (v, i) => `${i == null ? "" : `job ${jobs.name[order[i]]}: `}${format(v)}, actual` },
      y: { title: `${title}, predicted`, log, range, format, tick: number },
      xs,
      series: [
        { name: "jobs", style: 1, points: true, scattered: true, values: order.map((i) => at(model[i])) },
        { name: "predicted = actual", style: 2, values: xs },
      ],
    };
  }

  function draw() {
    note.textContent = of === "wait"
      ? "Each dot is a job: across how long it waited, up how long it waits in the mean of the runs. Waits below 1 s are at 1 s on logarithmic axes."
      : "Each dot is a job: across its place in the order in which jobs really started, up its place in the model.";
    plotted.draw();
    values.refresh();
  }

  draw();
  const over = section("usage");
  const both = ([truth, model]) => [{ name: "actual", values: truth }, { name: "predicted", values: model }];
  over.append(el("p", { class: "note" }, "Actual: from when a job started first, for as long as it takes in the model. Predicted: the mean of the runs."));
  stepsView(over, "CPUs in use", "CPUs, mean", { edges, series: both(used), marks: [] });
  stepsView(over, "Jobs that wait", "jobs, mean", { edges, series: both(queued), marks: [] });
})();
