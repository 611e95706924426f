// Pages, queues and pairs have URLs: a shared link opens the same state, Back returns to the previous
// one, and a reload keeps it.
import { onDone, send, state } from "./acts.js";
import { all, listen, onPaint, queue, stage } from "./page.js";

const SETTLED = 120;  // ms; anything shown for less time gets no history entry
const TAB = "button[role=tab], .overflow-dropdown button";  // narrow screens show some tabs in a menu
const nameOf = (tab) => tab.textContent.trim().toLowerCase();
const isChosen = (tab) => tab.ariaSelected === "true" || tab.classList.contains("selected");
export const pageShown = () => nameOf(all(TAB).find(isChosen) ?? document.body);
const asked = () => new URL(location.href).searchParams;

let arriving = asked().get("tab");  // the page named in the URL (`page` is Gradio's), until it is shown
let settling = 0;
let returning = 0;  // Back or Forward has been pressed, and the pair is not shown yet

function showPage(name, shown, tries = 60) {
  const tab = all(TAB).find((one) => nameOf(one) === name);
  if ((tab && isChosen(tab)) || !tries) { arriving = null; shown(); return; }
  tab?.click();
  setTimeout(() => showPage(name, shown, tries - 1), 50);
}

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
  history[before.has("dataset") ? "pushState" : "replaceState"](null, "", address);
}

addEventListener("popstate", () => {
  const to = asked();
  if (to.has("dataset") && to.get("dataset") !== String(state.dataset)) { location.reload(); return; }
  clearTimeout(settling);
  arriving = to.get("tab") ?? "review";
  showPage(arriving, () => {});
  returning += 1;
  send("visit", { address: Object.fromEntries(to), dataset: state.dataset });
});
listen("click", (event) => { if (event.isTrusted && event.target.closest(TAB)) tellAddress(); });
for (const part of ["queue", "stage"]) onPaint(part, tellAddress);
onDone(({ action }) => { if (action === "visit" && returning) returning -= 1; });
export function start() { if (arriving) showPage(arriving, tellAddress); }
