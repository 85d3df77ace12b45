// The difference of two texts, line by line.
const MAX_LINES = 600;

// Returns [{mark: " " | "+" | "-", line}], with unchanged stretches shortened to their edges.
export function diffLines(before, after) {
  const old = before.split("\n");
  const now = after.split("\n");
  if (old.length > MAX_LINES || now.length > MAX_LINES) return [...old.map((line) => ({ mark: "-", line })), ...now.map((line) => ({ mark: "+", line }))];
  // lengths[i][j]: longest common subsequence of old[i..] and now[j..].
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = now.length - 1; j >= 0; j -= 1)
      lengths[i][j] = old[i] === now[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  const rows = [];
  let i = 0;
  let j = 0;
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      rows.push({ mark: " ", line: old[i] });
      i += 1;
      j += 1;
    } else if (i < old.length && (j === now.length || lengths[i + 1][j] >= lengths[i][j + 1])) {
      rows.push({ mark: "-", line: old[i] });
      i += 1;
    } else {
      rows.push({ mark: "+", line: now[j] });
      j += 1;
    }
  }
  return shorten(rows);
}

function shorten(rows) {
  const isNear = rows.map((_, index) => rows.slice(Math.max(0, index - 2), index + 3).some((row) => row.mark !== " "));
  return rows.flatMap((row, index) => {
    if (isNear[index]) return [row];
    return index === 0 || isNear[index - 1] ? [{ mark: "…", line: "" }] : [];
  });
}
