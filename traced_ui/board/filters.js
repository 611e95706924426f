// The queue's form. Each field is sent when it is left or entered; Escape resets it.
import { ask, mix, onDone, redraw, send } from "./acts.js";
import { openBox } from "./editor.js";
import { all, board, listen, one, onPaint, queue } from "./page.js";

const FIELD = "#traced-queue [data-filter]";
const MEANING = "#traced-queue [data-by-meaning]", HOW = "#traced-queue [data-how]", MEANING_FIELD = "#traced-queue .search [data-filter=meaning]";
let byPointer = false, hasGoneOn = false;
listen("pointerdown", () => { byPointer = hasGoneOn = true; }, true);
listen("keydown", () => { byPointer = false; hasGoneOn = true; }, true);

const asDrawn = (field) => (field.options ? (one("option[selected]", field) ?? field.options[0]).value : field.getAttribute("value") ?? "");

listen("change", ({ target }) => {
  if (target.matches("#traced-queue [data-mixed]")) mix(target.checked);
  if (target.matches(FIELD)) choose();
  if (target.matches(MEANING)) all("#traced-queue .search [data-filter]").find((field) => field.checkVisibility())?.focus();
  // The next key acts on the page. Boxes that the keyboard reached are left by it.
  else if (target.matches("#traced-queue select") || (byPointer && target.matches("#traced-queue :is([type=checkbox], [type=radio]), [data-card-size]"))) target.blur();
});

const chosen = () => Object.fromEntries(all(FIELD).map((field) => [field.dataset.filter, field.value]));
function choose() {
  const filter = chosen(), drawn = asDrawn(one(MEANING_FIELD)), isNew = filter.meaning && filter.meaning !== drawn;
  if (isNew && filter.meaning !== sought) { seek(filter.meaning); return; }
  if (isNew) filter.meaning = drawn;  // another filter does not wait for the search
  else setSought("");
  send("filter", { filter });
}

/** What is searched by meaning at the moment, and whether it is found. The first time a model is loaded for it: the server
 * does that beside the acts, and the board is used meanwhile. */
let sought = "", isFound = false;
let place = "";  // the queue that is searched
const placeNow = () => `${queue()?.dataset.dataset} ${queue()?.dataset.link}`;

async function seek(text) {
  setSought(text);
  hasGoneOn = false;
  place = placeNow();
  await ask("find-meaning", { text });
  if (sought !== text) return;
  // It shows another pair: never under the hands of somebody who works or writes.
  if (hasGoneOn || openBox()) setSought(text, true); else showFound();
}
function showFound() {
  const filter = { ...chosen(), meaning: sought };
  setSought("");
  send("filter", { filter });
}
function setSought(text, found = false) { sought = text; isFound = found; tellSought(); }
function tellSought() {
  const searching = one("#traced-queue [data-sought]"), found = one("#traced-queue [data-found]");
  if (searching) { searching.hidden = !sought || isFound; found.hidden = !isFound; }
}
onPaint("queue", tellSought);
listen("click", ({ target }) => { if (target.closest("[data-show-found]")) showFound(); });
// Who goes to another queue or dataset does not search this one any longer.
onDone(({ action }) => {
  if (sought && action !== "filter" && placeNow() !== place) {
    setSought("");
    all(MEANING_FIELD).forEach((field) => { field.value = asDrawn(field); });
  }
  place = placeNow();
});

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
