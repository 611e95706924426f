// Try one picture: models offered for a picture that the model does not know, pasted and large pictures, and
// where in the picture the suspect words are.
import { dark, light, tell } from "./outline.js";
import { smaller } from "./smaller.js";

/** @typedef {import("./outline.js").Region} Region */
const SUSPECT = "#playground-result .word.suspect", SETTLED = 120, TICK = 250;  // ms that the mouse stays; between updates of the seconds
const one = (selector) => document.querySelector(selector);
/** @type {() => HTMLImageElement} */
const image = () => one("#playground-picture img");
/** @type {HTMLElement | null} the word whose region is lit or about to be */
let lit = null;
/** @typedef {{regions?: (Region & {start: number})[], problem?: string}} Answer empty until it is there */
/** @type {WeakMap<Element, Answer>} by the claim that the words are in */
const answers = new WeakMap();
/** @type {Element[]} the claims whose words were asked about, by the question's number */
const questions = [];
let timer = 0;

/** @param {HTMLElement} element @param {(event: string, data: any) => void} trigger */
export function start(element, trigger) {
  const result = element.closest("#playground-result");
  result.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-model]");
    if (!button) return;
    for (const other of result.querySelectorAll("[data-model]")) other.disabled = true;
    trigger("select", { model: button.dataset.model });
  });
  const show = (word) => {
    if (word === lit) return;
    clearTimeout(timer);
    lit = word;
    if (image()) dark(image());
    if (!word || one("#playground-results").matches(".stale, .running")) return;
    const claim = claimOf(word);
    if (!answers.has(claim)) {
      answers.set(claim, {});
      trigger("focus", { number: questions.push(claim) - 1, spans: [...claim.querySelectorAll(".suspect")].map(spanOf) });
    }
    draw();
  };
  const wordAt = (target) => target?.closest?.(SUSPECT) ?? null;
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    const word = wordAt(target);
    clearTimeout(timer);
    if (word && pointerType !== "touch") timer = setTimeout(() => { if (word.matches(":hover")) show(word); }, SETTLED);
  });
  document.addEventListener("pointerout", ({ target, pointerType }) => {
    if (wordAt(target) && pointerType !== "touch") show(wordAt(document.activeElement));
  });
  document.addEventListener("pointerdown", ({ target, pointerType }) => { if (pointerType === "touch") show(wordAt(target)); });
  document.addEventListener("focusin", ({ target }) => show(wordAt(target)));
  document.addEventListener("focusout", ({ target }) => { if (wordAt(target) === lit) show(null); });
  addEventListener("resize", draw);
  const results = one("#playground-results"), elapsed = results.querySelector("[data-elapsed]");
  setInterval(() => {
    const seconds = results.matches(".running") ? (Date.now() - Number(results.dataset.began)) / 1000 : 0;
    elapsed.textContent = seconds >= 1 ? `${Math.floor(seconds)} s` : "";
  }, TICK);
}

const claimOf = (word) => word.closest(".claim, .traced-caption");
function spanOf(word) {
  const begin = Number(word.dataset.start);
  return [begin, begin + [...word.textContent].length];  // code points, as Python counts
}

/** Take an answer of the server. @param {string} answer JSON */
export function take(answer) {
  if (!answer) return;
  const { number, ...rest } = JSON.parse(answer);
  Object.assign(answers.get(questions[number]) ?? {}, rest);
  draw();
}

function draw() {
  if (!lit?.isConnected || !image()) return;
  const { regions, problem } = answers.get(claimOf(lit)) ?? {}, region = regions?.find(({ start }) => start === spanOf(lit)[0]);
  if (problem) tell(image(), problem);
  else if (region) light(image(), region);
}

// A press copies the link; where the browser does not allow that, it opens it.
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("[data-share]");
  if (!link || !navigator.clipboard) return;
  event.preventDefault();
  try { await navigator.clipboard.writeText(link.href); link.textContent = "Copied"; } catch { location.href = link.href; }
});

/** A clipboard without a picture is said below where the picture would be. @param {boolean} hasNone */
function tellClipboard(hasNone) { const told = one("#playground-clipboard [data-clipboard]"); if (told) told.hidden = !hasNone; }
document.addEventListener("click", async ({ target }) => {
  if (!target.closest?.("#playground-picture [aria-label='Paste from clipboard']")) return;
  let types = [];
  try { types = (await navigator.clipboard.read()).flatMap((item) => item.types); } catch { /* not allowed, or empty */ }
  tellClipboard(!types.some((type) => type.startsWith("image/")));
});

// A picture that is pasted anywhere on the open panel is the one to check.
document.addEventListener("paste", async (event) => {
  const file = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
  const box = one("#playground-picture");
  if (!box?.checkVisibility()) return;
  if (!file) { if (!event.target.closest?.("input, textarea")) tellClipboard(true); return; }
  tellClipboard(false);
  if (event.target.closest?.("input, textarea") && event.clipboardData.types.includes("text/plain")) return;  // a picture of the text
  event.preventDefault();
  box.querySelector("button[aria-label='Clear'], button[aria-label='Remove Image']")?.click();
  await new Promise((done) => setTimeout(done, 50));
  choose(file);
});

/** Choose the picture as if by hand. @param {File} file @param {Event} event */
function choose(file, event = new Event("change", { bubbles: true })) {
  const input = one("#playground-picture input[type=file]"), files = new DataTransfer();
  if (!input) return;
  files.items.add(file);
  input.files = files.files;
  input.dispatchEvent(event);
}

// A camera's picture of tens of megabytes is made small before it is sent, and that is said. What is smaller, and
// what the browser cannot decode, is sent as it is: the server says what is wrong with it.
const LARGE = 4e6, SIDE = 2048, QUALITY = 0.92;  // bytes; px, which shows details beside what models see
/** @type {WeakSet<Event>} the choices of reduced pictures */
const ours = new WeakSet();
let choices = 0;  // so far: what is being reduced is forgotten once something else is chosen
for (const kind of ["change", "drop"]) {
  document.addEventListener(kind, async (event) => {
    const box = event.target.closest?.("#playground-picture");
    if (!box || ours.has(event)) return;
    const file = (kind === "drop" ? event.dataTransfer : event.target).files?.[0], told = one("#playground-clipboard [data-reduced]");
    if (!file) return;
    const number = ++choices;
    tellClipboard(false);
    told.hidden = true;
    if (file.size <= LARGE || !box.querySelector("input[type=file]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const again = new Event("change", { bubbles: true });
    ours.add(again);
    const { picture, facts } = await reduced(file);
    if (number !== choices) return;
    for (const [name, fact] of Object.entries(facts)) told.querySelector(`[data-${name}]`).textContent = fact;
    told.hidden = picture === file;
    choose(picture, again);
  }, { capture: true });
}

document.addEventListener("click", ({ target }) => {  // another picture, or none
  if (!target.closest?.("#playground-picture button, #playground-examples button")) return;
  choices += 1;
  one("#playground-clipboard [data-reduced]").hidden = true;
}, { capture: true });

/** The picture to send, a smaller one if there is one, and what is said of that. @param {File} file */
async function reduced(file) {
  const whole = { picture: file, facts: {} };
  try {
    const { canvas, size } = await smaller(file, SIDE);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/jpeg", QUALITY));
    if (!blob || blob.size >= file.size) return whole;
    const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
    const facts = { from: `${size.width} × ${size.height}`, to: `${canvas.width} × ${canvas.height}`, before: megabytes(file.size), after: megabytes(blob.size) };
    return { picture: new File([blob], `${file.name.replace(/\.[^.]*$/, "")}.jpg`, { type: blob.type }), facts };
  } catch { return whole; }
}
