// Keys and clicks on groups of near duplicates. `trigger` is Gradio's; everything is delegated, so
// that redrawn groups need no hooks.
{
  const PAGE = "#duplicates-page";
  const groups = () => [...document.querySelectorAll(`${PAGE} .group`)];
  const shown = () => Boolean(document.querySelector(PAGE)?.offsetParent);
  const current = () => document.activeElement?.closest?.(`${PAGE} .group`);
  let place = null;  // index of the focused group, kept over a redraw

  const send = (payload) => trigger("keypress", payload);
  const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

  function keep(button) {
    if (!button || button.disabled) return;
    const group = button.closest(".group");
    place = groups().indexOf(group);
    send({ action: "keep", group: Number(group.dataset.group), pair: Number(button.dataset.keep), seen: JSON.parse(group.dataset.seen) });
  }

  function go(step) {
    const all = groups(), at = all.indexOf(current());
    const to = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))];
    to?.focus();
    to?.scrollIntoView({ block: "nearest" });
  }

  // After the next user action, the focus stays where the user put it.
  for (const act of ["pointerdown", "keydown"]) document.addEventListener(act, () => { place = null; }, true);

  document.addEventListener("click", (event) => {
    const button = event.target.closest(`${PAGE} button`);
    if (!button) return;
    if (button.dataset.keep) keep(button);
    else if (button.dataset.turn) send({ action: button.dataset.turn, after: Number(button.dataset.after) || 0 });
  });

  document.addEventListener("keydown", (event) => {
    if (!shown() || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest?.("input:not([type=radio]), textarea, select, [contenteditable=true]")) return;
    const key = event.key.toLowerCase();
    const inGroup = current() ?? (groups().length ? groups()[0] : null);
    if (key === "j" || (key === "arrowdown" && current())) go(1);
    else if (key === "k" || (key === "arrowup" && current())) go(-1);
    else if (event.repeat) return;  // a held key must not decide groups that have not been seen
    else if (/^[1-9]$/.test(key) && inGroup) keep(inGroup.querySelectorAll("[data-keep]")[Number(key) - 1]);
    else if (key === "z") send({ action: "undo", request: newId() });
    else if (key === "y") send({ action: "redo", request: newId() });
    else return;
    event.preventDefault();
  });

  // The group that takes the place of the decided one gets the focus.
  new MutationObserver(() => {
    if (place === null || !shown() || current()) return;
    const all = groups(), to = all[Math.min(place, all.length - 1)];
    if (!to || to.dataset.group === undefined) return;
    place = null;
    to.focus({ preventScroll: true });
    to.scrollIntoView({ block: "nearest" });
  }).observe(document.body, { childList: true, subtree: true, characterData: true, attributeFilter: ["data-group"] });
}
