// Keys, clicks and typing on the review page, sent to the server through one component.
// Runs once (js_on_load of the bus); everything is delegated, so that redrawn parts need no hooks.
const keys = JSON.parse(element.querySelector("[data-keys]").dataset.keys);
const local = new Set(["queue", "help", "zoom", "edit", "note", "guidelines", "search", "words", "phrases", "theme", "skip"]);
let whenSaved = (act) => act(), decideAhead = () => false;  // see read_ahead.js
let raiseNumber = () => {}, pairShown = () => null;  // see late_answers.js

// One event at a time: concurrent events may overtake each other.
const PATIENT = 10_000;  // ms; a response may be lost
const unanswered = [];  // the first one has been sent
let outstanding = 0;  // these and the events that wait for verdicts to be saved
let losing = null;
const isBusy = () => unanswered.length > 0;
const send = (payload) => {
  outstanding += 1;
  whenSaved(() => { if (unanswered.push(payload) === 1) sendFirst(); });
};
function sendFirst() {
  clearTimeout(losing);
  if (!isBusy()) return;
  losing = setTimeout(sendNext, PATIENT);
  trigger("keypress", unanswered[0]);
}
function sendNext() {
  if (unanswered.shift()) outstanding -= 1;
  sendFirst();
}
document.addEventListener("traced-answered", sendNext);
const STAGE = "#traced-stage [data-pair]", QUEUE = "#traced-queue [data-link]";
const stage = () => document.querySelector(STAGE);
let tellAddress = () => {};  // see addresses.js
const NOTE = "#traced-stage details.note textarea";  // sent with every action on the pair
const reviewShown = () => { const s = document.querySelector("#traced-stage"); return s && s.offsetParent !== null; };

function payload(action, more = {}) {
  const s = stage();
  return { action, pair: s ? Number(s.dataset.pair) : null, version: s ? Number(s.dataset.version) : null, note: document.querySelector(NOTE)?.value, ...more };
}

// The theme chosen with the toolbar's button overrides the system's.
const setDark = (dark) => document.body.classList.toggle("dark", dark ?? !document.body.classList.contains("dark"));
const theme = localStorage.getItem("traced-theme");
if (theme && !new URL(location.href).searchParams.has("__theme")) setDark(theme === "dark");

// On a phone the queue and its filters are a drawer over the page.
const queueOpen = () => document.querySelector("#traced-review")?.dataset.queue === "open";
function showQueue(open) {
  const review = document.querySelector("#traced-review");
  if (!review || open === queueOpen()) return;
  review.dataset.queue = open ? "open" : "closed";
  const button = document.querySelector(".tool-queue");
  button?.setAttribute("aria-expanded", String(open));
  if (open) document.querySelector("#traced-queue :is(select, input, button)")?.focus();
  else button?.focus();
}

function doLocal(action) {
  if (action === "queue") { showQueue(!queueOpen()); return; }
  if (action === "theme") {
    const dark = setDark();
    localStorage.setItem("traced-theme", dark ? "dark" : "light");
    return;
  }
  if (action === "help") {
    const help = document.getElementById("traced-help");
    if (help) { help.hidden = !help.hidden; if (!help.hidden) help.querySelector("[data-local=help]").focus({ preventScroll: true }); }
  } else if (action === "zoom") {
    toggleZoom();
  } else if (action === "edit" || action === "note") {
    const box = document.querySelector(`#traced-stage details.${action === "edit" ? "correction" : "note"}`);
    if (box) { box.open = true; const area = box.querySelector("textarea"); area.focus(); if (action === "edit") area.select(); box.scrollIntoView({ block: "nearest" }); }
    else document.querySelector("[data-note-for-many]")?.focus();
  } else if (action === "guidelines") {
    const box = document.querySelector(GUIDELINES);
    if (box) { box.open = !box.open; box.scrollIntoView({ block: "nearest" }); }
  } else if (action === "phrases") {
    const box = document.querySelector(PHRASES);
    if (box) { box.open = !box.open; box.scrollIntoView({ block: "nearest" }); }
  } else if (action === "words") {
    const words = wordsShown();
    const suspicion = (word) => Number(word.style.getPropertyValue("--suspicion"));
    words.reduce((most, word) => (suspicion(word) > suspicion(most) ? word : most), words[0])?.focus();
  } else if (action === "skip") {  // skip header and filters
    const page = [...document.querySelectorAll("[role=tabpanel]")].find((panel) => panel.checkVisibility());
    const first = page?.querySelector("#traced-stage .verdicts button") ?? page?.querySelector("input, textarea, button, select, a[href]");
    first?.focus();
  } else if (action === "search") {
    const field = document.querySelector("#traced-queue [data-filter=text]");
    if (field) { field.focus(); field.select(); }
  }
}

const wordsShown = () => [...document.querySelectorAll("#traced-stage .word[role=button]")];
let toggleZoom = () => {};  // see zoom.js
const PHRASES = "#traced-steps [data-phrases]";
const GUIDELINES = "#traced-steps [data-guidelines]";
let guidelinesOpen = false;  // on the next pair as on this one
let phrasesOpen = false;  // on the next pair as on this one
let wordInFocus = null;  // kept over the redraw after a word is marked

// Keys while a word is focused: move along the caption, mark the word. Escape leaves, see below.
function onWord(word, event) {
  const words = wordsShown(), step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step) words[words.indexOf(word) + step]?.focus();
  else if (event.key === "Enter" || event.key === " ") { wordInFocus = word.dataset.word; markWord(word); }
  else return false;
  event.preventDefault();
  return true;
}

function markWord(word) { send(payload("mark-word", { word: Number(word.dataset.word) })); }

// The grid: the selected pairs, and one verdict for all of them.
const decisions = element.querySelector("[data-decisions]").dataset.decisions.split(" ");
const picks = () => [...document.querySelectorAll("#traced-stage .pick")];
const picked = () => picks().filter((pick) => pick.querySelector("input").checked);
let selected = new Set();  // kept over a redraw, for pairs that are still shown and unchanged
const asSeen = (pick) => `${pick.dataset.pick}:${pick.dataset.version}`;
function tellPicked() {
  selected = new Set(picked().map(asSeen));
  const shown = document.querySelector("#traced-stage [data-count]");
  if (shown) shown.textContent = picked().length ? `${picked().length} selected` : "none selected";
}
function decideMany(decision) {
  const pairs = asPairs();
  const note = document.querySelector("[data-note-for-many]")?.value;
  send(pairs.length ? { action: "many", decision, pairs, note } : { action: decision });
}

// The card size is stored in the browser; a picture can be enlarged without leaving the grid.
const CARD_SIZE = "traced-card-size";
function sizeCards(size) {
  document.querySelector("#traced-stage .picks")?.style.setProperty("--card", `${size}px`);
}
document.addEventListener("input", ({ target }) => {
  if (!target.matches("[data-card-size]")) return;
  localStorage.setItem(CARD_SIZE, target.value);
  sizeCards(target.value);
});
function enlarge(button) {
  const dialog = document.querySelector("#traced-returned dialog.enlarged");
  dialog.querySelector("img").src = button.dataset.enlarge;
  dialog.showModal();
}

// One edit for many captions.
const EDIT = "#traced-check [data-bulk-edit]";
const asPairs = () => picked().map((pick) => [Number(pick.dataset.pick), Number(pick.dataset.version)]);
function bulk(what) {
  const form = document.querySelector(EDIT);
  if (!form) return;
  if (what === "close") { form.remove(); return; }
  const edit = {};
  form.querySelectorAll("[data-edit]").forEach((f) => { edit[f.dataset.edit] = f.type === "checkbox" ? f.checked : f.value; });
  send(payload(`edit-${what}`, { edit, pairs: asPairs() }));
}

function act(action, more) {
  if (action === "replace") { send(payload("replace", { pairs: asPairs() })); return; }
  if (decisions.includes(action) && picks().length) { decideMany(action); return; }
  if (local.has(action)) doLocal(action);
  else if (!decideAhead(action)) { tellSaving(action); send(payload(action, more)); }
}

// A pending verdict is marked at once; only the server confirms that it is saved. Any response ends
// the marking (`review.ANSWERED`).
function tellSaving(action) {
  document.querySelector(`#traced-stage [data-action="${action}"]`)?.classList.add("saving");
}

let correctionSent = null;  // the curator's correction that is being sent: {pair, version}
let dropDraft = () => {};  // see half_done.js
function saveEdit() {
  const area = document.querySelector("#traced-stage details.correction textarea");
  if (!area) return;
  const text = area.value;
  area.blur();
  if (decideAhead("correction", text)) return;
  correctionSent = { ...stage().dataset };
  send(payload("correction", { text }));
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable=true]");
  if (event.key === "Escape") {
    const help = document.getElementById("traced-help");
    if (help && !help.hidden) { help.hidden = true; return; }
    if (queueOpen()) { typing?.blur(); showQueue(false); return; }
    if (!typing && document.querySelector("#traced-toast [data-question]")) { send(payload("leave")); return; }
    event.target.closest?.("#traced-stage .word[role=button]")?.blur();
    if (event.target.closest?.(EDIT)) { bulk("close"); return; }
    if (typing && typing.closest("#traced-stage, #traced-queue")) {
      typing.blur();
      const box = typing.closest("details.correction, details.note"); if (box) box.open = false;
    }
    return;
  }
  if (typing) {
    if (event.key === "Enter" && typing.closest(EDIT)) { event.preventDefault(); bulk("preview"); return; }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && typing.closest("details.correction")) { event.preventDefault(); saveEdit(); }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && typing.matches(NOTE)) { event.preventDefault(); typing.blur(); send(payload("save-note")); }
    return;
  }
  if ((event.ctrlKey || event.metaKey) && event.key === "a" && reviewShown() && picks().length) {
    event.preventDefault();
    const every = picked().length < picks().length;
    picks().forEach((pick) => { pick.querySelector("input").checked = every; });
    tellPicked();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey || !reviewShown()) return;
  const word = event.target.closest?.("#traced-stage .word[role=button]");
  if (word && onWord(word, event)) return;
  const action = keys[event.key];
  // A held key must not decide several unseen pairs, nor continue after it is released.
  if (!action || (event.repeat && !["next", "previous", "step-forward", "step-back"].includes(action))) return;
  event.preventDefault();
  if (event.repeat && isBusy()) return;
  act(action, { key: true });
});

document.addEventListener("click", (event) => {
  if (queueOpen() && (!event.target.closest("#traced-left") || event.target.closest("#traced-queue .pairs button"))) showQueue(false);
  const here = event.target.closest("[data-local]");
  if (here?.matches(".picture") && event.detail) return;  // a mouse: see zoom.js
  if (here) { if (here.matches("a")) event.preventDefault(); doLocal(here.dataset.local); return; }
  const word = event.target.closest("#traced-stage .word[role=button]");
  if (word) { markWord(word); return; }
  const edit = event.target.closest("[data-bulk]");
  if (edit) { bulk(edit.dataset.bulk); return; }
  const large = event.target.closest("[data-enlarge]");
  if (large) { event.preventDefault(); enlarge(large); return; }
  const many = event.target.closest("[data-many]");
  if (many) { decideMany(many.dataset.many); return; }
  const button = event.target.closest("[data-action]");
  if (!button || button.disabled) return;
  if (button.dataset.action === "save-edit") { saveEdit(); return; }
  const more = {};
  if (button.dataset.action === "save-view") more.name = document.querySelector("#traced-queue [data-view-name]")?.value || "";
  if (button.dataset.name !== undefined) more.name = button.dataset.name;
  for (const name of ["step", "target", "after"]) if (button.dataset[name] !== undefined) more[name] = Number(button.dataset[name]);
  act(button.dataset.action, more);
});

let lastPick = null;
document.addEventListener("click", (event) => {
  const pick = event.target.closest("#traced-stage .pick");
  if (!pick || event.target.tagName !== "INPUT") return;
  const all = picks(), here = all.indexOf(pick), before = all.indexOf(lastPick);
  if (event.shiftKey && before >= 0) {
    const checked = event.target.checked;
    all.slice(Math.min(here, before), Math.max(here, before) + 1).forEach((p) => { p.querySelector("input").checked = checked; });
  }
  lastPick = pick;
  tellPicked();
});

document.addEventListener("change", (event) => {
  const view = event.target.closest("[data-view]");
  if (view) { send(payload("view", { name: view.value })); return; }
  const field = event.target.closest("[data-filter]");
  if (!field) return;
  const filter = {};
  document.querySelectorAll("#traced-queue [data-filter]").forEach((f) => { filter[f.dataset.filter] = f.value; });
  send(payload("filter", { filter }));
});

let waiting = null;
document.addEventListener("input", (event) => {
  const area = event.target.closest("details.correction textarea");
  if (!area) return;
  clearTimeout(waiting);
  waiting = setTimeout(() => trigger("input", payload("check", { text: area.value })), 600);
});

// Scroll the item into view within its list; the page itself must not jump.
function reveal(item) {
  const list = item?.parentElement;
  if (!list) return;
  const inner = item.getBoundingClientRect(), outer = list.getBoundingClientRect();
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
}

// Run `act` on a part of the page whenever the server has redrawn it. Gradio may only change text and
// attributes in place; `data-seen` is not the server's, so a redraw removes it.
const redrawn = new Map();
function onRedraw(selector, act) { redrawn.set(selector, [...(redrawn.get(selector) ?? []), act]); }
new MutationObserver(() => {
  // A check of an edit that arrived after the page moved on.
  const checked = document.querySelector("#traced-check [data-checked]"), s = stage();
  if (checked && s && checked.dataset.checked !== s.dataset.pair) checked.remove();
  for (const [selector, acts] of redrawn) {
    const part = document.querySelector(selector);
    if (part && part.dataset.seen !== "1") { part.dataset.seen = "1"; acts.forEach((act) => act(part)); }
  }
}).observe(document.body, { childList: true, subtree: true, attributeFilter: ["data-seen"] });

// Update the URL, prefetch the pictures of the next pairs, scroll the current row and step into view.
const prepared = new Set();
onRedraw(STAGE, (s) => {
  tellAddress();
  if (wordInFocus !== null) { s.querySelector(`.word[data-word="${wordInFocus}"]`)?.focus(); wordInFocus = null; }
  (s.dataset.prefetch || "").split(" ").filter(Boolean).forEach((source) => {
    if (!prepared.has(source)) { prepared.add(source); new Image().src = source; }
  });
  reveal(document.querySelector("#traced-queue [aria-current=true]"));
});
onRedraw(QUEUE, () => tellAddress());
// Messages disappear by themselves, longer ones later; not while the mouse is over them, and not
// questions and errors.
let leaving = null;
onRedraw("#traced-toast .traced-note:not([data-question])", (toast) => {
  clearTimeout(leaving);
  if (toast.matches(".error")) return;
  const leave = () => {
    if (!toast.isConnected) return;
    if (toast.matches(":hover, :focus-within")) { leaving = setTimeout(leave, 1500); return; }
    toast.remove();
  };
  leaving = setTimeout(leave, 4000 + 60 * toast.textContent.length);
});
onRedraw("#traced-toast [data-question]", (question) => question.querySelector("button").focus());
onRedraw("#traced-stage .picks", () => {
  const size = localStorage.getItem(CARD_SIZE), slider = document.querySelector("[data-card-size]");
  if (size) { slider.value = size; sizeCards(slider.value); }
  picks().forEach((pick) => { pick.querySelector("input").checked = selected.has(asSeen(pick)); });
  tellPicked();
});
onRedraw(EDIT, (form) => { form.scrollIntoView({ block: "nearest" }); if (!form.querySelector(".counts")) form.querySelector("input").focus(); });
onRedraw("#traced-check [data-checked]", (checked) => checked.scrollIntoView({ block: "nearest" }));
onRedraw("#traced-steps [aria-current=step]", reveal);
onRedraw(GUIDELINES, (box) => { box.open = guidelinesOpen; box.ontoggle = () => { guidelinesOpen = box.open; }; });
onRedraw(PHRASES, (box) => { box.open = phrasesOpen; box.ontoggle = () => { phrasesOpen = box.open; }; });
