// Where in the picture the words are: while a suspect word, a step without a word, or a card of the grid
// has the mouse or the focus, the word's region is outlined; "Zoom to word" fills the view with it. Regions
// are asked for only then, one after another, so that no pair opens later for them.
import { addLocal } from "./keys.js";
import { say } from "./messages.js";
import { dark, light, placeOf, tell } from "./outline.js";
import { all, listen, one, onPaint, stage } from "./page.js";
import { goBack, lookAt } from "./zoom.js";

/** @typedef {import("./outline.js").Region} Region */
const SUSPECT = "#traced-stage .words .word.suspect", STEP = "#traced-review [data-step]", CARD = "#traced-stage .pick[data-suspect]";
const SOURCE = `${SUSPECT}, ${STEP}, ${CARD}`, BUTTON = "#traced-stage [data-local=look]";
const SETTLED = 120;  // ms that the mouse stays
/** @type {Map<string, Promise<{region?: Region, problem?: string}>>} answers by address */
const answers = new Map();
/** @type {Promise<any>} the last question */
let asked = Promise.resolve();
/** @type {HTMLElement | null} what is lit or about to be */
let lit = null;
/** @type {HTMLElement | null} the word that "Zoom to word" has gone to */
let target = null;
let timer = 0;

const sourceAt = (element) => element?.closest?.(SOURCE) ?? null;
/** The word in the caption that a step removes. */
const removedAt = (step) => one(`#traced-stage .words .word[data-gone="${step.dataset.step}"]`);
const imageOf = (source) => one("img", source.closest(".pick") ?? one("#traced-stage .picture"));

/** The address of the region that the source stands for; null: of none. */
function addressOf(source) {
  if (source.matches(CARD)) return regionsOf(source.dataset.pick, source.dataset.suspect.split(" "));
  const word = source.matches(STEP) ? removedAt(source) : source;
  const start = Number(word?.dataset.start);
  return word && regionsOf(stage().dataset.pair, [start, start + [...word.textContent ?? ""].length]);  // code points, as Python counts
}
const regionsOf = (pair, [start, end]) => `api/v1/pairs/${pair}/regions?start=${start}&end=${end}`;

async function fetched(address) {
  const response = await fetch(address, { headers: { Accept: "application/json" } });
  const body = await response.json();
  if (!response.ok) answers.delete(address);
  return response.ok ? { region: body[0] } : { problem: body.detail };
}

/** The answer for a source, once those before it are there; null if it is not wanted any more, or offline.
 * @param {() => boolean} isWanted */
async function ask(source, isWanted) {
  const address = addressOf(source);
  if (!address) return null;
  if (!answers.has(address)) {
    await asked;
    if (!isWanted()) return null;
  }
  const answer = answers.get(address) ?? fetched(address);
  answers.set(address, answer);
  asked = answer.catch(() => answers.delete(address));
  const image = imageOf(source);
  if (image && !image.complete) await image.decode().catch(() => {});  // it has no size yet
  return answer.catch(() => null);
}

/** Light the region of a source, and only that. */
async function show(source) {
  if (source === lit) return;
  clear();
  lit = source;
  if (!source) return;
  const answer = await ask(source, () => lit === source), image = lit === source && source.isConnected && imageOf(source);
  if (!answer || !image) return;
  if (answer.region) light(image, answer.region);
  else if (answer.problem) tell(image, answer.problem);
  one(`.word[data-start="${source.dataset.shown}"]`, source)?.classList.add("lit");
}

function clear() {
  clearTimeout(timer);
  lit = null;
  all("#traced-stage :is(.picture, .pick) img").forEach(dark);
  all("#traced-stage .word.lit").forEach((word) => word.classList.remove("lit"));
}

/** What is lit without the mouse. */
const atRest = () => sourceAt(document.activeElement) ?? target;

/** Fill the view with the region of the word that is lit, or else of the most suspect one; again: back. */
async function look() {
  if (target) { leave(); return; }
  if (!stage()) return;
  const suspicion = (word) => Number(word.style.getPropertyValue("--suspicion"));
  const most = all(SUSPECT).reduce((most, word) => (most && suspicion(most) >= suspicion(word) ? most : word), null);
  const source = lit ?? most;
  if (!source) { if (one(BUTTON)) say("no-suspect"); return; }
  target = source;
  mark();
  show(source);
  const answer = await ask(source, () => target === source), image = target === source && source.isConnected && imageOf(source);
  if (answer?.region?.box && image) lookAt(placeOf(image, answer.region));
}

addLocal("look", look);

function leave() {
  target = null;
  goBack();
  show(atRest());
  mark();
}
/** Say whether the view is a word's, and whose. */
function mark() {
  if (one(BUTTON)) one(BUTTON).ariaPressed = String(Boolean(target));
  const word = target?.matches(STEP) ? removedAt(target) : target;
  all("#traced-stage .words .word").forEach((each) => each.classList.toggle("looked-at", each === word));
}

listen("pointerover", ({ target: over, pointerType }) => {
  const source = sourceAt(over);
  if (!source || pointerType === "touch" || source === lit) return;
  clearTimeout(timer);
  timer = setTimeout(() => { if (source.matches(":hover")) show(source); }, SETTLED);
});
listen("pointerout", ({ target: left, relatedTarget, pointerType }) => {
  const source = sourceAt(left);
  if (!source || pointerType === "touch" || source.contains(relatedTarget)) return;
  clearTimeout(timer);
  show(atRest());
});
/** Whether the word was touched for the first time: that shows where it is, and only another touch marks it. */
let isFirst = false;
listen("traced-mark", (event) => { if (isFirst) event.preventDefault(); });
listen("pointerdown", ({ target: touched, pointerType }) => {
  const source = sourceAt(touched);
  isFirst = pointerType === "touch" && Boolean(source?.matches(SUSPECT)) && source !== lit;
  if (pointerType === "touch" && !touched.closest?.(BUTTON)) show(source ?? target);
});
listen("focusin", ({ target: focused }) => { if (sourceAt(focused)) show(sourceAt(focused)); });
listen("focusout", ({ target: left }) => { if (sourceAt(left) === lit) show(target); });
onPaint("stage", (isSame) => {
  if (!isSame || !target?.isConnected) target = null;
  clear();
  // The pair that is drawn anew under a resting mouse; the next pair under it is not asked about.
  const hovered = isSame ? all(SOURCE).find((source) => source.matches(":hover")) : null;
  show(atRest() ?? hovered ?? null);
  mark();
});
addEventListener("resize", () => { const source = lit; clear(); show(source); });
