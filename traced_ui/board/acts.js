// What the page does: verdicts are painted at once and saved in the background; other acts are
// answered by the server with new parts and a new state (see page_state.py).
import { Ahead } from "./ahead.js";
import { AT_ONCE, Outbox } from "./outbox.js";
import { all, board, isVerdict, isWriting, one, onPaint, paint, reveal, stage } from "./page.js";
import { hasSaidSince, say, showReturned, tellUnsent, tellWorking } from "./messages.js";
import { isSeen } from "./seen.js";

const PATIENT = 30_000, SLOW = 180_000;  // ms; an act may have to load a model
const LONG = 1500;  // ms until an act is said to take long
const LONGEST = 2000;  // characters of a typed caption that is saved in the background
const MOST_STEPS = 50;  // as in page_state.py
const HISTORY = "traced-history";  // what Z and Y go through, over a reload
const UNMIXED = "traced-unmixed";  // pairs drawn at random are not mixed in
const NOTE = "#traced-steps details.note textarea";

/** @type {any} the page's state, as the server returned it, with the pair that is shown now */
export let state = { author: "", dataset: null, pair: null, visited: [], sampled: [], skipped: JSON.parse(sessionStorage.getItem(HISTORY) ?? "{}").skipped ?? [], is_mixed: !localStorage.getItem(UNMIXED) };
let isAdvancing = false;  // a verdict has been given and the next pair is not loaded yet
let isPainted = true;  // the stage has been painted on the screen
/** @type {any[]} keys pressed while an act was under way: {action, text, pair}, or {run, pair} */
let waiting = [];
/** @type {any} the verdict that the server asks about */
let asked = null;
/** @type {number | null} the pair on whose claims something was said since it is on the screen */
let judged = null;
/** @type {((acts: any[]) => void)[]} called with the verdicts that have been saved */
const whenSaved = [];
export const onSaved = (tell) => whenSaved.push(tell);
/** @type {((act: any) => void)[]} */
const whenDone = [];
export const onDone = (tell) => whenDone.push(tell);

const ahead = new Ahead((entry) => {
  const parts = document.createElement("template");
  parts.innerHTML = entry.stage;
  const source = one(".picture img", parts.content)?.getAttribute("src");
  const ready = () => { entry.isReady = true; advance(); };
  if (!source) { entry.isReady = true; return; }
  // Nobody must judge a picture that is not visible yet.
  entry.picture = new Image();
  entry.picture.src = source;
  entry.picture.decode().catch(() => {}).then(ready);
});

const outbox = new Outbox({
  post, take, storage: sessionStorage,
  lose: () => say(outbox.trouble),
  tell: () => tellUnsent(outbox),
  wait: (milliseconds) => new Promise((done) => setTimeout(done, milliseconds)),
});
// What is not confirmed when the page is left is sent once more; it is kept until then.
addEventListener("pagehide", () => {
  const { verdicts, lasting } = outbox;
  if (!verdicts.length && !lasting.length) return;
  const acts = verdicts.length > AT_ONCE ? [] : lasting.slice(0, AT_ONCE);  // they follow all verdicts
  const body = JSON.stringify({ verdicts: verdicts.slice(0, AT_ONCE), acts, redraw: false, have: {}, state: asShown() });
  fetch("review/acts", { method: "POST", headers: { "Content-Type": "application/json" }, body, keepalive: true }).catch(() => {});
});
addEventListener("beforeunload", (event) => { if (outbox.trouble && outbox.verdicts.length) event.preventDefault(); });
/** Whether something about the pair on the screen waits to be saved: a drawing of it would be outdated. */
export const hasUnsent = () => outbox.verdicts.some(({ pair }) => pair === state.pair);
let fromBefore = outbox.verdicts.length;
let drawing = 0;  // what was drawn under a lower number may be outdated

async function fetched(body, patience) {
  try {
    const response = await fetch("review/acts", {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal: AbortSignal.timeout(patience),
    });
    return { answer: response.ok ? await response.json() : null, status: response.ok ? 0 : response.status };
  } catch { return { answer: null, status: 0 }; }
}

const asShown = () => ({ ...state, waiting: "unscored" in (stage()?.dataset ?? {}), is_filtering: Boolean(one("#traced-queue .more[open]")) });

function post(request) {
  Object.assign(request, { of: state.pair, drawing, began: performance.now() });
  board().ariaBusy = String(Boolean(request.act));
  const said = request.act && setTimeout(tellWorking, LONG);
  const answer = fetched({ verdicts: request.verdicts, acts: request.act ? [request.act] : [], redraw: request.redraw, state: asShown(), have: request.redraw ? {} : ahead.marks }, request.act ? SLOW : PATIENT);
  answer.then(() => { clearTimeout(said); one("#traced-toast [data-working]")?.remove(); });
  return answer;
}

function take(answer, request) {
  board().ariaBusy = "false";
  const { act, of } = request;
  const isCurrent = state.pair === of && !isAdvancing;
  const saved = [...request.verdicts, act].filter((one) => one && answer.saved.includes(one.pair));
  whenSaved.forEach((tell) => tell(saved));
  if (answer.returned) showReturned(answer.returned);
  if (answer.returned && judged === state.pair && request.verdicts.some(({ pair }) => pair === judged)) redraw();
  const parts = answer.parts;
  if (state.dataset === null) recall(answer.state);
  const { is_mixed, claim } = state;  // may have been switched meanwhile
  if (act || isCurrent) state = { ...answer.state, is_mixed, claim };
  else {  // the page has moved on meanwhile
    state = { ...answer.state, is_mixed, claim, pair: state.pair, visited: state.visited, sampled: state.sampled };
    for (const part of ["stage", "chart", "steps"]) delete parts[part];
  }
  if (hasUnsent()) for (const part of ["stage", "chart", "steps"]) delete parts[part];
  if (act) { isAdvancing = false; ahead.unlink(); }
  // A choice that is on its way is not undone by an older drawing.
  if (!act && outbox.isBusy) delete parts.queue;
  // Why a later verdict was not taken is said longer than that an earlier one was saved.
  if (!act && (!parts.toast || hasSaidSince(request.began))) delete parts.toast;
  paint(parts);
  if (fromBefore && request.verdicts.length) { fromBefore = 0; if (!answer.returned) say("later"); }
  asked = one("#traced-toast [data-question]") ? act ?? asked : null;
  markCurrent();
  if (act) { whenDone.forEach((tell) => tell(act)); outbox.want(); drain(); walk(); return; }
  if (answer.ahead && (request.drawing !== drawing || !ahead.take(answer.ahead, answer.state.pair, state.pair))) outbox.want();
  advance();
}

/** Go on with the history that this tab had before a reload or another page. */
function recall(next) {
  const { author, dataset, ...history } = JSON.parse(sessionStorage.getItem(HISTORY) ?? "{}");
  if (author === next.author && dataset === next.dataset) Object.assign(next, history);
}
addEventListener("pagehide", () => {
  const { author, dataset, done, undone, visited, sampled, skipped } = state;
  if (dataset === null) return;
  const all = [...done, ...outbox.verdicts.map(() => ({}))].slice(-MOST_STEPS);  // as the server will count
  sessionStorage.setItem(HISTORY, JSON.stringify({ author, dataset, done: all, undone, visited, sampled, skipped }));
});

/** The pair on the screen, as an act names it. */
function seen() {
  const s = stage()?.dataset, { author } = state;
  return s ? { author, pair: Number(s.pair), version: Number(s.version), fingerprint: s.fingerprint, name: s.name, note: one(NOTE)?.value ?? "" } : { author };
}

/** @param {string[]} actions */
export const isUnderWay = (isOne) => outbox.acts.some(({ action }) => isOne(action));
/** Let the server do something and show the result. */
export function send(action, more = {}) {
  outbox.send({ action, ...seen(), ...(isWriting(action) ? named() : {}), ...more });
}
/** What names an act that writes, so that it can be sent again without being done twice. */
const named = () => ({ request: newId(), dataset: state.dataset });
const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Ask the models about the pair on the screen: no key waits for the answer, which is null if the page
 * shows another pair by then. */
export async function ask(action, more = {}) {
  const act = { action, ...seen(), ...more };
  const { answer } = await fetched({ state: asShown(), verdicts: [], acts: [act], have: {}, redraw: false }, SLOW);
  return answer && Number(stage()?.dataset.pair) === act.pair ? answer.parts : null;
}

/** Draw the page again: what it shows may have changed elsewhere. */
export function redraw() { ahead.unlink(); outbox.want(true); }
/** Mix pairs drawn at random into the queue, or not: they tell how many errors remain. */
export function mix(is) {
  state.is_mixed = is;
  if (is) localStorage.removeItem(UNMIXED); else localStorage.setItem(UNMIXED, "yes");
  forget();
  outbox.want();
}
/** The prefetched pairs may be outdated. */
function forget() {
  drawing += 1;
  ahead.clear();
  board().dataset.ready = 0;
}

let steps = 0;  // along the queue: those of the keys pressed whose pair is not shown yet
/** Go along the queue: each key counts, also those pressed before its pair is loaded. */
export function go(by) { steps += by; walk(); }

function walk() {
  if (!steps || isAdvancing || outbox.isBusy) return;
  while (steps > 0 && ahead.behind === state.pair) {
    const next = ahead.shift();
    if (!next) break;
    steps -= 1;
    show(next);
    outbox.want();
  }
  if (!steps) return;
  send(steps > 0 ? "next" : "previous", { by: Math.abs(steps) });
  steps = 0;
}

/** Give a verdict. */
export function decide(action, text = null) {
  if (outbox.isBusy) { waiting.push({ action, text, pair: state.pair }); return; }
  const s = stage();
  if (s && !isSeen({ isWritten: text !== null })) return;
  if (s && "drawing" in s.dataset && action.startsWith("suggestion-")) { say("too-soon"); return; }  // those of another claim
  const button = one(`#traced-review :is(#traced-stage, #traced-steps) [data-action="${action}"]`);
  const isKnown = action === "correction" || (button && !button.disabled && isVerdict(action));
  const isAgain = "decided" in (s?.dataset ?? {}) && judged !== state.pair;
  const contradicts = action === "correct" && one("#traced-stage .claim[data-label=wrong]");
  if (!s || !isKnown || one("#traced-toast [data-question]") || isAgain || contradicts || (text !== null && !isCorrection(text))) {
    askFirst(action, text, button);
  } else if (outbox.trouble) say(outbox.trouble);
  else if (isAdvancing || !isPainted) { say("too-soon"); }
  else if (ahead.behind !== state.pair || (!ahead.entries.length && !ahead.hasMore)) askFirst(action, text, button);
  else {
    outbox.push(verdictOf(action, text, button));
    isAdvancing = true;
    advance();
    if (isAdvancing) outbox.want();
  }
}

function verdictOf(action, text, button) {
  return { action, ...seen(), text, suggestion: button?.dataset.suggestion ? Number(button.dataset.suggestion) : null, meant: judged === state.pair && action !== "correct" };
}

/** Say something about a claim of the pair on the screen, which stays there; returns whether it is accepted.
 * @type {(action: string, claim: number[]) => boolean} */
export function judgeClaim(action, claim) {
  if (outbox.trouble) { say(outbox.trouble); return false; }
  if (!stage() || isAdvancing || !isPainted) { say("too-soon"); return false; }
  if (!isSeen({ isWritten: true })) return false;
  outbox.push({ action, ...seen(), claim });
  judged = state.pair;
  stage().dataset.version = String(Number(stage().dataset.version) + 1);  // as the server counts
  outbox.want();
  return true;
}

/** Remember which claim of the pair is selected, by where it starts. @type {(start: number) => void} */
export function selectClaim(start) { state.claim = [state.pair, start]; }

/** The server decides: it asks for confirmation, reports what is wrong, or has the next pair. */
function askFirst(action, text, button) {
  button?.classList.add("saving");
  outbox.send({ ...verdictOf(action, text, button), ...named() });
}

/** Answer the question whether to change a verdict. */
export function confirm() { if (asked) outbox.send({ ...asked, meant: true }); asked = null; }
export function leaveIt() { asked = null; paint({ toast: "" }); all("#traced-review .saving").forEach((button) => button.classList.remove("saving")); }

function isCorrection(text) {
  const caption = text.trim(), before = one("#traced-stage .editor textarea")?.defaultValue.trim();
  return caption && caption.length <= LONGEST && !caption.includes("\0") && caption !== before;
}

/** Keys that were pressed during an act count for the pair that was on the screen. */
function drain() {
  const pressed = waiting;
  waiting = [];
  for (const { action, text, pair, run } of pressed) {
    if (pair !== state.pair) say("too-soon");
    else if (run) soon(run);
    else decide(action, text);
  }
}
/** Do something about the pair on the screen once no act is under way. @type {(run: () => void) => void} */
export function soon(run) { if (outbox.isBusy) waiting.push({ run, pair: state.pair }); else run(); }

function advance() {
  board().dataset.ready = ahead.ready;
  if (!isAdvancing) return;
  const next = ahead.behind === state.pair ? ahead.shift({ isDecided: true }) : null;
  if (next) { show(next); outbox.want(); walk(); }
  else if (ahead.behind === state.pair && !ahead.entries.length && !ahead.hasMore) { isAdvancing = false; send("end"); }
  else stage()?.classList.add("leaving");
}

function show(next) {
  isAdvancing = isPainted = false;
  board().dataset.painted = "false";
  const sampled = next.sampled ? [...state.sampled, next.pair].slice(-200) : state.sampled;
  judged = null;
  state = { ...state, claim: null, pair: next.pair, visited: [...state.visited, state.pair].slice(-200), sampled };
  paint({ stage: next.stage, chart: next.chart, steps: next.steps });
  markCurrent();
  requestAnimationFrame(() => setTimeout(() => { isPainted = true; board().dataset.painted = "true"; }));
}

function markCurrent() {
  for (const row of all("#traced-queue .pairs li")) {
    if (Number(one("[data-target]", row)?.dataset.target) === state.pair) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
  reveal(one("#traced-queue [aria-current=true]"));
}

onPaint("stage", () => { if (isAdvancing) stage()?.classList.add("leaving"); });

/** Open the page at its address. `dataset`: the one chosen in the header. */
export function open(dataset) {
  if (outbox.verdicts.length) outbox.run();  // from before a reload
  outbox.send({ action: "visit", dataset, address: Object.fromEntries(new URL(location.href).searchParams) });
  outbox.resume();
}
