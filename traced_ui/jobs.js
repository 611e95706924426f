// The drawer of jobs is a popover: over the page, closed by Escape or a click beside it, and left as
// it is when its content is drawn again.
const drawer = element.closest("#traced-jobs");
drawer.setAttribute("popover", "auto");
drawer.setAttribute("role", "dialog");
drawer.setAttribute("aria-label", "Jobs");
drawer.addEventListener("click", (event) => {
  const button = event.target.closest("[data-job-action]");
  if (!button) return;
  button.disabled = true;
  trigger("select", { action: button.dataset.jobAction, job: Number(button.dataset.job) });
});
// Where nothing runs the page asks rarely. A button outside the review page may start a job, and
// whoever opens the drawer wants to see what there is.
const look = () => trigger("input");
drawer.addEventListener("toggle", look);
document.addEventListener("click", (event) => {
  if (event.target.closest("[role=tabpanel] button[id]") && !event.target.closest("#traced-review")) setTimeout(look, 700);
});
