// Keys and clicks on groups of near duplicates. `element`, `trigger` and `watch` are Gradio's.
const groups = () => [...element.querySelectorAll(".group")];
const current = () => document.activeElement?.closest(".group");
let place = null;  // index of the group that was decided: its successor gets the focus

function focus(group) {
  group?.focus({ preventScroll: true });
  group?.scrollIntoView({ block: "nearest" });
}

function go(step) {
  const all = groups(), at = all.indexOf(current());
  place = null;
  focus(all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + step))]);
}

function keep(button) {
  if (!button || button.disabled) return;
  const { group, seen } = button.closest(".group").dataset;
  place = groups().indexOf(button.closest(".group"));
  trigger("keypress", { action: "keep", group: Number(group), pair: Number(button.dataset.keep), seen: JSON.parse(seen) });
}

element.addEventListener("click", ({ target }) => {
  const button = target.closest("button");
  if (button?.dataset.keep) keep(button);
  else if (button?.dataset.turn) trigger("keypress", { action: button.dataset.turn, after: Number(button.dataset.after) || 0 });
});

document.addEventListener("keydown", (/** @type {any} */ event) => {
  if (!element.checkVisibility() || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input:not([type=radio]), textarea, select, [contenteditable=true]")) return;
  const key = event.key.toLowerCase(), group = current() ?? groups()[0];
  if (key === "j" || (key === "arrowdown" && current())) go(1);
  else if (key === "k" || (key === "arrowup" && current())) go(-1);
  else if (event.repeat) return;  // a held key must not decide groups that have not been seen
  else if (/^[1-9]$/.test(key) && group) keep(group.querySelectorAll("[data-keep]")[Number(key) - 1]);
  else if (key === "z" || key === "y") trigger("keypress", { action: key === "z" ? "undo" : "redo" });
  else return;
  event.preventDefault();
});

watch("value", () => {
  if (place !== null && !current()) focus(groups()[Math.min(place, groups().length - 1)]);
  place = null;
});
