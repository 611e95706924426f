// A correction or a note being written. Texts are kept in the browser until they are saved, by curator,
// by pair and by the fingerprint of what was on the screen: a reload or another pair loses nothing.
import { ask, decide, onSaved, redraw, state } from "./acts.js";
import { all, listen, one, onPaint, paint, stage } from "./page.js";

const BOXES = "#traced-review :is(.editor, details.note) textarea", TYPING = 600, LOOKED_AT = 150;
const editor = () => one("#traced-stage .editor textarea");
const prefix = (pair) => `traced-draft:${state.author}:${pair}:`;
const keyOf = (box) => `${prefix(stage().dataset.pair)}${box.closest(".editor") ? "caption" : "note"}:${stage().dataset.fingerprint}`;
let typing = 0;
let isOpen = false;

export const isEditing = () => isOpen && Boolean(editor());
function show(open) { isOpen = open; stage()?.classList.toggle("editing", open); }

export function edit() {
  if (!editor()) return;
  show(true);
  const box = editor(), suspect = suspectIn(box.value);
  box.focus({ preventScroll: true });
  box.setSelectionRange(...(suspect ?? [0, box.value.length]));
}

export function stopEditing() { editor()?.blur(); show(false); }

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
  const box = one("#traced-steps details.note");
  if (!box) { one("[data-note-for-many]")?.focus(); return; }
  box.open = true;
  one("textarea", box).focus();
  box.scrollIntoView({ block: "nearest" });
}

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

onSaved((pairs) => pairs.forEach((pair) => Object.keys(sessionStorage).filter((key) => key.startsWith(prefix(pair))).forEach((key) => sessionStorage.removeItem(key))));

onPaint("steps", (isSame) => {
  if (!isSame) isOpen = false;
  if (!stage()) return;
  for (const box of all(BOXES)) {
    const draft = sessionStorage.getItem(keyOf(box));
    if (draft === null) continue;
    if (box.value !== draft) box.value = draft;
    if (isSame) continue;
    if (box.closest(".editor")) isOpen = true;
    else box.closest("details").open = true;
  }
  show(isOpen);
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
  if (parts.stored) redraw();
}
