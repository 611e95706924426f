// A correction or a note being written. Texts are kept in the browser until they are saved or discarded,
// by curator, by pair and by the fingerprint of what was on the screen: a reload, another pair or another
// verdict loses nothing. What is open stays open over a reload.
import { ask, decide, onSaved, redraw, state } from "./acts.js";
import { all, listen, one, onPaint, paint, stage } from "./page.js";

const BOXES = "#traced-review :is(.editor, details.note) textarea", NOTE = "#traced-steps details.note", OPENED = "traced-open";
const TYPING = 600, LOOKED_AT = 150;  // ms
const editor = () => one("#traced-stage .editor textarea");
const prefix = (pair) => `traced-draft:${state.author}:${pair}:`;
const keyOf = (box) => `${prefix(stage().dataset.pair)}${box.closest(".editor") ? "caption" : "note"}:${stage().dataset.fingerprint}`;
let typing = 0;
let isOpen = false;
let isLoading = true;  // no pair has been shown yet

export const isEditing = () => isOpen && Boolean(editor());
/** The open box, editor or form: typing belongs to it, wherever the focus is. */
export const openBox = () => one(`#traced-stage .editing .editor textarea, ${NOTE}[open] textarea`) ?? one("#traced-edit [data-form] :is(input[type=text], select)");

/** Show or hide the editor, and offer the draft of one that is hidden. */
function show(open) {
  isOpen = open;
  if (!stage()) return;
  stage().classList.toggle("editing", open);
  one("[data-draft]", stage()).hidden = open || sessionStorage.getItem(keyOf(editor())) === null;
  keepOpen();
}

function keepOpen() {
  const box = openBox();
  if (box?.matches(BOXES)) sessionStorage.setItem(OPENED, keyOf(box)); else sessionStorage.removeItem(OPENED);
}

export function edit() {
  if (!editor()) return;
  show(true);
  const box = editor(), isLong = box.closest(".long");
  const range = suspectIn(box.value) ?? claimIn(box.value) ?? [0, isLong ? 0 : box.value.length];
  box.focus({ preventScroll: true });
  box.setSelectionRange(...range);
  if (isLong) box.scrollTop = box.scrollHeight * (range[0] / (box.value.length || 1)) - box.clientHeight / 2;
}

export function stopEditing() { editor()?.blur(); show(false); }

/** Where the selected claim begins, as a place to write: a key must not replace all of a long text. */
function claimIn(text) {
  const claim = one("#traced-stage .claim[aria-current=true]"), at = Number(claim?.dataset.claim);
  return claim && text.startsWith(claim.textContent, at) ? [at, at] : null;
}

/** Where the most suspect word is in the text, if it still begins like the caption. */
function suspectIn(text) {
  const suspicion = (word) => Number(word.style.getPropertyValue("--suspicion"));
  const [word] = all("#traced-stage .words .word.suspect").sort((a, b) => suspicion(b) - suspicion(a));
  const at = word ? Number(word.dataset.start) : -1;
  return at >= 0 && text.startsWith(word.textContent, at) ? [at, at + word.textContent.length] : null;
}

export function save() {
  if (!editor()) return;
  const text = editor().value;
  editor().blur();
  decide("correction", text);
}

export function writeNote() {
  const note = one(NOTE);
  if (!note) { one("[data-note-for-many]")?.focus(); return; }
  note.open = true;
  keepOpen();  // the event comes later, perhaps only after the page has been left
  one("textarea", note).focus();
  note.scrollIntoView({ block: "nearest" });
}
export function closeNote() {
  if (!one(`${NOTE}[open]`)) return;
  one("textarea", one(NOTE)).blur();
  one(NOTE).open = false;
  keepOpen();
}
listen("toggle", ({ target }) => {
  if (!target.matches(NOTE)) return;
  if (target.open) one("textarea", target).focus({ preventScroll: true });
  keepOpen();
}, true);

listen("input", ({ target }) => {
  if (!target.matches(BOXES)) return;
  if (target.value === target.defaultValue) sessionStorage.removeItem(keyOf(target));
  else sessionStorage.setItem(keyOf(target), target.value);
  if (!target.closest(".editor")) return;
  clearTimeout(typing);
  typing = setTimeout(check, TYPING, target.value);
});

/** @type {any} the text that was checked last, and the answer: a redraw of the pair must not lose it */
let checked = null;
async function check(text) {
  const parts = await ask("check", { text });
  if (!parts || editor()?.value !== text) return;
  checked = { text, parts };
  paint(parts);
}

listen("click", ({ target }) => {
  if (target.closest("[data-discard]")) {
    const box = editor();
    sessionStorage.removeItem(keyOf(box));
    box.value = box.defaultValue;
    paint({ check: "" });
    stopEditing();
  }
});

// A text is no draft any more once it is saved.
onSaved((acts) => {
  for (const { pair, text, note } of acts) {
    for (const [kind, saved] of Object.entries({ caption: text, note })) {
      for (const key of Object.keys(sessionStorage)) {
        if (key.startsWith(`${prefix(pair)}${kind}:`) && sessionStorage.getItem(key) === saved) sessionStorage.removeItem(key);
      }
    }
  }
});

onPaint("stage", (isSame) => {
  if (!isSame) isOpen = false;
  if (!stage()) return;
  const opened = isLoading ? all(BOXES).find((box) => keyOf(box) === sessionStorage.getItem(OPENED)) : null;
  isLoading = false;
  for (const box of all(BOXES)) {
    const draft = sessionStorage.getItem(keyOf(box));
    if (draft === box.defaultValue) sessionStorage.removeItem(keyOf(box));
    else if (draft !== null && box.value !== draft) box.value = draft;
  }
  show(isOpen || Boolean(opened?.closest(".editor")));
  if (opened) {
    if (!isOpen) one(NOTE).open = true;
    opened.focus({ preventScroll: true });
    opened.setSelectionRange(opened.value.length, opened.value.length);
  }
  if (isSame && checked && editor()?.value === checked.text) paint(checked.parts);
});

// What is deferred until a pair is looked at: later steps, probabilities of corrections, and the words
// that make a caption abstract.
let looking = 0;
onPaint("stage", (isSame) => {
  if (isSame) return;
  clearTimeout(looking);
  if (stage() && "deferred" in stage().dataset) looking = setTimeout(complete, LOOKED_AT);
});

async function complete() {
  const parts = await ask("complete");
  if (!parts) return;
  if (parts.abstract) paint({ abstract: parts.abstract });
  if (parts.rest) one("#traced-steps [data-rest]")?.replaceChildren(parts.rest);
  if (parts.stored) redraw();
}
