// Notices on this computer: each approval that this person can answer, once.
import { useData } from "./api.js";
import { html, useEffect, useState } from "./html.js";
import { showText } from "./text.js";

const SEEN = "verdikt-seen";
const MAX_SEEN = 500;

function readSeen() {
  try {
    return JSON.parse(localStorage.getItem(SEEN) ?? "[]");
  } catch {
    return [];
  }
}

let refresh = () => {};

// Asks again at once, after an answer.
export function refreshNotices() {
  refresh();
}

// Returns how many approvals wait for this person, and shows new ones where notices are on.
export function useNotices(isActive) {
  const [version, setVersion] = useState(0);
  refresh = () => setVersion((before) => before + 1);
  const { data } = useData(isActive ? "/v1/approvals?state=waiting&limit=100" : "", { everySeconds: 10, version });
  const mine = (data?.approvals ?? []).filter((approval) => approval.can_vote);
  useEffect(() => {
    if (typeof Notification === "undefined" || Notification.permission !== "granted") return;
    // Shared by all tabs, so that one of them shows it.
    const seen = readSeen();
    const fresh = mine.filter((approval) => !seen.includes(approval.id));
    if (!fresh.length) return;
    localStorage.setItem(SEEN, JSON.stringify([...seen, ...fresh.map((approval) => approval.id)].slice(-MAX_SEEN)));
    for (const approval of fresh) {
      const notice = new Notification("verdikt: an agent waits for you", { body: `${showText(approval.rule)} on ${showText(approval.machine)}`, tag: `approval-${approval.id}` });
      notice.onclick = () => {
        focus();
        location.assign(`/approvals?id=${approval.id}`);
      };
    }
  }, [data]);
  return mine.length;
}

export function DesktopNotices() {
  const [permission, setPermission] = useState(typeof Notification === "undefined" ? "unsupported" : Notification.permission);
  const text = { granted: "It is on.", denied: "It is refused in the browser's settings.", unsupported: "This browser does not offer it." }[permission];
  return html`<section>
    <h2>Notices on this computer</h2>
    <p class="facts">This browser tells you that an agent waits, while a page of verdikt is open.</p>
    ${text ? html`<p>${text}</p>` : html`<button onClick=${async () => setPermission(await Notification.requestPermission())}>Tell me on this computer</button>`}
  </section>`;
}
