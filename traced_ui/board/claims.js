// The claims of a caption that has several: one is selected, the most suspicious one at first; chart, steps,
// suspect words, suggestions and reasons are its own. Labels are saved in the background, like verdicts.
import { ask, hasUnsent, judgeClaim, onSaved, selectClaim, soon, state } from "./acts.js";
import { say } from "./messages.js";
import { all, one, onPaint, paint, revealIn, stage } from "./page.js";

const CLAIM = "#traced-stage .words .claim[data-claim]", BOX = "#traced-stage .words .traced-caption", BAR = "#traced-stage .claim-bar";
const SETTLED = 60;  // ms; claims that are passed by are not drawn
const claims = () => all(CLAIM);
const selected = () => one(`${CLAIM}[aria-current=true]`);
const startOf = (claim) => Number(claim.dataset.claim);
const claimAt = (start) => claims().find((claim) => startOf(claim) === start);
let drawing = 0, asked = 0;

/** Select the claim before or behind the selected one. */
export function moveClaim(by) {
  const every = claims(), next = every[every.indexOf(selected()) + by];
  if (every.length < 2) { if (stage()) say("one-claim"); }
  else if (next) select(next);
}

/** Select the claim at this place, if it is not selected. @type {(target: Element) => boolean} */
export function selectAt(target) {
  const claim = target.closest(CLAIM);
  if (!claim || claim === selected()) return false;
  select(claim);
  return true;
}

function select(claim) {
  selected()?.removeAttribute("aria-current");
  claim.setAttribute("aria-current", "true");
  revealIn(one(BOX), claim);
  selectClaim(startOf(claim));
  stage().dataset.drawing = "";  // until what belongs to it is painted
  tell();
  draw();
}

/** Draw what belongs to the selected claim, unless something else happens on the page first. */
function draw() {
  asked += 1;
  clearTimeout(drawing);
  drawing = setTimeout(async () => {
    const claim = selected(), at = asked;
    if (!claim || hasUnsent()) return;  // drawn once they are saved
    const parts = await ask("claim", { target: startOf(claim) });
    if (parts && at === asked && !hasUnsent()) paint(parts);
  }, SETTLED);
}

/** The words of the bar, and which of its buttons are pressed. */
function tell() {
  const claim = selected(), bar = one(BAR);
  if (!claim || !bar) return;
  // Nothing is decided by the last label, but what decides is offered.
  const judged = claims().filter((each) => each.style.getPropertyValue("--chance") || each.dataset.label);
  const isAllRight = judged.every((each) => each.dataset.label === "right") && judged.length > 0;
  one("[data-claim-about]", bar).textContent = `${claim.dataset.about}${isAllRight ? bar.dataset.allRight : ""}`;
  one("#traced-stage .verdicts [data-action=correct]").classList.toggle("offered", isAllRight);
  for (const label of ["right", "wrong"]) one(`[data-local=claim-${label}]`, bar).ariaPressed = String(claim.dataset.label === label);
}

/** Say of the selected claim that it is right or wrong; once more: take that back.
 * @param {"right" | "wrong"} label */
export const labelClaim = (label) => withSelected((claim) => labelAt(claim, label));
/** Take the selected claim out of the caption. */
export const removeClaim = () => withSelected(removeAt);

function withSelected(run) {
  if (!stage()) return;  // many pairs at once
  if (claims().length < 2) { say("one-claim"); return; }
  const start = startOf(selected());
  soon(() => { const claim = claimAt(start); if (claim) run(claim); });
}

function labelAt(claim, label) {
  const isClear = claim.dataset.label === label;
  if (!judgeClaim(isClear ? "claim-clear" : `claim-${label}`, spanOf(claim))) return;
  if (isClear) delete claim.dataset.label; else claim.dataset.label = label;
  tell();
  asked += 1;
}

function removeAt(claim) {
  if (claim.classList.contains("gone") || !judgeClaim("claim-remove", spanOf(claim))) return;
  claim.classList.add("gone");
  asked += 1;
}

const spanOf = (claim) => [startOf(claim), Number(claim.dataset.end)];

/** The characters of the selected claim; null: the caption is one claim. */
export const selectedSpan = () => (selected() ? spanOf(selected()) : null);

onSaved((acts) => { if (acts.some(({ action, pair }) => action.startsWith("claim-") && String(pair) === stage()?.dataset.pair)) draw(); });
onPaint("stage", (isSame) => {
  if (!isSame) { asked += 1; revealIn(one(BOX), selected()); }
  // A drawing that was on its way has the claim that was selected before.
  const [pair, start] = state.claim ?? [], wanted = pair === state.pair && claimAt(start);
  if (wanted && wanted !== selected()) select(wanted);
  tell();
});
