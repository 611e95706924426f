// Queues and pairs have URLs: a shared link opens the same state, Back returns to the previous one, a
// reload keeps it, and who comes back from another page finds it.
import { onDone, send, state } from "./acts.js";
import { keepReview } from "./header.js";
import { listen, onPaint, queue, stage } from "./page.js";

const SETTLED = 120;  // ms; anything shown for less time gets no history entry
const asked = () => new URL(location.href).searchParams;

let settling = 0;
let returning = 0;  // Back or Forward has been pressed, and the pair is not shown yet

function tellAddress() { clearTimeout(settling); settling = setTimeout(tell, SETTLED); }

function tell() {
  if (!queue() || returning) return;
  const address = new URL(location.href), before = asked(), now = new URLSearchParams(queue().dataset.link);
  for (const [key, value] of before) if (key.startsWith("__")) now.set(key, value);
  now.set("dataset", state.dataset);
  if (stage()) now.set("pair", stage().dataset.pair);
  address.search = now.toString();
  keepReview(address.search);
  if (address.href === location.href) return;
  // The first full URL replaces the one that led to it, without a history entry of its own.
  const isBare = !before.has("dataset") || before.has("grid") || (!before.has("pair") && now.has("pair"));
  history[isBare ? "replaceState" : "pushState"](null, "", address);
}
// A page that is left at once is found again, too.
addEventListener("pagehide", tell);

addEventListener("popstate", () => {
  const to = asked();
  if (to.has("dataset") && to.get("dataset") !== String(state.dataset)) { location.reload(); return; }
  clearTimeout(settling);
  returning += 1;
  send("visit", { address: Object.fromEntries(to), dataset: state.dataset });
});
listen("click", (event) => {
  const { target } = event, link = target.closest('a[href^="?dataset="]');
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();  // a queue or a pair, without loading the page again
  history.pushState(null, "", link.getAttribute("href"));
  dispatchEvent(new PopStateEvent("popstate"));
});
for (const part of ["queue", "stage"]) onPaint(part, tellAddress);
onDone(({ action }) => { if (action === "visit" && returning) returning -= 1; });
