// Requests to the service of this page, and the data of a page that outlives a failed request.
import { useEffect, useState } from "./html.js";

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export async function call(path, { method = "GET", body } = {}) {
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: method === "GET" ? {} : { "content-type": "application/json", "x-verdikt": "1" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0, "the service does not answer");
  }
  const data = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, data.error ?? `status ${response.status}`);
  return data;
}

const lastAnswers = new Map();

// Returns {data, at, error}. The last known data stays while a newer answer is awaited, and when none comes.
export function useData(path, { everySeconds = 0, version = 0 } = {}) {
  const [state, setState] = useState(() => lastAnswers.get(path) ?? {});
  useEffect(() => {
    if (!path) return undefined;
    let current = true;
    setState(lastAnswers.get(path) ?? ((before) => ({ ...before, error: undefined })));
    const load = async () => {
      try {
        const answer = { data: await call(path), at: Date.now() };
        lastAnswers.set(path, answer);
        if (current) setState(answer);
      } catch (error) {
        if (current) setState((before) => ({ ...before, error }));
      }
    };
    load();
    const timer = everySeconds ? setInterval(() => document.hidden || load(), everySeconds * 1000) : 0;
    return () => {
      current = false;
      clearInterval(timer);
    };
  }, [path, everySeconds, version]);
  return state;
}
