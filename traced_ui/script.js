// Keys, clicks and typing on the review page, sent to the server through one component.
// Runs once (js_on_load of the bus); everything is delegated, so that redrawn parts need no hooks.
const keys = JSON.parse(element.querySelector("[data-keys]").dataset.keys);
const local = new Set(["help", "zoom", "edit", "search", "words"]);
const send = (payload) => trigger("keypress", payload);
const STAGE = "#traced-stage [data-pair]", QUEUE = "#traced-queue [data-link]";
const stage = () => document.querySelector(STAGE);
const reviewShown = () => { const s = document.querySelector("#traced-stage"); return s && s.offsetParent !== null; };

function payload(action, more = {}) {
  const s = stage();
  return { action, pair: s ? Number(s.dataset.pair) : null, version: s ? Number(s.dataset.version) : null, ...more };
}

function doLocal(action) {
  if (action === "help") {
    const help = document.getElementById("traced-help");
    if (help) { help.hidden = !help.hidden; if (!help.hidden) help.querySelector("button").focus(); }
  } else if (action === "zoom") {
    const large = document.querySelector("#traced-stage .picture")?.classList.toggle("large");
    zoomed = large ? stage()?.dataset.pair : null;
  } else if (action === "edit") {
    const box = document.querySelector("#traced-stage details.correction");
    if (box) { box.open = true; const area = box.querySelector("textarea"); area.focus(); area.select(); box.scrollIntoView({ block: "nearest" }); }
  } else if (action === "words") {
    const words = wordsShown();
    (words.find((w) => w.classList.contains("suspect")) || words[0])?.focus();
  } else if (action === "search") {
    const field = document.querySelector("#traced-queue [data-filter=text]");
    if (field) { field.focus(); field.select(); }
  }
}

const wordsShown = () => [...document.querySelectorAll("#traced-stage .word[role=button]")];
let zoomed = null;  // the pair whose picture is large, while one steps along its trajectory
let wordInFocus = null;  // kept over the redraw that a mark brings

// Keys while a word has the focus: along the caption, mark. Escape leaves, see below.
function onWord(word, event) {
  const words = wordsShown(), step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step) words[words.indexOf(word) + step]?.focus();
  else if (event.key === "Enter" || event.key === " ") { wordInFocus = word.dataset.word; markWord(word); }
  else return false;
  event.preventDefault();
  return true;
}

function markWord(word) { send(payload("mark-word", { word: Number(word.dataset.word) })); }

// The grid: what is selected, and one verdict for all of it.
const decisions = element.querySelector("[data-decisions]").dataset.decisions.split(" ");
const picks = () => [...document.querySelectorAll("#traced-stage .pick")];
const picked = () => picks().filter((pick) => pick.querySelector("input").checked);
let selected = new Set();  // kept over a redraw, for pairs that are still there as they were
const asSeen = (pick) => `${pick.dataset.pick}:${pick.dataset.version}`;
function tellPicked() {
  selected = new Set(picked().map(asSeen));
  const shown = document.querySelector("#traced-stage [data-count]");
  if (shown) shown.textContent = picked().length ? `${picked().length} selected` : "none selected";
}
function decideMany(decision) {
  const pairs = picked().map((pick) => [Number(pick.dataset.pick), Number(pick.dataset.version)]);
  send(pairs.length ? { action: "many", decision, pairs } : { action: decision });
}

function act(action, more) {
  if (decisions.includes(action) && picks().length) { decideMany(action); return; }
  if (local.has(action)) doLocal(action);
  else { tellSaving(action); send(payload(action, more)); }
}

// The verdict that is on its way shows at once; that it is saved, only the server says. Its answer
// ends it (`review.ANSWERED`), whatever it is.
function tellSaving(action) {
  document.querySelector(`#traced-stage [data-action="${action}"]`)?.classList.add("saving");
}

let correctionSent = null;  // the own correction that is on its way: {pair, version}
function saveEdit() {
  const area = document.querySelector("#traced-stage details.correction textarea");
  if (area) { correctionSent = { ...stage().dataset }; send(payload("correction", { text: area.value })); area.blur(); }
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable=true]");
  if (event.key === "Escape") {
    const help = document.getElementById("traced-help");
    if (help && !help.hidden) { help.hidden = true; return; }
    event.target.closest?.("#traced-stage .word[role=button]")?.blur();
    if (typing && typing.closest("#traced-stage, #traced-queue")) {
      typing.blur();
      const box = typing.closest("details.correction"); if (box) box.open = false;
    }
    return;
  }
  if (typing) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && typing.closest("details.correction")) { event.preventDefault(); saveEdit(); }
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
  // A held key must not decide a row of pairs that nobody has seen.
  if (!action || (event.repeat && !["next", "previous", "step-forward", "step-back"].includes(action))) return;
  event.preventDefault();
  act(action, { key: true });
});

document.addEventListener("click", (event) => {
  const here = event.target.closest("[data-local]");
  if (here) { doLocal(here.dataset.local); return; }
  const word = event.target.closest("#traced-stage .word[role=button]");
  if (word) { markWord(word); return; }
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
  waiting = setTimeout(() => send(payload("check", { text: area.value })), 600);
});

// Into view within its own list; the page itself must not jump.
function reveal(item) {
  const list = item?.parentElement;
  if (!list) return;
  const inner = item.getBoundingClientRect(), outer = list.getBoundingClientRect();
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
}

// The address names the dataset, the queue and the pair: sent to a colleague, it opens just this.
function tellAddress(pair) {
  const queue = document.querySelector(QUEUE);
  const address = new URL(location.href);
  const told = new URLSearchParams(queue ? queue.dataset.link : "");
  const theme = address.searchParams.get("__theme");
  if (theme) told.set("__theme", theme);
  if (queue) told.set("dataset", queue.dataset.dataset);
  told.set("pair", pair);
  address.search = told.toString();
  if (address.href !== location.href) history.replaceState(null, "", address);
}

// What is to be done to a part of the page whenever the server has drawn it anew. Gradio may change
// nothing but letters and attributes in place; the mark is not the server's and goes with a redraw.
const redrawn = new Map();
function onRedraw(selector, act) { redrawn.set(selector, [...(redrawn.get(selector) ?? []), act]); }
new MutationObserver(() => {
  // An answer about an edit that came after the page had moved on.
  const checked = document.querySelector("#traced-check [data-checked]"), s = stage();
  if (checked && s && checked.dataset.checked !== s.dataset.pair) checked.remove();
  for (const [selector, acts] of redrawn) {
    const part = document.querySelector(selector);
    if (part && part.dataset.seen !== "1") { part.dataset.seen = "1"; acts.forEach((act) => act(part)); }
  }
  document.querySelectorAll("#traced-chart .js-plotly-plot").forEach((chart) => {
    if (chart.dataset.hooked || !chart.on) return;
    chart.dataset.hooked = "1";
    chart.on("plotly_click", (data) => send(payload("step", { step: Math.round(data.points[0].x) })));
  });
}).observe(document.body, { childList: true, subtree: true, attributeFilter: ["data-seen"] });

// Address, pictures of the next pairs, the current row and step in view.
const prepared = new Set();
onRedraw(STAGE, (s) => {
  tellAddress(s.dataset.pair);
  s.querySelector(".picture")?.classList.toggle("large", zoomed === s.dataset.pair);
  if (wordInFocus !== null) { s.querySelector(`.word[data-word="${wordInFocus}"]`)?.focus(); wordInFocus = null; }
  (s.dataset.prefetch || "").split(" ").filter(Boolean).forEach((source) => {
    if (!prepared.has(source)) { prepared.add(source); new Image().src = source; }
  });
  reveal(document.querySelector("#traced-queue [aria-current=true]"));
});
onRedraw(QUEUE, () => { const s = stage(); if (s) tellAddress(s.dataset.pair); });
onRedraw("#traced-stage .picks", () => {
  picks().forEach((pick) => { pick.querySelector("input").checked = selected.has(asSeen(pick)); });
  tellPicked();
});
onRedraw("#traced-check [data-checked]", (checked) => checked.scrollIntoView({ block: "nearest" }));
onRedraw("#traced-steps [aria-current=step]", reveal);
