// Asking the server: a line of JSON for each message of an answer. Nothing else is asked.

const ownToken = new URLSearchParams(location.search).get("token");
const pageName = crypto.randomUUID?.() ?? String(Math.random());

/** Ask; call(kind, data) for each message. Rejects where there is no server any more. */
async function ask(path, body, call, signal) {
  const answer = await fetch(path, {
    method: "POST", signal, headers: { "Content-Type": "application/json", Authorization: `Bearer ${ownToken}` },
    body: JSON.stringify({ page: pageName, ...body }),
  });
  if (!(answer.headers.get("content-type") ?? "").includes("ndjson")) {
    const text = await answer.text();
    if (!answer.ok && !text.startsWith("{")) throw new Error(text);
    return JSON.parse(text);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return null;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const { kind, data } = JSON.parse(line);
      call(kind, data);
    }
  }
}

const stopJob = (job) => ask("/stop", { job }).catch(() => {});
