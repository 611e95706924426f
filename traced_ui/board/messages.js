// Messages, verdicts that could not be saved, and those that wait for the server.
import { all, listen, one, onPaint, paint } from "./page.js";

const RETURNED = "traced-verdicts-returned";
const box = (name) => one(`#traced-returned .${name}`);

let saidAt = 0;
/** Show one of the page's own messages, which are templates; of a feature, in its part of the page. */
export function say(name) {
  paint({ toast: one(`template[data-says="${name}"]`).innerHTML });
  saidAt = performance.now();
}
/** Say below what stands there, which may be an error or a question, that an act takes long. */
export function tellWorking() { one("#traced-toast").insertAdjacentHTML("beforeend", one("template[data-says=working]").innerHTML); }
/** Whether a message of the page's own is on the screen that is newer than this time, ms. */
export const hasSaidSince = (time) => saidAt > time && Boolean(one("#traced-toast .traced-note"));

/** Show verdicts that were not saved, until the curator has dealt with them: a reload does not lose them. */
export function showReturned(html) {
  one("ul", box("returned")).insertAdjacentHTML("beforeend", html);
  keepReturned();
}
export function restoreReturned() { showReturned(sessionStorage.getItem(RETURNED) ?? ""); }

function keepReturned() {
  const list = one("ul", box("returned"));
  sessionStorage.setItem(RETURNED, list.innerHTML);
  box("returned").hidden = !one("li", list);
}

export function tellUnsent({ verdicts, trouble }) {
  const waiting = box("unsent");
  waiting.hidden = !trouble || !verdicts.length;
  one("[data-unsent]", waiting).textContent = verdicts.length;
  all("[data-because]", waiting).forEach((why) => { why.hidden = why.dataset.because !== trouble; });
}

listen("click", ({ target }) => {
  if (target.closest("[data-dismiss-returned]")) one("ul", box("returned")).replaceChildren();
  else if (target.closest("#traced-returned [data-action=open]")) target.closest("li").remove();
  else return;
  keepReturned();
});

// Messages fade out by themselves (board.css), except questions and errors.
listen("animationend", ({ target }) => { if (target.matches("#traced-toast .traced-note")) target.remove(); });
onPaint("toast", () => one("#traced-toast [data-question] button")?.focus());
