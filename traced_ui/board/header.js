// The bar at the top of every page: its links keep the dataset, Activity shows what runs. It asks the
// server for both, and tells the page what has changed.

const BACK = "traced-review", THEME = "traced-theme", AGAIN = 12;  // s, if the server does not answer
const CONTENT = "#traced-stage .verdicts button, #traced-content :is(input, textarea, button, select, a[href])";
const one = (selector) => document.querySelector(selector);
const inAddress = () => new URL(location.href).searchParams.get("dataset") ?? "";
const select = () => one("#traced-dataset"), drawer = () => one("#traced-jobs");

/** The address of a page for the dataset; Review opens where it was left. */
export function addressOf(path, dataset = select()?.value || inAddress()) {
  const back = path ? null : sessionStorage.getItem(BACK);
  if (back && new URLSearchParams(back).get("dataset") === dataset) return `./${back}`;
  return `./${path}${dataset ? `?dataset=${dataset}` : ""}`;
}
/** Keep the address of Review, to come back to. */
export function keepReview(search) { sessionStorage.setItem(BACK, search); follow(); }

function follow() { document.querySelectorAll("#traced-header a[data-page], #traced-pages a").forEach((link) => { link.href = addressOf(link.dataset.page); }); }

let isUnsaved = false;  // what somebody has written into the guidelines
addEventListener("input", ({ target }) => { isUnsaved ||= Boolean(target.closest("#guidelines-text")); });
addEventListener("click", ({ target }) => { isUnsaved = Boolean(target.closest("#guidelines-example")) || (isUnsaved && !target.closest("#guidelines-save")); });

// Without this, a press on a link could end on the page where it began: a page that the server has not
// sent yet is asked for again.
let goingTo = "", isLeaving = false;
const stay = () => { goingTo = ""; isLeaving = false; };
addEventListener("pointerdown", stay, true);
addEventListener("keydown", stay, true);
addEventListener("click", ({ target }) => { goingTo = target.closest("a[href]:not([download], [target])")?.href ?? ""; });
addEventListener("beforeunload", (event) => {
  if (isUnsaved) { event.preventDefault(); stay(); }
  if (goingTo && isLeaving) setTimeout(() => { isLeaving = false; go(goingTo); });
  isLeaving = true;
});
function go(address) { goingTo = address; location.assign(address); }

let asking = 0, stages = null;  // until the first answer
async function look() {
  clearTimeout(asking);
  let pace = AGAIN;
  try {
    const response = await fetch(`header?${new URLSearchParams(inAddress() ? { dataset: inAddress() } : {})}`, { headers: { Accept: "application/json" } });
    if (response.ok) pace = show(await response.json());
  } catch { tell({ summary: one("#traced-header").dataset.silent, share: "!", failed: true }); }
  clearTimeout(asking);
  asking = setTimeout(look, 1000 * pace);
}

function show({ datasets, dataset, who, news, drawer: html, stages: now, pace }) {
  const options = datasets.map(([name, id]) => new Option(name, id, false, id === dataset));
  select().replaceChildren(...options);
  select().hidden = !options.length;
  one("#traced-who").hidden = !who;
  one("#traced-who span").textContent = who ?? "";
  tell(news);
  const job = document.activeElement?.dataset.job;  // redrawing takes the focus from its button
  const open = [...drawer().querySelectorAll("details[open]")].map(({ id }) => id);
  drawer().innerHTML = html;
  for (const id of open) document.getElementById(id)?.setAttribute("open", "");
  if (job) drawer().querySelector(`[data-job="${job}"]`)?.focus();
  follow();
  // When a job has ended or reached its next stage, pairs look different.
  if (stages !== null && stages !== now) document.dispatchEvent(new Event("traced-refresh"));
  stages = now;
  return pace;
}

function tell({ summary, share: text, failed }) {
  const share = one("#traced-jobs-button .share"), status = one("#traced-jobs-button .unseen");
  one("#traced-jobs-button").title = summary;
  share.textContent = text;
  share.classList.toggle("bad", failed);
  if (status.textContent !== summary) status.textContent = summary;
}

/** Open another dataset: the page may do that itself, otherwise its address is opened. */
function choose(dataset) {
  const isTaken = !document.dispatchEvent(new CustomEvent("traced-dataset", { detail: Number(dataset), cancelable: true }));
  if (!isTaken) go(`${location.pathname}?dataset=${dataset}`);
}

// A number outside the bounds of its field becomes the nearest one; Gradio would refuse it without a word.
addEventListener("change", ({ target: field }) => {
  if (!field.matches("input[type=number]") || field.value === "" || !(field.min || field.max)) return;
  const number = Number(field.value), low = field.min === "" ? -Infinity : Number(field.min);
  const bounded = Math.max(low, Math.min(field.max === "" ? Infinity : Number(field.max), number));
  if (bounded === number) return;
  field.value = bounded;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}, true);

export function start() {
  document.title = `${one("#traced-header").dataset.title} · TRACED Curator`;
  // The theme chosen with the button overrides the system's.
  const theme = localStorage.getItem(THEME);
  if (theme && !new URL(location.href).searchParams.has("__theme")) document.body.classList.toggle("dark", theme === "dark");
  select().addEventListener("change", () => choose(select().value));
  drawer().addEventListener("toggle", look);
  document.addEventListener("click", click);
  // The dataset of this page has changed: a new one was added, or the last one deleted.
  document.addEventListener("traced-became", ({ detail }) => {
    if (String(detail ?? "") === inAddress()) return;
    const address = new URL(location.href);
    if (detail) address.searchParams.set("dataset", detail); else address.searchParams.delete("dataset");
    history.replaceState(history.state, "", address);
    look();
  });
  // A queue or a pair is opened in Review.
  document.addEventListener("traced-visit", (event) => { if (!event.defaultPrevented) go(`./${event.detail}`); });
  // Back may bring a page as it was: its streams are closed, and what it shows may have changed.
  addEventListener("pageshow", ({ persisted }) => { if (persisted) location.reload(); });
  follow();
  look();
}

async function click(event) {
  const { target } = event, link = target.closest("a[data-page]"), act = target.closest("#traced-jobs [data-job-action]");
  if (link) link.href = addressOf(link.dataset.page);
  else if (target.closest("[data-theme]")) localStorage.setItem(THEME, document.body.classList.toggle("dark") ? "dark" : "light");
  else if (target.closest("[data-skip]")) {
    event.preventDefault();
    [...document.querySelectorAll(CONTENT)].find((field) => field.checkVisibility())?.focus();
  } else if (act) {
    act.disabled = true;
    const response = await fetch(`jobs/${act.dataset.job}/${act.dataset.jobAction}`, { method: "POST" });
    const { problem } = response.ok ? await response.json() : {};
    if (problem) drawer().insertAdjacentHTML("afterbegin", problem); else look();
  } else if (target.closest("button[id]:not(#traced-jobs-button)")) setTimeout(look, 700);  // it may start a job
}
