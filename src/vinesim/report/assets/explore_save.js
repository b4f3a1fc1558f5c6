// Saving a variant: as a scenario file, as a command, as a plan.

function saveView(place, call) {
  const status = el("p", { class: "note", role: "status" });
  const text = el("pre", { tabindex: 0, hidden: true, "aria-label": "What was saved" });
  const button = (id, words, act) => {
    const node = el("button", { type: "button", id }, words);
    node.addEventListener("click", act);
    return node;
  };
  place.append(el("div", { class: "controls" },
    button("save-yaml", "Save as YAML", () => saved("scenario", "variant.yaml")),
    button("copy-command", "Copy the command", () => saved("command")),
    button("save-plan", "Make it a plan", () => saved("plan", "plan.yaml")),
    button("copy-link", "Copy the link", () => copy(location.href, "The link"))),
    el("p", { class: "note" }, "A plan chooses the controls marked Vary (the box next to their name), or the changed ones, and is run with vinesim plan."), status, text);

  async function saved(kind, name) {
    const vary = call.varied().length ? call.varied() : Object.keys(explored.changes);
    try {
      const found = await ask("/save", { kind, changes: explored.changes, vary, pinned: explored.pins.map((pin) => pin.changes), p99_us: call.shown()?.numbers["jobs.latency_us.p99"] ?? null });
      text.hidden = false;
      text.textContent = found.text ?? found.error;
      if (found.error) { status.textContent = "It cannot be saved:"; return; }
      if (name) { download(found.text, name); status.textContent = `Saved as ${name}:`; } else await copy(found.text, "The command");
    } catch (wrong) { status.textContent = wrong.message; }
  }

  async function copy(words, what) {
    text.hidden = false;
    text.textContent = words;
    try { await navigator.clipboard.writeText(words); status.textContent = `${what} is copied:`; } catch { status.textContent = `${what}, to copy:`; }
  }

  function download(words, name) {
    const link = el("a", { href: URL.createObjectURL(new Blob([words], { type: "application/yaml" })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}
