// Pages, queues and pairs are addresses: sent to a colleague one opens just that, Back leads to what
// was there before, and a reload stays. Goes on where half_done.js ends (`review.SCRIPTS`).
{
  const SETTLED = 120;  // ms; what is passed through quicker is no place to come back to
  const TAB = "button[role=tab], .overflow-dropdown button";  // a narrow screen has some in a menu
  const tabs = () => [...document.querySelectorAll(TAB)];
  const named = (tab) => tab.textContent.trim().toLowerCase();
  const isShown = (tab) => tab.ariaSelected === "true" || tab.classList.contains("selected");
  const pageShown = () => named(tabs().find(isShown) ?? document.body);
  const asked = () => new URL(location.href).searchParams;

  let arriving = asked().get("tab");  // the page that the address names (`page` is Gradio's), until it is shown
  let settling = null;
  // The pair that Back or Forward has asked for. Until it is on the stage, the address is ahead of
  // the page; a redraw of another part would otherwise count as a step away from it.
  let returning = null;
  const RETURN = 5_000;  // ms; the pair may be gone, then the page shows another

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
    // The first address names what a bare one has led to; it is no place of its own.
    history[before.has("dataset") ? "pushState" : "replaceState"](null, "", address);
  }

  addEventListener("popstate", () => {
    const to = asked(), queue = document.querySelector(QUEUE);
    if (queue && to.has("dataset") && to.get("dataset") !== queue.dataset.dataset) { location.reload(); return; }
    clearTimeout(settling);
    arriving = to.get("tab") ?? "review";
    showPage(arriving, () => {});  // what is on the stage is not there yet: its redraw tells
    returning = to.get("pair");
    setTimeout((pair) => { if (returning === pair) returning = null; }, RETURN, returning);
    send({ action: "visit", address: Object.fromEntries(to) });
  });
  document.addEventListener("click", (event) => { if (event.isTrusted && event.target.closest(TAB)) tellAddress(); });
  if (arriving) showPage(arriving, tellAddress);
}
