// Text that agents wrote, made visible: what a person reads is what is there.

// Characters that move, hide or reorder other text: controls, bidirectional marks, zero-width characters, tags.
const INVISIBLE =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e01ef}]|[\ud800-\udfff]/gu;

function showCharacter(character) {
  const code = character.codePointAt(0);
  // By number: many fonts have no pictures of control characters, and show the same box for all.
  return `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;
}

// One line of text.
export function showText(text) {
  return String(text ?? "").replace(INVISIBLE, showCharacter);
}

// One line in which digests and signatures are cut to what tells them apart.
export function showShort(text) {
  return showText(text).replace(/\b([0-9a-f]{16})[0-9a-f]{16,}\b/g, "$1…");
}

// Several lines: newlines and tabs stay.
export function showBlock(text) {
  return String(text ?? "")
    .split("\n")
    .map((line) => line.split("\t").map(showText).join("\t"))
    .join("\n");
}

const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "2-digit" });

export function showTime(microseconds) {
  return TIME.format(new Date(microseconds / 1000));
}

export function showMoment(microseconds) {
  const date = new Date(microseconds / 1000);
  return new Date().toDateString() === date.toDateString() ? TIME.format(date) : `${DAY.format(date)} ${TIME.format(date)}`;
}

export function showAge(microseconds, now = Date.now()) {
  return showSeconds(Math.max(0, Math.round(now / 1000 - microseconds / 1e6)));
}

export function showSeconds(seconds) {
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} d`;
}

export function chooseNoun(count, singular, plural = `${singular}s`) {
  return count === 1 ? singular : plural;
}

export function showCount(count, singular, plural = `${singular}s`) {
  return `${Number(count).toLocaleString()} ${chooseNoun(count, singular, plural)}`;
}

// A value of the search box that stands for exactly this text.
export function quote(text) {
  return `"${String(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

export function lastName(path) {
  return String(path ?? "").split("/").filter(Boolean).pop() ?? "";
}
