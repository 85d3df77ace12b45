// Requests to the service of this page, and the data of a page that outlives a failed request.
import { useEffect, useState } from "./html.js";
import { announce } from "./message.js";

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
  const data = await response.json().catch(() => undefined);
  if (!response.ok) throw new ApiError(response.status, data?.error ?? `status ${response.status}`);
  // An answer that was cut off is none: a page could not draw a part of one.
  if (data === undefined) throw new ApiError(0, "the answer of the service broke off");
  return data;
}

const HIDDEN_SECONDS = 2;

// Calls `load` until it succeeds, with growing pauses, and then every so many seconds, or never again for 0. One call at
// a time: a slow service is not asked twice. What the service refuses (a 4xx) is not repeated. Returns what ends it.
export function repeatLoad(load, everySeconds = 0) {
  let timer = 0;
  let failures = 0;
  let isEnded = false;
  const attempt = async () => {
    try {
      await load();
      failures = 0;
      return everySeconds;
    } catch (error) {
      if (error.status >= 400 && error.status < 500 && error.status !== 429) return everySeconds;
      failures += 1;
      return Math.min(0.5 * 2 ** failures, 30);
    }
  };
  const run = async (isFirst) => {
    const seconds = document.hidden && !isFirst ? HIDDEN_SECONDS : await attempt();
    if (seconds && !isEnded) timer = setTimeout(run, seconds * 1000);
  };
  run(true);
  return () => {
    isEnded = true;
    clearTimeout(timer);
  };
}

const lastAnswers = new Map();

// Returns {data, at, path, error}. The last known data stays while a newer answer is awaited, also of another `path`, and
// when none comes. Another `version` asks again at once.
export function useData(path, { everySeconds = 0, version = 0 } = {}) {
  const [state, setState] = useState(() => lastAnswers.get(path) ?? {});
  useEffect(() => {
    if (!path) return undefined;
    let isCurrent = true;
    setState(lastAnswers.get(path) ?? ((before) => ({ ...before, error: undefined })));
    const end = repeatLoad(async () => {
      try {
        const answer = { data: await call(path), at: Date.now(), path };
        lastAnswers.set(path, answer);
        if (isCurrent) setState(answer);
      } catch (error) {
        if (isCurrent) setState((before) => ({ ...before, error }));
        throw error;
      }
    }, everySeconds);
    return () => {
      isCurrent = false;
      end();
    };
  }, [path, everySeconds, version]);
  return state;
}

// As `useData`, of a list that comes in pages. Returns {first, rows, loadMore}: the answer with the first page, its rows
// with those of older pages, and what asks for the next of these; null when there is none.
export function usePages(path, name, options = {}) {
  const first = useData(path, options);
  const [older, setOlder] = useState({});
  const isSame = older.path === path;
  const rows = [...(first.data?.[name] ?? []), ...(isSame ? older.rows : [])];
  const cursor = isSame ? older.cursor : first.path === path ? first.data?.cursor : "";
  const loadMore = async () => {
    try {
      const page = await call(`${path}&cursor=${encodeURIComponent(cursor)}`);
      setOlder((before) => ({ path, rows: [...(isSame ? before.rows : []), ...page[name]], cursor: page.cursor }));
    } catch (error) {
      announce(error.message);
    }
  };
  return { first, rows, loadMore: cursor ? loadMore : null };
}
