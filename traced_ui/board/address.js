// Pages, queues and pairs have URLs: a shared link opens the same state, Back returns to the previous
// one, and a reload keeps it.
import { onDone, send, state } from "./acts.js";
import { listen, onPaint, queue, stage } from "./page.js";
import { pageShown, showPage } from "./rooms.js";

const SETTLED = 120;  // ms; anything shown for less time gets no history entry
const asked = () => new URL(location.href).searchParams;

let arriving = asked().get("tab");  // the page named in the URL (`page` is Gradio's), until it is shown
let settling = 0;
let returning = 0;  // Back or Forward has been pressed, and the pair is not shown yet

export function tellAddress() { clearTimeout(settling); settling = setTimeout(tell, SETTLED); }

function tell() {
  if (!queue() || arriving || returning) return;
  const address = new URL(location.href), before = asked(), now = new URLSearchParams(queue().dataset.link);
  for (const [key, value] of before) if (key.startsWith("__")) now.set(key, value);
  now.set("dataset", state.dataset);
  if (stage()) now.set("pair", stage().dataset.pair);
  if (pageShown() !== "review") now.set("tab", pageShown());
  address.search = now.toString();
  if (address.href === location.href) return;
  // The first full URL replaces the bare one that led to it, without a history entry of its own.
  const isBare = !before.has("dataset") || (!before.has("pair") && now.has("pair"));
  history[isBare ? "replaceState" : "pushState"](null, "", address);
}

addEventListener("popstate", () => {
  const to = asked();
  if (to.has("dataset") && to.get("dataset") !== String(state.dataset)) { location.reload(); return; }
  clearTimeout(settling);
  arrive(to.get("tab") ?? "review", () => {});
  returning += 1;
  send("visit", { address: Object.fromEntries(to), dataset: state.dataset });
});
listen("click", (event) => {
  const { target } = event, button = target.closest("[data-page]"), link = target.closest('a[href^="?dataset="]');
  if (button) showPage(button.dataset.page, tellAddress);
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();  // a queue or a pair, without loading the page again
  visit(link.getAttribute("href"));
});
/** Open a queue or a pair by its address. @type {(address: string) => void} */
export function visit(address) {
  history.pushState(null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}
listen("traced-visit", ({ detail }) => visit(detail));
for (const part of ["queue", "stage"]) onPaint(part, tellAddress);
onDone(({ action }) => { if (action === "visit" && returning) returning -= 1; });
/** Show the page; until then the address stays. */
function arrive(name, shown) {
  arriving = name;
  showPage(name, () => { if (arriving === name) arriving = null; shown(); });
}
export function start() { if (arriving) arrive(arriving, tellAddress); }
