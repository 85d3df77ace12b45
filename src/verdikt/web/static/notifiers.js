// Where a person hears of approvals: webhooks, chats and mail.
import { call, useData } from "./api.js";
import { html, useRef, useState } from "./html.js";
import { showText } from "./text.js";

export function Notifiers({ me }) {
  const [version, setVersion] = useState(0);
  const { data } = useData("/v1/notifiers", { everySeconds: 30, version });
  const [message, setMessage] = useState("");
  const form = useRef(null);
  const run = async (action) => {
    try {
      setMessage((await action()) ?? "");
      setVersion((before) => before + 1);
    } catch (error) {
      setMessage(error.message);
    }
  };
  const add = (event) => {
    event.preventDefault();
    const body = Object.fromEntries(new FormData(form.current));
    run(async () => {
      const { secret } = await call("/v1/notifiers", { method: "POST", body });
      form.current.reset();
      return secret ? `The secret of this webhook, shown once: ${secret}` : "";
    });
  };
  const test = (id) =>
    run(async () => {
      const { problem } = await call(`/v1/notifiers/${id}/test`, { method: "POST", body: {} });
      return problem || "A test message was sent.";
    });
  return html`<section>
    <h2>Notifications</h2>
    <p class="facts">Where you hear that an agent waits for you: of each approval at once, or of several in one message.</p>
    <ul class="plain">
      ${(data?.notifiers ?? []).map(
        (place) => html`<li key=${place.id}>
          ${showText(place.kind)} ${showText(place.address)} <span class="facts">${place.group ? `for the group ${showText(place.group)}, ` : ""}${showText(place.mode)}${place.problem ? `: ${showText(place.problem)}` : ""}</span>
          ${" "}<button onClick=${() => test(place.id)}>Send test</button>
          ${" "}<button onClick=${() => run(() => call(`/v1/notifiers/${place.id}/removal`, { method: "POST", body: {} }).then(() => ""))}>Remove</button>
        </li>`,
      )}
    </ul>
    <form ref=${form} class="bar" onSubmit=${add}>
      <select name="kind" aria-label="Kind"><option value="webhook">webhook</option><option value="slack">Slack</option><option value="email">mail</option></select>
      <input name="address" required placeholder="address of a hook, or mail address" aria-label="Address" maxlength="500" />
      <select name="mode" aria-label="Mode"><option value="each">each at once</option><option value="digest">several in one</option></select>
      ${me.roles.includes("admin") && html`<input name="group" placeholder="for a group (optional)" aria-label="Group" maxlength="100" />`}
      <button type="submit">Add</button>
    </form>
    <p role="status" class="result">${showText(message)}</p>
  </section>`;
}
