// The review page. Gradio draws its component once; everything in it is painted from here.
import * as acts from "./acts.js";
import "./address.js";
import * as keys from "./keys.js";
import { restoreReturned, say } from "./messages.js";
import { board, listen } from "./page.js";
import { setStops } from "./roving.js";
import * as session from "./session.js";

listen("paste", (event) => {
  const file = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
  if (!file || !board() || isForField(event)) return;
  event.preventDefault();
  import("./pasted.js").then(({ find }) => find(file), () => say("not-loaded")).catch(reportError);
});
/** Whether text goes into a field: programs put a picture of it beside it. @param {ClipboardEvent} event */
const isForField = ({ target, clipboardData }) => target.closest?.("input, textarea") && clipboardData.types.includes("text/plain");

/** @param {HTMLElement} element the component */
export function start(element) {
  // The page ends at the window's edge, whatever stands above it.
  const fit = () => board().style.setProperty("--above", `${board().getBoundingClientRect().top + scrollY}px`);
  const sizes = new ResizeObserver(() => requestAnimationFrame(fit));
  [document.body, board()].forEach((part) => sizes.observe(part));
  fit();
  setStops();
  session.start();
  restoreReturned();

  const { keys: table, dataset, scripts } = board().dataset;
  // Of features and packages, whenever they come: one that fails is said in the console.
  for (const script of scripts.split(" ").filter(Boolean)) import(`./${script}`).catch(reportError);
  keys.start(JSON.parse(table));
  acts.open(dataset ? Number(dataset) : null);
  listen("traced-dataset", (event) => {  // chosen in the header
    event.preventDefault();
    acts.send("dataset", { dataset: event.detail });
  });
  // A job has ended or reached its next stage; or another page has changed what pairs look like.
  listen("traced-refresh", acts.redraw);
  element.dataset.started = "yes";
}
