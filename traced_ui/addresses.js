// Pages, queues and pairs have URLs: a shared link opens the same state, Back returns to the previous
// one, and a reload keeps it. Continues half_done.js (`review.SCRIPTS`).
{
  const SETTLED = 120;  // ms; anything shown for less time gets no history entry
  const TAB = "button[role=tab], .overflow-dropdown button";  // narrow screens show some tabs in a menu
  const tabs = () => [...document.querySelectorAll(TAB)];
  const named = (tab) => tab.textContent.trim().toLowerCase();
  const isShown = (tab) => tab.ariaSelected === "true" || tab.classList.contains("selected");
  const pageShown = () => named(tabs().find(isShown) ?? document.body);
  const asked = () => new URL(location.href).searchParams;

  let arriving = asked().get("tab");  // the page named in the URL (`page` is Gradio's), until it is shown
  let settling = null;
  // The pair that Back or Forward leads to. Until it is on the stage, the URL is ahead of the page;
  // otherwise a redraw of another part would count as navigation away from it.
  let returning = null;
  const RETURN = 5_000;  // ms; the pair may no longer exist, and the page shows another one

  function showPage(name, shown, tries = 60) {
    const tab = tabs().find((one) => named(one) === name);
    if ((tab && isShown(tab)) || !tries) { arriving = null; shown(); return; }
    tab?.click();
    setTimeout(() => showPage(name, shown, tries - 1), 50);
  }

  tellAddress = () => { clearTimeout(settling); settling = setTimeout(tell, SETTLED); };

  function tell() {
    const queue = document.querySelector(QUEUE), pair = stage()?.dataset.pair;
    if (!queue || arriving) return;
    if (returning && pair !== returning) { tellAddress(); return; }
    returning = null;
    const address = new URL(location.href), before = asked();
    const now = new URLSearchParams(queue.dataset.link);
    for (const [key, value] of before) if (key.startsWith("__")) now.set(key, value);
    now.set("dataset", queue.dataset.dataset);
    if (pair) now.set("pair", pair);
    if (pageShown() !== "review") now.set("tab", pageShown());
    address.search = now.toString();
    if (address.href === location.href) return;
    // The first full URL replaces the bare one that led to it, without a history entry of its own.
    history[before.has("dataset") ? "pushState" : "replaceState"](null, "", address);
  }

  addEventListener("popstate", () => {
    const to = asked(), queue = document.querySelector(QUEUE);
    if (queue && to.has("dataset") && to.get("dataset") !== queue.dataset.dataset) { location.reload(); return; }
    clearTimeout(settling);
    arriving = to.get("tab") ?? "review";
    showPage(arriving, () => {});  // the stage is not up to date yet: its redraw sets the URL
    returning = to.get("pair");
    setTimeout((pair) => { if (returning === pair) returning = null; }, RETURN, returning);
    send({ action: "visit", address: Object.fromEntries(to) });
  });
  document.addEventListener("click", (event) => { if (event.isTrusted && event.target.closest(TAB)) tellAddress(); });
  if (arriving) showPage(arriving, tellAddress);
}
