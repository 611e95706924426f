// The queue's form. Each field is sent when it is left or entered; Escape resets it.
import { ask, mix, onDone, redraw, send } from "./acts.js";
import { all, board, listen, one, onPaint, queue } from "./page.js";

const FIELD = "#traced-queue [data-filter]";
const MEANING = "#traced-queue [data-by-meaning]", HOW = "#traced-queue [data-how]", MEANING_FIELD = "#traced-queue .search [data-filter=meaning]";
let byPointer = false;
listen("pointerdown", () => { byPointer = true; }, true);
listen("keydown", () => { byPointer = false; }, true);

const asDrawn = (field) => (field.options ? (one("option[selected]", field) ?? field.options[0]).value : field.getAttribute("value") ?? "");

listen("change", ({ target }) => {
  if (target.matches("#traced-queue [data-mixed]")) mix(target.checked);
  if (target.matches(FIELD)) choose();
  if (target.matches(MEANING)) all("#traced-queue .search [data-filter]").find((field) => field.checkVisibility())?.focus();
  // The next key acts on the page. Boxes that the keyboard reached are left by it.
  else if (target.matches("#traced-queue select") || (byPointer && target.matches("#traced-queue :is([type=checkbox], [type=radio]), [data-card-size]"))) target.blur();
});

const chosen = () => Object.fromEntries(all(FIELD).map((field) => [field.dataset.filter, field.value]));
/** What is searched by meaning at the moment. The first time a model is loaded for it: the server does that beside the acts,
 * and the board is used meanwhile. */
let sought = "";
async function choose() {
  const { meaning } = chosen(), isNew = meaning && meaning !== asDrawn(one(MEANING_FIELD));
  sought = isNew ? meaning : "";
  tellSought();
  if (isNew) await ask("find-meaning", { text: meaning });
  if (!isNew || sought === meaning) send("filter", { filter: chosen() });
}
onDone(({ action }) => { if (action === "filter") { sought = ""; tellSought(); } });
function tellSought() { const line = one("#traced-queue [data-sought]"); if (line) line.hidden = !sought; }
onPaint("queue", tellSought);

// An arrow would choose at once, and leave the list.
listen("keydown", (event) => {
  if (!event.target.matches?.("#traced-queue select") || !["ArrowDown", "ArrowUp"].includes(event.key) || event.altKey) return;
  event.preventDefault();
  event.target.showPicker();
});

listen("keydown", (event) => {
  const { target, key } = event;
  if (!target.matches?.(FIELD)) return;
  if (key === "Enter") setTimeout(() => target.blur());
  if (key !== "Escape") return;
  event.preventDefault();  // the browser would clear a search field and send that
  target.value = asDrawn(target);
  target.blur();
}, true);

// The drawer shows what the queue contains, as long as it is open.
listen("toggle", ({ target }) => { if (target.matches("#traced-queue .more[open]")) redraw(); }, true);

// A warning about the model is dismissed in this browser, until it says something else.
const HIDDEN = "traced-limits-hidden";
const limits = () => one("#traced-queue [data-limits]");
listen("click", ({ target }) => {
  if (!target.closest("[data-dismiss-limits]")) return;
  localStorage.setItem(HIDDEN, limits().textContent);
  limits().hidden = true;
});
onPaint("queue", () => { if (limits()) limits().hidden = localStorage.getItem(HIDDEN) === limits().textContent; });

// The browser keeps a value that a person has chosen, whatever the queue is now.
onPaint("queue", () => all(FIELD).forEach((field) => {
  if (field !== document.activeElement || field.options) field.value = sought && field.matches(MEANING_FIELD) ? sought : asDrawn(field);
}));

// Another dataset begins with the boxes as the server draws them.
let dataset = "";
onPaint("queue", () => {
  const shown = queue()?.dataset.dataset ?? "";
  if (dataset && shown !== dataset) all(`${MEANING}, ${HOW}`).forEach((box) => { box.checked = box.defaultChecked; });
  dataset = shown;
});

// On a phone the queue is a drawer over the page.
export const isOpen = () => board().dataset.queue === "open";
export function showQueue(open) {
  if (open === isOpen()) return;
  board().dataset.queue = open ? "open" : "closed";
  const button = one(".tool-queue");
  button.setAttribute("aria-expanded", String(open));
  (open ? one("#traced-queue :is(select, input, button)") : button)?.focus();
}
