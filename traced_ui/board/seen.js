// What must be on the screen before a verdict: the picture, and the whole caption, which scrolls in its box
// if it is long. The curator is told what is missing, and may go on knowing it.
import { say } from "./messages.js";
import { all, listen, one, onPaint, queue, stage } from "./page.js";

const CAPTION = "#traced-stage .words .traced-caption", LINE = 28;  // px
const BY_ACCIDENT = 500;  // ms after the message, a key cannot answer it yet
const WITHOUT = "traced-without-pictures";  // the dataset that may be judged so, in this session
let isRead = false, toldAt = 0;
/** @type {number[]} what of the caption has been shown, from where to where, px */
let range = [Infinity, 0];

const isBroken = (image) => image.complete && !image.naturalWidth;

function look() {
  const image = one("#traced-stage .picture img"), box = one(CAPTION);
  stage()?.classList.toggle("no-picture", !image || isBroken(image));
  if (!box?.clientHeight) return;  // behind the editor, which shows all of it
  const end = box.scrollTop + box.clientHeight, isCut = box.scrollHeight - end > LINE / 2;
  range = [Math.min(range[0], box.scrollTop), Math.max(range[1], end)];
  isRead ||= range[0] <= LINE / 2 && box.scrollHeight - range[1] <= LINE / 2;
  box.closest(".words").classList.toggle("goes-on", isCut);
  box.closest(".words").classList.toggle("goes-up", box.scrollTop > LINE / 2);
}

/** Scroll on; from the end to what was passed by at the beginning. */
function readOn() {
  const box = one(CAPTION), isAtEnd = box.scrollHeight - range[1] <= LINE / 2;
  box.scrollTop = isAtEnd && !isRead ? Math.max(0, Math.min(range[0], box.scrollTop) - box.clientHeight + LINE) : box.scrollTop + box.clientHeight - LINE;
}
function readUp() { const box = one(CAPTION); box.scrollTop -= box.clientHeight - LINE; }

function hasPictures(cards) {
  const isShown = cards ? !cards.some((card) => isBroken(one("img", card))) : !stage()?.classList.contains("no-picture");
  return isShown || sessionStorage.getItem(WITHOUT) === queue()?.dataset.dataset;
}

/** Whether what is on the stage may be judged. `cards`: of many pairs; otherwise one pair, whose caption
 * need not be read if another text was written. */
export function isSeen({ cards = null, isWritten = false } = {}) {
  look();
  if (!hasPictures(cards)) { say("no-picture"); return false; }
  if (cards || isWritten || isRead || (toldAt && performance.now() - toldAt > BY_ACCIDENT)) return true;
  toldAt ||= performance.now();
  readOn();
  say("goes-on");
  return false;
}

listen("scroll", ({ target }) => { if (target.matches?.(CAPTION)) look(); }, true);
for (const event of ["load", "error"]) listen(event, ({ target }) => { if (target.matches?.("#traced-stage .picture img")) look(); }, true);
listen("click", ({ target }) => {
  if (target.closest("[data-read-on]")) readOn();
  if (target.closest("[data-read-up]")) readUp();
  if (!target.closest("[data-without-picture]")) return;
  sessionStorage.setItem(WITHOUT, queue().dataset.dataset);
  all("#traced-toast .traced-note").forEach((note) => note.remove());
});
addEventListener("resize", look);
onPaint("stage", (isSame) => {
  if (!isSame) { isRead = false; toldAt = 0; range = [Infinity, 0]; }
  look();
});
