// Security keys and passkeys: one signs the digest of the very call that is shown, in answer to this approval.
import { call, useData } from "./api.js";
import { html, useRef, useState } from "./html.js";
import { copyText } from "./message.js";
import { instead } from "./parts.js";
import { showMoment, showText } from "./text.js";

function decodeHex(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function decodeBase64Url(text) {
  return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
}

// The challenge covers approval and digest: a signature for another call, or for an earlier approval, does not fit.
export async function signWithKey(challenge, keys) {
  if (!keys.length) throw new Error("add a security key in Settings first");
  const credential = await navigator.credentials.get({
    publicKey: {
      challenge: decodeHex(challenge),
      rpId: location.hostname,
      userVerification: "required",
      allowCredentials: keys.map((id) => ({ type: "public-key", id: decodeBase64Url(id) })),
    },
  });
  return credential.toJSON();
}

export function SecurityKeys() {
  const [version, setVersion] = useState(0);
  const { data } = useData("/v1/keys", { everySeconds: 30, version });
  const [message, setMessage] = useState("");
  const name = useRef(null);
  const run = async (action) => {
    try {
      await action();
      setMessage("");
      setVersion((before) => before + 1);
    } catch (error) {
      setMessage(error.message);
    }
  };
  const add = () =>
    run(async () => {
      const options = await call("/v1/keys/options", { method: "POST", body: {} });
      const credential = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) });
      await call("/v1/keys", { method: "POST", body: { name: name.current.value.trim() || "key", response: credential.toJSON() } });
      name.current.value = "";
    });
  return html`<section>
    <h2>Security keys</h2>
    <p class="facts">A key or passkey signs what you approve, where the policy asks for it. A policy can name the keys that count.</p>
    <ul class="plain">
      ${(data?.keys ?? []).map(
        (key) => html`<li key=${key.id}>
          ${showText(key.name)} <span class="facts">added ${showMoment(key.added * 1e6)}</span> <code class="key">${showText(key.key)}</code>
          ${" "}<button onClick=${() => copyText(key.key, "key")}>Copy</button>
          ${" "}<button onClick=${() => run(() => call(`/v1/keys/${key.id}/removal`, { method: "POST", body: {} }))}>Remove</button>
        </li>`,
      )}
    </ul>
    <form class="bar" onSubmit=${instead(add)}>
      <input ref=${name} placeholder="name of the key" aria-label="Name of the key" maxlength="60" />
      <button type="submit">Add a security key</button>
    </form>
    <p role="status" class="result">${showText(message)}</p>
  </section>`;
}
