// Keeps unfinished input over a redraw: a correction or a note being written, a filter field being
// filled in, the folded filters. A redraw follows every step, and every batch of a background job; it
// must not lose text, nor the focus, because the next letters would then act as shortcuts. Conversely,
// Gradio updates the page in place, node by node, so a box would keep the text typed for another pair.
// Continues script.js (`review.SCRIPTS`); in a block, to keep its names local.
{
  const DRAFT = "#traced-stage :is(details.correction, details.note) textarea";
  const FIELD = "#traced-queue [data-filter]";

  const drafts = new Map();  // by box and pair: {text, before: as the server drew it, open, caret}
  let typed = null;  // the field whose text has not been sent yet: {name, value}
  const chosen = new Map();  // values that have been sent but not answered yet, by field
  let focus = null;  // "correction:PAIR", "note:PAIR" or "field:NAME" while one is focused
  let moreOpen = false;

  const asDrawn = (field) => field.options
    ? (field.querySelector("option[selected]") ?? field.options[0]).value
    : field.getAttribute("value") ?? "";

  const keyOf = (area, pair = stage()?.dataset.pair) =>
    `${area.closest("details").classList.contains("note") ? "note" : "correction"}:${pair}`;
  const focused = (target) =>
    target.matches?.(DRAFT) ? keyOf(target)
      : target.matches?.(FIELD) ? `field:${target.dataset.filter}` : null;

  function keepDraft(area) {
    const key = keyOf(area);
    const before = drafts.get(key)?.before ?? area.defaultValue;
    drafts.set(key, { text: area.value, before, open: area.closest("details").open, caret: area.selectionStart });
  }

  document.addEventListener("input", ({ target }) => {
    if (target.matches(DRAFT)) keepDraft(target);
    else if (target.matches(FIELD)) typed = { name: target.dataset.filter, value: target.value };
  });
  document.addEventListener("selectionchange", () => {
    const area = document.activeElement;
    if (area.matches(DRAFT)) keepDraft(area);
  });
  // On click, because a redraw may come before the toggle event.
  document.addEventListener("click", ({ target }) => {
    const more = target.closest?.("#traced-queue details.more > summary")?.parentElement;
    if (more) moreOpen = !more.open;
  }, true);
  document.addEventListener("toggle", ({ target }) => {
    const area = target.matches?.("#traced-stage :is(details.correction, details.note)") && target.querySelector("textarea");
    if (area) keepDraft(area);
  }, true);

  // After a field is sent, keys act on the page again, unless the focus moves to another field.
  document.addEventListener("change", ({ target }) => {
    if (target.matches?.(FIELD)) { typed = null; focus = null; chosen.set(target.dataset.filter, target.value); }
  });
  document.addEventListener("traced-answered", () => { if (!outstanding) chosen.clear(); });
  document.addEventListener("focusin", ({ target }) => { focus = focused(target); });
  document.addEventListener("focusout", ({ target }) => {
    // Did the user leave the field, or did a redraw remove it?
    setTimeout(() => { if (target.isConnected && document.activeElement === document.body) focus = null; });
    if (target.isConnected) sendTyped(target);
  });
  // Escape resets a field to the queue's value. The browser would clear a search field and send that.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !event.target.matches?.(FIELD)) return;
    event.preventDefault();
    typed = null;
    focus = null;
    event.target.value = asDrawn(event.target);
  }, true);

  // The browser fires no change event for text that a script has restored.
  function sendTyped(target) {
    if (typed && target.matches?.(FIELD) && target.dataset.filter === typed.name) {
      target.dispatchEvent(new Event("change", { bubbles: true }));
    }
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches?.(FIELD)) setTimeout(() => sendTyped(event.target));
  });

  onRedraw(STAGE, (drawn) => {
    const { pair, version } = drawn.dataset, sent = correctionSent;
    const area = drawn.querySelector("details.correction textarea");
    // Saved: the page shows another pair, or this one with the text. A colleague's earlier verdict
    // changes the version as well, but then the text is still needed.
    const saved = sent && (sent.pair !== pair || (sent.version !== version && area?.defaultValue === drafts.get(`correction:${pair}`)?.text));
    if (saved) { drafts.delete(`correction:${sent.pair}`); correctionSent = null; }
    for (const [other, draft] of drafts) if (!other.endsWith(`:${pair}`) && draft.text === draft.before) drafts.delete(other);
    drawn.querySelectorAll(DRAFT).forEach((box) => restore(box, pair));
  });

  // Called when a correction was saved in the background (read_ahead.js); until then its pair shows it.
  dropDraft = (pair) => drafts.delete(`correction:${pair}`);

  function restore(area, pair) {
    const key = keyOf(area, pair), draft = drafts.get(key);
    const text = draft && draft.text !== draft.before ? draft.text : area.defaultValue;
    if (area.value !== text) area.value = text;
    // A saved note is shown above its box.
    if (key.startsWith("note:") && draft?.text === area.defaultValue) drafts.delete(key);
    area.closest("details").open = Boolean(drafts.get(key)?.open);
    if (draft?.open && focus === key && document.activeElement !== area) {
      area.closest("details").open = true;
      area.focus();
      area.setSelectionRange(draft.caret, draft.caret);
    }
  }

  onRedraw(QUEUE, (queue) => {
    queue.querySelector("details.more").open ||= moreOpen;
    queue.querySelectorAll("[data-filter], [data-view]").forEach((field) => {
      const value = typed && typed.name === field.dataset.filter ? typed.value : chosen.get(field.dataset.filter) ?? asDrawn(field);
      if (field.value !== value) field.value = value;
      if (focus === `field:${field.dataset.filter}` && document.activeElement !== field) field.focus();
    });
  });
}
