// Keys and buttons of the page, and own key bindings, which are kept in this browser.
import { ask, confirm, decide, go, leaveIt, redraw, send } from "./acts.js";
import { labelClaim, moveClaim, removeClaim, selectAt, selectedSpan } from "./claims.js";
import { closeNote, edit, isEditing, openBox, save, stopEditing, writeNote } from "./editor.js";
import { isOpen, showQueue } from "./filters.js";
import { bulk, decideMany, editRow, fill, isGrid, pairs, selectAll, typeAhead } from "./grid.js";
import { say } from "./messages.js";
import { all, asksModel, isVerdict, listen, one, onPaint, opensForm, paint } from "./page.js";
import { goBy } from "./steps.js";
import { toggleZoom } from "./zoom.js";

const WAYS = { next: 1, previous: -1 };
const KEPT = "traced-keys", REPEATED = ["next", "previous", "step-forward", "step-back", "claim-next", "claim-previous"];
const WORD = "#traced-stage .words .word[role=button]", HELP = "#traced-help";
const OPEN = "#traced-queue .more[open], #traced-stage :is(.columns, li > details)[open]";  // over the pair
const FIELD = "input:not([type=checkbox], [type=radio], [type=range]), textarea, [data-form] select, [contenteditable=true]";
const CONTROL = "input, select", CARDS = "#traced-stage .picks";  // other parts of a form; the boxes of cards are the board's own
const OF_FORMS = ["search", "help"];  // what letters still do while one of them has the focus
const SEARCH = "#traced-queue .search [data-filter]";
const COVERS = `:modal, #traced-numbers:popover-open, ${HELP}:not([hidden])`;  // lie over the page
const GUIDELINES = "#traced-steps [data-guidelines]", PHRASES = "#traced-steps [data-phrases]";
/** @type {Record<string, string>} action by key */
let keys = {}, standard = {};
/** @type {Record<string, string>} key by action */
let own = JSON.parse(localStorage.getItem(KEPT) ?? "{}");
let asking = null;  // the button waiting for a key

export function start(table) { standard = table; use(); }

// ---------------------------------------------------------------- what a key does

const LOCAL = {
  queue: () => showQueue(!isOpen()),
  help: toggleHelp,
  zoom: () => toggleZoom(),
  edit: () => (isGrid() ? editRow() : edit()),
  note: writeNote,
  guidelines: () => fold(GUIDELINES),
  phrases: () => fold(PHRASES),
  words: () => {
    const suspicion = (word) => Number(word.style.getPropertyValue("--suspicion"));
    all(WORD).reduce((most, word) => (most && suspicion(most) >= suspicion(word) ? most : word), null)?.focus();
  },
  search: () => { const field = all(SEARCH).find((each) => each.checkVisibility()); field?.focus(); field?.select(); },
  "claim-next": () => moveClaim(1),
  "claim-previous": () => moveClaim(-1),
  "claim-right": () => labelClaim("right"),
  "claim-wrong": () => labelClaim("wrong"),
  "claim-remove": removeClaim,
  "step-forward": () => goBy(1),
  "step-back": () => goBy(-1),
};
/** An act of the browser alone that a feature's script adds. @param {string} action @param {() => void} does */
export function addLocal(action, does) { LOCAL[action] = does; }

/** The same tab is open on the next pair as on this one. */
let openTab = "signs";
function rememberTab(box) {
  const { tab } = box.dataset;
  if (tab && tab !== "note" && box.open) openTab = tab;
  else if (tab === openTab && box.isConnected && !one("#traced-steps details.note[open]")) openTab = "";
}
listen("toggle", ({ target }) => rememberTab(target), true);
onPaint("steps", (isSame) => {
  const tab = one(`#traced-steps [data-tab="${openTab}"]`);
  if (!isSame && tab && !one("#traced-steps details.note[open]")) tab.open = true;
});

function fold(part) {
  const box = one(part);
  if (!box) return;
  box.open = !box.open;
  rememberTab(box);  // the event comes later, perhaps only when a next key has brought another pair
  box.scrollIntoView({ block: "nearest" });
}

function act(action, more = {}) {
  if (LOCAL[action]) LOCAL[action]();
  else if (isVerdict(action)) { if (isGrid()) decideMany(action); else decide(action); }
  else if (action in WAYS) go(WAYS[action]);
  else if (action === "save-edit") save();
  else if (action === "save-note") { send("save-note"); closeNote(); }
  else if (action === "meant") confirm();
  else if (action === "leave") leaveIt();
  else if (asksModel(action)) askModel(action);
  else if (one(`[data-local="${action}"]`)) say("not-loaded");
  else send(action, opensForm(action) ? { pairs: pairs() } : more);
}

async function askModel(action) {
  const parts = await ask(action, { claim: selectedSpan() });
  if (!parts) return;
  paint(parts);
  redraw();
}

listen("keydown", (event) => {
  const { target, key } = event;
  const isWriting = target.closest?.(FIELD);
  const isAltGraph = event.getModifierState?.("AltGraph");  // writes [ and ] on many keyboards; Windows calls it Ctrl and Alt
  const withControl = !isAltGraph && (event.ctrlKey || event.metaKey);
  if (key === "Escape") { wasTyping = false; escape(isWriting); return; }
  if (isWriting) {
    if (keys[key] === "search" && target.matches(SEARCH) && !target.value) event.preventDefault();  // one is there already
    if (key !== "Enter") return;
    if (target.closest("[data-form]")) bulk(one("[data-bulk]", target.form).dataset.bulk);
    else if (withControl && target.closest(".editor")) save();
    else if (withControl && target.closest("details.note")) act("save-note");
    else return;
    event.preventDefault();
    return;
  }
  if (wasTyping && key.length === 1) { if (!withControl) say("was-typing"); return; }
  if (!withControl && !event.altKey && typeAhead(key)) { event.preventDefault(); return; }
  if (withControl && key === "a" && isGrid()) { event.preventDefault(); selectAll(); return; }
  if (withControl || (event.altKey && !isAltGraph)) return;
  if (one(COVERS) && keys[key] !== "help") return;
  const word = target.closest?.(WORD);
  if (word && onWord(word, event)) return;
  if (openBox()) { typeInto(openBox(), event); return; }
  const action = keys[key];
  if (!OF_FORMS.includes(action) && target.closest?.(CONTROL) && !target.closest(CARDS)) {
    if (key.length > 1 || key === " ") return;
    event.preventDefault();  // a letter would choose in a list
    say("in-a-form");
    return;
  }
  if (isVerdict(action) && one("#traced-queue .more[open]")) { say("covered"); return; }
  // A held key must not decide several unseen pairs.
  if (!action || (event.repeat && !REPEATED.includes(action))) return;
  event.preventDefault();
  act(action);
});

/** What is typed belongs to the box that is open: no key gives a verdict meanwhile. */
function typeInto(box, event) {
  const { target, key } = event;
  const button = ["Enter", " "].includes(key) && target.closest?.("button, summary, input");
  if (button && !isVerdict(button.dataset.action ?? button.dataset.many)) return;
  if (button) event.preventDefault();
  else if (!(key in keys) && key.length > 1) return;
  box.focus({ preventScroll: true });  // and the browser types the key into it
}

// A reload takes the focus from other fields: what is typed on is for them and must not act.
const WAS_TYPING = "traced-was-typing";
addEventListener("pagehide", () => { sessionStorage.setItem(WAS_TYPING, document.activeElement?.closest(FIELD) || openBox() ? "yes" : ""); });
let wasTyping = Boolean(sessionStorage.getItem(WAS_TYPING));
for (const act of ["pointerdown", "focusin"]) listen(act, () => { wasTyping = false; });

/** @type {any} what opened the list of keys, and gets the focus back */
let opener = null;
function toggleHelp() {
  const help = one(HELP);
  help.hidden = !help.hidden;
  if (!help.hidden) opener = document.activeElement;
  (help.hidden ? opener : one("[data-local=help]", help)).focus({ preventScroll: true });
}

function escape(isWriting) {
  if (one("[popover]:popover-open")) return;  // the browser closes it, and the focus is on its button
  if (!one(HELP).hidden) toggleHelp();
  else if (isOpen()) { isWriting?.blur(); showQueue(false); }
  else if (!isWriting && one("#traced-toast [data-question]")) leaveIt();
  else if (!isWriting && one(OPEN)) {
    const over = one(OPEN);
    if (over.contains(document.activeElement)) one("summary", over).focus();
    over.open = false;
  }
  else if (isWriting ? isWriting.closest("[data-form]") : one("#traced-edit [data-form]")) bulk("close");
  else if (isEditing()) stopEditing();
  else if (!isWriting && one("#traced-queue .undo-list")) {
    one("#traced-queue [data-action=history]").focus();
    send("history");
  }
  else {
    (isWriting ?? document.activeElement)?.blur?.();
    closeNote();
  }
}

// While a word has the focus: arrow keys move along the caption, Enter marks it as wrong.
function onWord(word, event) {
  const words = all(WORD), step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step) words[words.indexOf(word) + step]?.focus();
  else if (event.key === "Enter" || event.key === " ") mark(word);
  else return false;
  event.preventDefault();
  return true;
}
const mark = (word) => send("mark-word", { word: Number(word.dataset.word) });

listen("click", (event) => {
  const { target } = event;
  all(OPEN).forEach((over) => { if (!over.contains(target)) over.open = false; });
  if (isOpen() && (!target.closest("#traced-left") || target.closest("#traced-queue .pairs button"))) showQueue(false);
  const here = target.closest("[data-local]");
  if (here?.matches(".picture") && event.detail) return;  // a mouse: see zoom.js
  if (here) { if (here.matches("a")) event.preventDefault(); act(here.dataset.local); return; }
  if (selectAt(target)) return;
  const word = target.closest(WORD);
  if (word) { if (word.dispatchEvent(new CustomEvent("traced-mark", { bubbles: true, cancelable: true }))) mark(word); return; }
  const tag = target.closest("[data-fill]");
  if (tag) { fill(tag.dataset.fill); return; }
  const edits = target.closest("[data-bulk]");
  if (edits) { bulk(edits.dataset.bulk); return; }
  const many = target.closest("[data-many]");
  if (many) { decideMany(many.dataset.many); return; }
  const button = target.closest("[data-action]");
  if (!button || button.disabled || button.dataset.action === "step") return;
  const more = {};
  if (button.dataset.action === "save-view") more.name = one("#traced-queue [data-view-name]").value;
  if (button.dataset.name !== undefined) more.name = button.dataset.name;
  if (button.dataset.target !== undefined) more.target = Number(button.dataset.target);
  if (button.dataset.action === "narrow") more.how = one("#traced-queue [data-how]:checked").value;
  act(button.dataset.action, more);
});

// ---------------------------------------------------------------- own keys

/** @param {string} key */
const shown = (key) => ({ ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", " ": "Space" })[key] ?? (key.length === 1 ? key.toUpperCase() : key);

function use() {
  keys = Object.fromEntries(Object.entries(standard).filter(([, action]) => !(action in own)));
  for (const [action, key] of Object.entries(own)) for (const form of key.length === 1 ? [key.toLowerCase(), key.toUpperCase()] : [key]) keys[form] = action;
  localStorage.setItem(KEPT, JSON.stringify(own));
  label();
}

/** Show own keys on the buttons and in the list of keys. */
function label() {
  for (const kbd of all(`${HELP} [data-key-of]`)) {
    kbd.dataset.standard ??= kbd.textContent;
    kbd.textContent = own[kbd.dataset.keyOf] ? shown(own[kbd.dataset.keyOf]) : kbd.dataset.standard;
  }
  for (const [action, key] of Object.entries(own)) {
    all(`:is([data-action="${action}"], [data-local="${action}"], [data-many="${action}"], [data-folds="${action}"]) > kbd`).forEach((kbd) => { kbd.textContent = shown(key); });
    all(`.toolbar :is([data-action="${action}"], [data-local="${action}"])`).forEach((tool) => { tool.title = `${tool.ariaLabel} (${shown(key)})`; });
  }
}
for (const part of ["stage", "steps"]) onPaint(part, label);

function tellKey(text) { one(`${HELP} [data-keys-say]`).textContent = text; }

listen("click", ({ target }) => {
  const change = target.closest("[data-rebind]");
  if (asking) asking.textContent = asking.dataset.text;
  asking = change;
  if (change) { change.dataset.text = change.textContent; change.textContent = change.dataset.waits; tellKey(""); }
  if (target.closest("[data-keys-reset]")) { localStorage.removeItem(KEPT); location.reload(); }
});

listen("keydown", (event) => {
  if (!asking || ["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const button = asking, action = button.dataset.rebind, { key } = event;
  asking = null;
  button.textContent = button.dataset.text;
  if (["Escape", "Tab", "Enter"].includes(key)) return;
  const taken = keys[key];
  if (taken && taken !== action) {
    const other = one(`${HELP} [data-key-of="${taken}"]`)?.closest("dt").nextElementSibling;
    tellKey(`${shown(key)}: ${other?.firstChild.textContent.trim()}. ${one(`${HELP} [data-keys-say]`).dataset.taken}`);
    return;
  }
  own = { ...own, [action]: key };
  use();
}, true);
