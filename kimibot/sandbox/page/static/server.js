// Talks to the local Slack: views, orders, and the stream of changes.

export async function look(view, query) {
  const response = await fetch(`/page/${view}?${new URLSearchParams(query)}`);
  return answerOf(response);
}

export async function order(name, what) {
  const response = await fetch(`/page/${name}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(what),
  });
  return answerOf(response);
}

// Calls `onChange` for each change that the viewer sees, and `onReady` whenever the stream
// (re)opens: what happened before that is to be looked at anew. Returns a function that ends it.
export function listen(viewer, { onChange, onReady, onLost }) {
  const stream = new EventSource(`/page/changes?${new URLSearchParams({ as: viewer })}`);
  stream.addEventListener("ready", onReady);
  stream.addEventListener("message", (event) => onChange(JSON.parse(event.data)));
  stream.addEventListener("error", onLost);
  return () => stream.close();
}

async function answerOf(response) {
  const type = response.headers.get("Content-Type") ?? "";
  const answer = type.startsWith("application/json") ? await response.json() : {};
  if (!response.ok) throw new Error(answer.error ?? `The local Slack answered ${response.status}.`);
  return answer;
}
