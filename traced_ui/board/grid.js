// Many pairs at once: cards to select, one verdict for all of them, and the forms for many pairs.
import { decide, isUnderWay, send, state } from "./acts.js";
import { all, listen, one, onPaint, opensForm, paint } from "./page.js";
import { isSeen } from "./seen.js";

const CARD_SIZE = "traced-card-size", ALL_ROWS = 1000;  // the server has its own limit
const cards = () => all("#traced-stage .pick");
const box = (card) => one("input", card);
const picked = () => cards().filter((card) => box(card).checked);
const asSeen = (card) => `${card.dataset.pick}:${card.dataset.version}`;
/** @type {Set<string>} kept over a redraw, for pairs that are still shown and unchanged */
let selected = new Set();
let last = null;

export const isGrid = () => cards().length > 0;
/** The selected pairs, each with the version and the fingerprint that were seen. */
export const pairs = () => picked().map(({ dataset }) => [Number(dataset.pick), Number(dataset.version), dataset.fingerprint]);

function tellPicked() {
  selected = new Set(picked().map(asSeen));
  const shown = one("#traced-stage [data-count]");
  if (shown) shown.textContent = selected.size ? `${selected.size} selected` : "none selected";
}

let isSelectingAll = false;  // more rows have been asked for
export function selectAll() {
  if (one("#traced-stage [data-more]")) {
    isSelectingAll = true;
    send("more-rows", { by: ALL_ROWS });
    return;
  }
  const every = picked().length < cards().length;
  cards().forEach((card) => { box(card).checked = every; });
  tellPicked();
}

export function decideMany(decision) {
  const note = one("[data-note-for-many]")?.value ?? "";
  if (pairs().length && !isSeen({ cards: picked() })) return;
  if (pairs().length) send("many", { decision, pairs: pairs(), note });
  else decide(decision);
}

/** Take a tag of the pairs into the field. */
export function fill(tag) {
  const field = one("#traced-edit [data-edit=name]");
  field.value = tag;
  field.focus();
}

export function bulk(what) {
  const form = one("#traced-edit [data-form]");
  if (!form) return;
  if (what === "close") { paint({ edit: "" }); return; }
  const edit = Object.fromEntries(all("[data-edit]", form).map((field) => [field.dataset.edit, field.type === "checkbox" ? field.checked : field.value]));
  send(`${form.dataset.form}-${what}`, { edit, pairs: pairs(), filter: state.filter });
}

const sizeCards = (size) => one("#traced-stage .picks")?.style.setProperty("--card", `${size}px`);

listen("input", ({ target }) => {
  if (!target.matches("[data-card-size]")) return;
  localStorage.setItem(CARD_SIZE, target.value);
  sizeCards(target.value);
});

listen("click", (event) => {
  const { target } = event;
  const large = target.closest("[data-enlarge]");
  if (large) {
    event.preventDefault();
    const dialog = one("#traced-returned dialog.enlarged");
    one("img", dialog).src = large.dataset.enlarge;
    dialog.showModal();
    return;
  }
  const card = target.closest("#traced-stage .pick");
  if (!card || target.tagName !== "INPUT") return;
  const list = cards(), here = list.indexOf(card), before = list.indexOf(last);
  if (event.shiftKey && before >= 0) list.slice(Math.min(here, before), Math.max(here, before) + 1).forEach((one) => { box(one).checked = target.checked; });
  last = card;
  tellPicked();
});

onPaint("stage", () => {
  if (!isGrid()) return;
  const size = localStorage.getItem(CARD_SIZE);
  if (size && one("[data-card-size]")) { one("[data-card-size]").value = size; sizeCards(size); }
  cards().forEach((card) => { box(card).checked = isSelectingAll || selected.has(asSeen(card)); });
  isSelectingAll = false;
  tellPicked();
});
// The table: which columns are shown is kept in this browser; a caption is saved when it is left.
const HIDDEN = "traced-hidden-columns";
/** Nobody has chosen any yet: those that the server leaves without a tick. */
const folded = () => all("#traced-stage [data-column]:not([checked])").map(({ dataset }) => dataset.column);
const hidden = () => new Set(JSON.parse(localStorage.getItem(HIDDEN) ?? "null") ?? folded());
function showColumns() {
  const names = hidden();
  for (const cell of all("#traced-stage [data-cell]")) cell.hidden = names.has(cell.dataset.cell);
  for (const box of all("#traced-stage [data-column]")) box.checked = !names.has(box.dataset.column);
}
onPaint("stage", showColumns);
/** How far the page and the cards are scrolled, in the grid that begins with the pair `first`. */
let left = { first: "", page: 0, cards: 0 };
const firstCard = () => one("#traced-stage label.pick")?.dataset.pick ?? "";
listen("scroll", () => { if (firstCard()) left = { first: firstCard(), page: scrollY, cards: one("#traced-stage .picks").scrollTop }; }, true);
let wasGrid = false;
onPaint("stage", () => {  // another view begins at its top, the grid that was left where it was
  if (isGrid() !== wasGrid) {
    const isBack = isGrid() && left.first === firstCard();
    const { page, cards } = isBack ? left : { page: 0, cards: 0 };
    scrollTo(0, page);
    if (isGrid()) one("#traced-stage .picks").scrollTop = cards;
  }
  wasGrid = isGrid();
});
let wasTable = false;
onPaint("stage", () => {  // the row of the pair that was open
  const row = one(`#traced-stage tr#pick-${state.pair}`);
  if (row && !wasTable) { row.scrollIntoView({ block: "nearest" }); box(row).focus({ preventScroll: true }); }
  wasTable = Boolean(one("#traced-stage tr.pick"));
});
/** @type {IntersectionObserver | null} near its end the table gets more rows */
let end = null;
onPaint("stage", () => {
  end?.disconnect();
  const more = one("#traced-stage [data-more]");
  if (!more) return;
  end = new IntersectionObserver(([entry]) => { if (entry.isIntersecting) send("more-rows"); }, { rootMargin: "500px", scrollMargin: "500px" });
  end.observe(more);
});
/** Write the caption of the row that has the focus. */
export function editRow() { one("[data-caption]", document.activeElement?.closest(".pick") ?? cards()[0])?.focus(); }
listen("change", ({ target }) => {
  const name = target.dataset?.column, names = hidden();
  if (name !== undefined) {
    if (target.checked) names.delete(name); else names.add(name);
    localStorage.setItem(HIDDEN, JSON.stringify([...names]));
    showColumns();
  }
});
listen("focusout", ({ target }) => {  // but not when the whole window is left
  if (!target.matches?.("[data-caption]") || target.value === target.defaultValue || document.activeElement === target) return;
  const { pick, version, fingerprint } = target.closest(".pick").dataset;
  send("edit-caption", { pair: Number(pick), version: Number(version), fingerprint, text: target.value });
  target.defaultValue = target.value;
});
listen("keydown", (event) => {
  const { target, key } = event, row = target.closest?.("tr.pick");
  if (!row || !["Enter", "Escape"].includes(key)) return;
  if (target.matches("[data-caption]")) {
    if (key === "Escape") target.value = target.defaultValue;
    event.preventDefault();
    box(row).focus();
  } else if (key === "Enter" && target === box(row)) send("open", { target: Number(row.dataset.pick) });
}, true);
/** A cell of a CSV file; a formula is made text, as in exports. */
const csv = (text) => `"${(/^'*[=+\-@\t\r\n]/.test(text) && !/^[+-]?[\d.]+(e[+-]?\d+)?$/i.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
listen("click", ({ target }) => {
  if (!target.closest("[data-copy]")) return;
  const rows = [one("#traced-stage thead tr"), ...(picked().length ? picked() : cards())];
  const cells = (row) => all("[data-cell]:not([hidden])", row).map((cell) => csv(one("textarea", cell)?.value ?? cell.dataset.number ?? cell.textContent.trim()));
  navigator.clipboard.writeText(rows.map((row) => cells(row).join(",")).join("\r\n"));
  one("#traced-stage [data-copy]").textContent = rows.length === 2 ? "1 row copied" : `${rows.length - 1} rows copied`;
});
let typed = "";
/** Keep what is typed while a form is on its way: no key of it gives a verdict. */
export function typeAhead(key) {
  const isComing = isUnderWay(opensForm);
  if (isComing && key.length === 1) typed += key;
  return isComing;
}
onPaint("edit", () => {
  const form = one("#traced-edit [data-form]");
  if (form) all("#traced-queue .more[open]").forEach((drawer) => { drawer.open = false; });  // it would cover the form
  if (form && !one(".counts", form)) {
    const field = one("input:not([type=hidden]), select", form);
    field.focus();
    if (field.type === "text") field.value += typed;
  }
  typed = "";
  form?.scrollIntoView({ block: "nearest" });
});
