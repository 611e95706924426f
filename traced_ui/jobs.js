// The job drawer is a popover: over the page, closed by Escape or a click outside, and unaffected
// when its content is redrawn.
const drawer = element.closest("#traced-jobs");
drawer.setAttribute("popover", "auto");
drawer.setAttribute("role", "dialog");
drawer.setAttribute("aria-label", "Activity");
drawer.addEventListener("click", (event) => {
  const button = event.target.closest("[data-job-action]");
  if (!button) return;
  button.disabled = true;
  trigger("select", { action: button.dataset.jobAction, job: Number(button.dataset.job) });
});
// While nothing runs, the page polls rarely. A button outside the review page may start a job, and
// the drawer should be up to date when it is opened.
const look = () => trigger("input");
drawer.addEventListener("toggle", look);
document.addEventListener("click", (event) => {
  if (event.target.closest(":is([role=tabpanel], #traced-try) button[id]") && !event.target.closest("#traced-review")) setTimeout(look, 700);
});
// When a job has ended or reached its next stage, pairs look different.
const stages = () => drawer.querySelector("[data-stages]")?.dataset.stages;
let before = null;  // until the first answer
watch("value", () => {
  const now = stages();
  if (before !== null && now !== before) document.dispatchEvent(new Event("traced-refresh"));
  before = now;
});
