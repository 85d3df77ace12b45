// Templates without a build step: `html` makes preact nodes. Text becomes text nodes, never markup.
import { h, render } from "/static/vendor/preact.mjs";
import htm from "/static/vendor/htm.mjs";

export { render };
export const html = htm.bind(h);
export { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "/static/vendor/hooks.mjs";
