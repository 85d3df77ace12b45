// The live feed. All tabs of a browser share one stream: browsers allow six connections to a host, and a stream keeps one.
import { useEffect, useRef } from "./html.js";

const REOPEN_MILLISECONDS = 3000;

// Where the browser has no locks (without TLS, except on this machine), each tab has a stream of its own.
const CAN_SHARE = Boolean(navigator.locks) && typeof BroadcastChannel !== "undefined";

// Tells `onMessage` {before, position, entries} of every event after a position, or from now when it is empty.
function openStream(position, onMessage) {
  let source = null;
  let timer = 0;
  const open = () => {
    source = new EventSource(`/v1/feed${position ? `?position=${encodeURIComponent(position)}` : ""}`);
    source.onmessage = (event) => {
      const before = position;
      position = event.lastEventId;
      onMessage({ before, position, entries: JSON.parse(event.data) });
    };
    source.onerror = () => {
      // A stream that broke is opened again by the browser; one that the service refused is not.
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, REOPEN_MILLISECONDS);
    };
  };
  open();
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

// As `openStream`, by the stream of whichever tab has the lock; this one opens a stream when it gets the lock itself.
// `getPosition` says how far this tab has come until then.
function openSharedStream(name, getPosition, onMessage) {
  const channel = new BroadcastChannel(name);
  const waiting = new AbortController();
  let release = () => {};
  const lead = () =>
    new Promise((done) => {
      if (waiting.signal.aborted) return done();
      const close = openStream(getPosition(), (message) => {
        channel.postMessage(message);
        onMessage(message);
      });
      release = () => {
        close();
        done();
      };
    });
  channel.onmessage = (event) => onMessage(event.data);
  // A request that is given up while it waits is rejected, as it should be.
  navigator.locks.request(name, { signal: waiting.signal }, lead).catch(() => {});
  return () => {
    waiting.abort();
    release();
    channel.close();
  };
}

// New entries as they arrive, while the tab is visible and `isPaused` is not set. `onStart` is told when a stream begins,
// and when it does not follow on what this tab has seen: what came in between has to be asked for.
export function useFeed(person, isPaused, { onStart, onEntries }) {
  const position = useRef("");
  const told = useRef(null);
  told.current = { onStart, onEntries };
  useEffect(() => {
    if (isPaused) return undefined;
    const receive = (message) => {
      const isNext = message.before === position.current;
      position.current = message.position;
      if (!isNext || !message.before) told.current.onStart();
      else if (message.entries.length) told.current.onEntries(message.entries);
    };
    let close = null;
    const open = () => {
      if (close || document.hidden) return;
      // Another tab may have had the stream while this one was hidden, and be silent now.
      if (position.current) told.current.onStart();
      // People who share a browser do not share a stream.
      close = CAN_SHARE
        ? openSharedStream(`verdikt-feed-${person}`, () => position.current, receive)
        : openStream(position.current, receive);
    };
    const end = () => {
      close?.();
      close = null;
    };
    const onVisibility = () => (document.hidden ? end() : open());
    open();
    document.addEventListener("visibilitychange", onVisibility);
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      end();
    };
  }, [person, isPaused]);
}
