// The rooms of the program: Gradio's tabs, chosen by the buttons in the header.
import { all, listen, one } from "./page.js";

const TAB = "[role=tab][data-tab-id]", BUTTON = "[data-pages]";
const isChosen = (tab) => tab?.ariaSelected === "true";
/** The page that is shown, by its name in addresses. */
export const pageShown = () => all(TAB).find(isChosen)?.dataset.tabId ?? "review";
const hasPage = (button) => button.dataset.pages.split(" ").includes(pageShown());

let wanted = "";
/** Show a page, as soon as it is drawn and unless another is asked for meanwhile; the playground lies
 * over the one that is shown. @type {(name: string, shown?: () => void) => void} */
export function showPage(name, shown = () => {}) {
  if (name === "playground") { opener()?.click(); name = "review"; }
  wanted = name;
  const look = (tries) => {
    const tab = one(`${TAB}[data-tab-id="${CSS.escape(name)}"]`);
    if (wanted !== name || !tries || isChosen(tab)) { mark(); shown(); return; }
    tab?.click();
    // Gradio draws its tabs anew while it measures them: one that is missing now may come.
    setTimeout(() => look(tab || !one(TAB) ? tries : tries - 1), 50);
  };
  look(100);
}

function mark() {
  for (const button of all(BUTTON)) {
    const isHere = hasPage(button);
    if (button.role === "tab") { button.ariaSelected = String(isHere); button.tabIndex = isHere ? 0 : -1; }
    else button.classList.toggle("here", isHere);
  }
  // In a corner's room no room of the bar is chosen: its first stays a Tab stop.
  const rooms = all(".rooms [role=tab]");
  if (!rooms.some(hasPage)) rooms[0].tabIndex = 0;
  for (const list of all("#traced-pages [role=tablist]")) list.hidden = !all(BUTTON, list).some(hasPage);
}

// Arrow keys move along the rooms, or the pages of one, and open them.
listen("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], list = event.target.closest?.(":is(.rooms, .pages)");
  if (!step || !list) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const tabs = all(BUTTON, list), next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
}, true);

// Try one picture: over any page, closed by its button or Escape.
const opener = () => one("#traced-try-open");
const isTrying = () => opener()?.ariaExpanded === "true";
function close() { opener().ariaExpanded = "false"; opener().focus(); }
listen("click", ({ target }) => {
  if (target.closest("[data-try-close]")) close();
  else if (target.closest("#traced-try-open")) opener().ariaExpanded = "true";
});
listen("keydown", (event) => {
  if (event.key !== "Escape" || !isTrying() || event.defaultPrevented) return;
  if (event.target.matches("#traced-try :is(input, textarea)")) event.target.blur();
  else close();
});
