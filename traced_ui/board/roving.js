// One Tab stop each for the header's buttons, the toolbar, the queue, the suggestions and the verdicts;
// the arrow keys move within them.
import { all, listen, onPaint } from "./page.js";

const GROUPS = [
  "#traced-header .rooms a", "#traced-header :is(#traced-corner a, #traced-tools button)", "#traced-toolbar button", "#traced-queue .pairs button", "#traced-queue .chips.views button",
  "#traced-stage .decide .suggestions > li > button", "#traced-stage .verdicts button", "#traced-stage .picks input",
];
const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Leave one stop in each group: the current item, or the first. */
export function setStops() {
  for (const group of GROUPS) {
    const items = all(group);
    const stop = items.find((item) => item === document.activeElement || item.closest("[aria-current=true]")) ?? items.find((item) => item.checkVisibility());
    items.forEach((item) => { item.tabIndex = item === stop ? 0 : -1; });
  }
}
for (const part of ["stage", "queue"]) onPaint(part, setStops);

// Only where the keyboard brought the focus: after a click the arrow keys belong to the page.
listen("keydown", (event) => {
  const { target, key } = event;
  const group = key in STEPS && target.matches?.(":focus-visible") && GROUPS.find((one) => target.matches(one));
  if (!group) return;
  const items = all(group).filter((item) => item.checkVisibility());
  const next = items[items.indexOf(target) + STEPS[key]];
  event.preventDefault();
  event.stopImmediatePropagation();
  if (!next) return;
  [target.tabIndex, next.tabIndex] = [-1, 0];
  next.focus();
}, true);
