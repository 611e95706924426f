// This session: how many verdicts, how fast; what a newcomer sees first.
import { onSaved } from "./acts.js";
import { all, board, listen, one, onPaint, stage } from "./page.js";

const KEPT = "traced-session", SEEN = "traced-seen", HAS_DECIDED = "traced-has-decided", CLOSED = "traced-hint-closed-", PAUSE = 120_000;  // ms; longer gaps are breaks
/** @type {{count: number, busy: number, last: number}} `busy`: ms between verdicts, without breaks */
const session = JSON.parse(sessionStorage.getItem(KEPT) ?? '{"count":0,"busy":0,"last":0}');

/** "12 verdicts this session · 9 a minute"; no pace before the fifth verdict. */
function describe({ count, busy }) {
  const pace = count >= 5 && busy ? ` · ${Math.round((60_000 * (count - 1)) / busy)} a minute` : "";
  return count ? `${count} ${count === 1 ? "verdict" : "verdicts"} this session${pace}` : "";
}

function show() { one(".session").textContent = describe(session); }

onSaved((every) => {
  const acts = every.filter(({ action }) => !action.startsWith("claim-"));  // which are about parts of a pair
  if (!acts.length) return;
  const now = Date.now(), gap = now - session.last;
  Object.assign(session, { count: session.count + acts.length, busy: session.busy + (gap < PAUSE ? gap : 0), last: now });
  sessionStorage.setItem(KEPT, JSON.stringify(session));
  localStorage.setItem(HAS_DECIDED, "yes");
  delete board().dataset.isNew;
  show();
});

export function start() {
  show();
  if (!localStorage.getItem(HAS_DECIDED)) board().dataset.isNew = "";
  for (const hint of all("[data-hint]")) hint.hidden = Boolean(localStorage.getItem(CLOSED + hint.dataset.hint));
}
listen("click", ({ target }) => {
  const hint = target.closest("[data-hint]");  // only its button takes a click
  if (!hint) return;
  localStorage.setItem(CLOSED + hint.dataset.hint, "yes");
  hint.hidden = true;
});

onPaint("stage", () => {
  if (!stage() || sessionStorage.getItem(SEEN)) return;
  sessionStorage.setItem(SEEN, "yes");
  board().dataset.firstSight = "";
  setTimeout(() => delete board().dataset.firstSight, 1000);
});
