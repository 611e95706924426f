// The places of the page and what is painted into them. The server renders parts as HTML; a part of
// the pair or table that is already shown is morphed, so that focus, caret and scroll positions stay.
import { Idiomorph } from "./idiomorph.js";

/** @type {(selector: string, root?: ParentNode) => any} */
export const one = (selector, root = document) => root.querySelector(selector);
/** @type {(selector: string, root?: ParentNode) => any[]} */
export const all = (selector, root = document) => [...root.querySelectorAll(selector)];
/** Everything is delegated to the document: parts are replaced, their listeners are not.
 * @type {(type: string, handler: (event: any) => void, capture?: boolean) => void} */
export const listen = (type, handler, capture = false) => document.addEventListener(type, handler, capture);

export const board = () => one("#traced-review");
export const stage = () => one("#traced-stage [data-pair]");
export const queue = () => one("#traced-queue [data-link]");
/** Whether the action gives a verdict. The server names them. */
export const isVerdict = (action) => /^(suggestion|enrich)-\d+$/.test(action) || board().dataset.decisions.split(" ").includes(action);
/** Whether it opens a form for many pairs. */
export const opensForm = (action) => board().dataset.forms.split(" ").includes(action);
/** Whether a model may work on it for a while. */
export const asksModel = (action) => board().dataset.asking.split(" ").includes(action);
/** Whether the action writes something. */
export const isWriting = (action) => isVerdict(action) || board().dataset.writing.split(" ").includes(action);

const PLACES = {
  queue: "#traced-queue", stage: "#traced-stage", chart: "#traced-chart", steps: "#traced-steps",
  toast: "#traced-toast", edit: "#traced-edit", abstract: "#traced-abstract", check: "#traced-stage .editor .check",
};
const MORPHED = {
  morphStyle: "innerHTML", ignoreActiveValue: true,
  callbacks: {
    // Folded parts stay as the curator left them, and boxes that the server does not know of.
    beforeAttributeUpdated: (name, node) => !(name === "open" && node.matches("details")),
    beforeNodeMorphed: (node, fresh) => { if (isOwn(node, fresh)) fresh.checked = node.checked; },
  },
};
/** What a click in the drawer does; and “meaning”, before something is searched by it. */
const isOwn = (node, fresh) => node.matches?.("#traced-queue [data-how]") || (node.matches?.("#traced-queue [data-by-meaning]") && !node.defaultChecked && !fresh.defaultChecked);
/** @type {Map<string, ((isSamePair: boolean) => void)[]>} */
const painted = new Map();

/** Call `act` whenever the part has been painted.
 * @type {(part: string, act: (isSamePair: boolean) => void) => void} */
export function onPaint(part, act) { painted.set(part, [...(painted.get(part) ?? []), act]); }

/** Paint parts by name; those that are missing stay.
 * @param {Record<string, string>} parts */
export function paint(parts) {
  const before = subjectOf(one("#traced-stage"));
  const fresh = parts.stage === undefined ? before : subjectIn(parts.stage);
  const isSame = before !== undefined && before === fresh;
  if (!isSame && parts.stage !== undefined) {
    const isOfPairs = one("#traced-edit [data-edit=of]");  // the form names the pairs that were shown
    parts = { abstract: "", ...(isOfPairs ? { edit: "" } : {}), ...parts };
  }
  /** @type {HTMLElement | null | undefined} */
  const button = document.activeElement?.closest("#traced-stage [data-action]"), column = button?.closest("th")?.dataset.cell;
  const focused = button && `${column ? `[data-cell="${CSS.escape(column)}"] ` : ""}[data-action="${button.dataset.action}"]`;
  const left = one("#traced-stage .rows")?.scrollLeft;
  /** @type {any} */
  const writing = document.activeElement?.closest("#traced-stage tr.pick [data-caption]");
  const pick = writing?.closest(".pick").dataset.pick, typed = writing?.value;
  for (const [part, html] of Object.entries(parts)) {
    const place = one(PLACES[part]);
    if (!place) continue;
    const isKept = part === "queue" || part === "edit" || (isSame && ["stage", "chart", "steps"].includes(part));
    if (isKept && place.firstElementChild) Idiomorph.morph(place, html, MORPHED);
    else {
      if (place.contains(writing)) writing.value = writing.defaultValue;  // Chromium takes its removal for leaving it
      place.innerHTML = html;
    }
  }
  const again = writing && !writing.isConnected && one(`#traced-stage [data-pick="${pick}"] [data-caption]`);
  if (again) { again.value = typed; again.focus(); }
  // A verdict by Enter on its button: the next pair's button has the focus.
  if (focused && document.activeElement === document.body) one(`#traced-stage ${focused}`)?.focus({ preventScroll: true });
  for (const part of Object.keys(parts)) (painted.get(part) ?? []).forEach((act) => act(isSame));
  // The column that was clicked stays on the screen.
  if (left) one("#traced-stage .rows")?.scrollTo({ left });
}

/** The pair on the stage, or the part of the queue in a table. */
const subjectOf = (root) => one("[data-pair]", root)?.dataset.pair ?? one("[data-view]", root)?.dataset.view;

function subjectIn(html) {
  const parts = document.createElement("template");
  parts.innerHTML = html;
  return subjectOf(parts.content);
}

/** Scroll the item into view within its list; the page itself must not jump. */
export const reveal = (item) => revealIn(item?.closest("ol, ul"), item);
/** @type {(list: any, item: any) => void} */
export function revealIn(list, item) {
  if (!list || !item) return;
  const inner = item.getBoundingClientRect(), outer = list.getBoundingClientRect();
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
}
