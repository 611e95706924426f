// The step of the trajectory that is shown: in the chart, in the list and in the caption. The page has
// them all, so that an arrow key needs no server.
import { all, listen, one, onPaint, reveal, stage } from "./page.js";

let step = 0;

/** Go to a step; it is kept within the trajectory. */
function goTo(wanted) {
  const points = all("#traced-chart .point");
  if (!points.length) return;
  step = Math.min(Math.max(wanted, 0), points.length - 1);
  points.forEach((point, place) => one(".dot", point).classList.toggle("at", place === step));
  const x = one(".dot", points[step]).getAttribute("cx"), now = one("#traced-chart .now");
  now.setAttribute("x1", x);
  now.setAttribute("x2", x);
  for (const row of all("#traced-steps li.step")) {
    if (Number(one("button", row).dataset.step) === step) row.setAttribute("aria-current", "step");
    else row.removeAttribute("aria-current");
  }
  const row = one("#traced-steps [aria-current=step]");
  reveal(row);
  if (document.activeElement?.closest("#traced-steps li.step")) one("button", row).focus({ preventScroll: true });
  all("#traced-stage .word[data-gone]").forEach((word) => word.classList.toggle("removed", Number(word.dataset.gone) <= step));
}
export const goBy = (by) => goTo(step + by);

listen("click", ({ target }) => {
  const point = target.closest("#traced-review [data-step]");
  if (point) goTo(Number(point.dataset.step));
});
for (const part of ["stage", "chart", "steps"]) onPaint(part, (isSame) => { if (!isSame) step = 0; if (stage()) goTo(step); });
