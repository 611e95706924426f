// The review page. Gradio draws its component once; everything in it is painted from here.
import * as acts from "./acts.js";
import * as address from "./address.js";
import * as keys from "./keys.js";
import { restoreReturned } from "./messages.js";
import { board, isShown, listen } from "./page.js";
import { setStops } from "./roving.js";
import * as session from "./session.js";

/** @param {HTMLElement} element the component */
export function start(element) {
  // The theme chosen with the toolbar's button overrides the system's.
  const theme = localStorage.getItem("traced-theme");
  if (theme && !new URL(location.href).searchParams.has("__theme")) document.body.classList.toggle("dark", theme === "dark");

  // The page ends at the window's edge, whatever stands above it.
  const fit = () => { if (isShown()) board().style.setProperty("--above", `${board().getBoundingClientRect().top + scrollY}px`); };
  const sizes = new ResizeObserver(() => requestAnimationFrame(fit));
  [document.body, board()].forEach((part) => sizes.observe(part));
  fit();
  setStops();
  session.start();
  restoreReturned();

  const { keys: table, dataset } = board().dataset;
  keys.start(JSON.parse(table));
  let chosen = dataset ? Number(dataset) : null;  // in the header, which follows the address later
  const named = Number(new URL(location.href).searchParams.get("dataset"));
  acts.open(chosen);
  address.start();
  listen("traced-dataset", ({ detail }) => {
    if (detail === chosen) return;
    chosen = detail;
    if (detail !== (acts.state.dataset ?? named)) acts.send("dataset", { dataset: detail });
  });
  // A job has ended or reached its next stage; or another page has changed what pairs look like.
  listen("traced-refresh", acts.redraw);
  listen("click", ({ target }) => {
    if (!target.closest("[data-tab-id]")) return;
    acts.forget();
    setTimeout(acts.redraw);
  });
  element.dataset.started = "yes";
}
