// What a curator has half done outlives a redraw: a correction or a note that is being written, a field
// of the filters that is being filled in, the folded filters. A redraw comes with every step, and
// with every batch of a job that nobody at the keyboard thinks of; it must not take words away, nor
// the focus, for then the next letters would be keys. And the other way round: Gradio changes the
// page in place, node by node, so that a box would keep what was typed into it for another pair.
// Goes on where script.js ends (`review.SCRIPTS`); in a block, for its names are its own.
{
  const DRAFT = "#traced-stage :is(details.correction, details.note) textarea";
  const FIELD = "#traced-queue [data-filter]";

  const drafts = new Map();  // by box and pair: {text, before: as the server drew it, open, caret}
  let typed = null;  // the field whose text is not sent yet: {name, value}
  const chosen = new Map();  // values by field that are sent, and not answered yet
  let focus = null;  // "correction:PAIR", "note:PAIR" or "field:NAME" while one has it
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
  // By the click, because a redraw may come before the toggle is announced.
  document.addEventListener("click", ({ target }) => {
    const more = target.closest?.("#traced-queue details.more > summary")?.parentElement;
    if (more) moreOpen = !more.open;
  }, true);
  document.addEventListener("toggle", ({ target }) => {
    const area = target.matches?.("#traced-stage :is(details.correction, details.note)") && target.querySelector("textarea");
    if (area) keepDraft(area);
  }, true);

  // A field that is sent is left to the page's keys, unless the focus goes on to another one.
  document.addEventListener("change", ({ target }) => {
    if (target.matches?.(FIELD)) { typed = null; focus = null; chosen.set(target.dataset.filter, target.value); }
  });
  document.addEventListener("traced-answered", () => { if (!outstanding) chosen.clear(); });
  document.addEventListener("focusin", ({ target }) => { focus = focused(target); });
  document.addEventListener("focusout", ({ target }) => {
    // Left, or only taken away by a redraw?
    setTimeout(() => { if (target.isConnected && document.activeElement === document.body) focus = null; });
    if (target.isConnected) sendTyped(target);
  });
  // Escape leaves a field as the queue has it. The browser would empty a search, and send that.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !event.target.matches?.(FIELD)) return;
    event.preventDefault();
    typed = null;
    focus = null;
    event.target.value = asDrawn(event.target);
  }, true);

  // The browser tells no change of a text that a script has put back.
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
    // Written down: another pair is here, or this one with the text. A colleague's verdict that came
    // first changes the version too, and then the text is still wanted.
    const saved = sent && (sent.pair !== pair || (sent.version !== version && area?.defaultValue === drafts.get(`correction:${pair}`)?.text));
    if (saved) { drafts.delete(`correction:${sent.pair}`); correctionSent = null; }
    for (const [other, draft] of drafts) if (!other.endsWith(`:${pair}`) && draft.text === draft.before) drafts.delete(other);
    drawn.querySelectorAll(DRAFT).forEach((box) => restore(box, pair));
  });

  // A correction that was saved behind (read_ahead.js); until then its pair, opened again, shows it.
  dropDraft = (pair) => drafts.delete(`correction:${pair}`);

  function restore(area, pair) {
    const key = keyOf(area, pair), draft = drafts.get(key);
    const text = draft && draft.text !== draft.before ? draft.text : area.defaultValue;
    if (area.value !== text) area.value = text;
    // A note that has been saved is shown above its box.
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
