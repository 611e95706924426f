// Queues and pairs have URLs: a shared link opens the same state, Back returns to the previous one, a
// reload keeps it, and who comes back from another page finds it.
import { onDone, send, state } from "./acts.js";
import { keepReview } from "./header.js";
import { listen, onPaint, queue, stage } from "./page.js";

const SETTLED = 120;  // ms; anything shown for less time gets no history entry
const asked = () => new URL(location.href).searchParams;

let settling = 0;
let shown = "", shownQueue = "", since = 0;  // the URL and queue of what is on the screen, and when it appeared
let returning = 0;  // Back or Forward has been pressed, and the pair is not shown yet

function urlShown() {
  const address = new URL(location.href), now = new URLSearchParams(queue().dataset.link);
  for (const [key, value] of asked()) if (key.startsWith("__")) now.set(key, value);
  now.set("dataset", state.dataset);
  if (stage()) now.set("pair", stage().dataset.pair);
  address.search = now.toString();
  return address.href;
}

// Told at once, because a reload opens what the browser was told last. Only pairs that pass while a key
// is held wait until it rests: browsers limit how often.
function follow() {
  if (!queue() || returning) return;
  const address = urlShown(), { link } = queue().dataset;
  if (address === shown) return;
  const isPassing = performance.now() - since < SETTLED, isSameQueue = link === shownQueue;
  [shown, shownQueue, since] = [address, link, performance.now()];
  clearTimeout(settling);
  const way = isPassing ? "replaceState" : "pushState";
  if (isPassing && isSameQueue) settling = setTimeout(() => tell(way), SETTLED); else tell(way);
}

function tell(way) {
  if (!shown || returning) return;
  const before = asked(), now = new URL(shown).searchParams;
  keepReview(`?${now}`);
  if (shown === location.href) return;
  // The first full URL replaces the one that led to it, without a history entry of its own.
  const isBare = !before.has("dataset") || before.has("grid") || (!before.has("pair") && now.has("pair"));
  history[isBare ? "replaceState" : way](null, "", shown);
}
// A page that is left at once is found again, too.
addEventListener("pagehide", () => tell("replaceState"));

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
for (const part of ["queue", "stage"]) onPaint(part, follow);
onDone(({ action }) => {
  if (action !== "visit" || !returning) return;
  returning -= 1;
  shown = location.href;
  follow();
});
