// Where in the picture a suspect word is: while it has the mouse or the focus, its region is outlined
// and the rest dimmed a little. Asked for only then, so that no pair opens later for it.
import { listen, one, onPaint, stage } from "./page.js";

const SUSPECT = "#traced-stage .words .word.suspect", SETTLED = 120;  // ms that the mouse stays on a word
/** @typedef {{box: number[] | null}} Region */
/** @type {Map<string, Promise<{region?: Region, problem?: string}>>} by pair and characters */
const known = new Map();
/** @type {HTMLElement | null} the word whose region is shown or on its way */
let lit = null;
let timer = 0;

const wordAt = (target) => target?.closest?.(SUSPECT) ?? null;

/** @param {HTMLElement} word */
function ask(word) {
  const start = Number(word.dataset.start), end = start + [...word.textContent ?? ""].length;  // code points, as Python counts
  const place = `api/v1/pairs/${stage().dataset.pair}/regions?start=${start}&end=${end}`;
  const answer = known.get(place) ?? fetch(place, { headers: { Accept: "application/json" } }).then(async (response) => {
    const body = await response.json();
    return response.ok ? { region: body[0] } : { problem: body.detail };
  });
  known.set(place, answer);
  answer.catch(() => known.delete(place));  // offline: asked again
  return answer;
}

/** @param {HTMLElement} word */
async function light(word) {
  lit = word;
  const answer = await ask(word).catch(() => null);
  if (lit !== word || !word.isConnected) return;
  if (answer?.region?.box) outline(answer.region.box);
  else if (answer?.region) tell(`Nothing in the picture speaks for “${word.textContent}”.`);
  else if (answer?.problem) tell(answer.problem);
}

function dark() {
  clearTimeout(timer);
  lit = null;
  for (const selector of [".where", ".where-note"]) one(`#traced-stage .picture ${selector}`)?.remove();
}

/** Over the picture, with its zoom: `.where` covers the image's element, `.seen` what the image fills of it. */
function outline([left, top, right, bottom]) {
  const view = one("#traced-stage .picture"), image = one("img", view);
  const [width, height] = view.dataset.size.split(" ").map(Number);
  const fit = Math.min(image.offsetWidth / width, image.offsetHeight / height);
  const where = document.createElement("span");
  where.className = "where";
  where.innerHTML = "<span class=seen><span class=region></span></span>";
  Object.assign(where.style, { left: `${image.offsetLeft}px`, top: `${image.offsetTop}px`, width: `${image.offsetWidth}px`, height: `${image.offsetHeight}px`, transform: image.style.transform });
  Object.assign(one(".seen", where).style, { width: `${fit * width}px`, height: `${fit * height}px` });
  Object.assign(one(".region", where).style, { left: `${100 * left / width}%`, top: `${100 * top / height}%`, width: `${100 * (right - left) / width}%`, height: `${100 * (bottom - top) / height}%` });
  replace(".where", where);
}

function tell(text) {
  const note = document.createElement("span");
  note.className = "where-note";
  note.role = "status";
  note.textContent = text;
  replace(".where-note", note);
}

function replace(selector, element) {
  const view = one("#traced-stage .picture");
  one(selector, view)?.remove();
  view?.append(element);
}

/** Where the word that has the mouse or else the focus is.
 * @param {HTMLElement | null} word */
function show(word) {
  if (word === lit) return;
  dark();
  if (word) light(word);
}

listen("pointerover", ({ target, pointerType }) => {
  const word = wordAt(target);
  if (!word || pointerType === "touch" || word === lit) return;
  clearTimeout(timer);
  timer = setTimeout(() => { if (word.matches(":hover")) show(word); }, SETTLED);
});
listen("pointerout", ({ target, pointerType }) => {
  if (wordAt(target) && pointerType !== "touch") show(wordAt(document.activeElement));
});
listen("pointerdown", ({ target, pointerType }) => { if (pointerType === "touch") show(wordAt(target)); });
listen("focusin", ({ target }) => show(wordAt(target)));
listen("focusout", ({ target }) => { if (wordAt(target) === lit) dark(); });
onPaint("stage", () => { dark(); show(wordAt(document.activeElement)); });
addEventListener("resize", () => { const word = lit; dark(); show(word); });
