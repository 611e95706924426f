// What a curator has half done outlives a redraw: an own correction that is being written, a field
// of the filters that is being filled in, the folded filters. A redraw comes with every step, and
// with every batch of a job that nobody at the keyboard thinks of; it must not take words away, nor
// the focus, for then the next letters would be keys. And the other way round: Gradio changes the
// page in place, node by node, so that a box would keep what was typed into it for another pair.
// Goes on where script.js ends (`review.SCRIPTS`); in a block, for its names are its own.
{
  const DRAFT = "#traced-stage details.correction textarea";
  const FIELD = "#traced-queue [data-filter]";

  const drafts = new Map();  // by pair: {text, before: as the server drew it, open, caret}
  let typed = null;  // the field whose text is not sent yet: {name, value}
  let focus = null;  // "edit:PAIR" or "field:NAME" while one has it
  let moreOpen = false;

  const focused = (target) =>
    target.matches?.(DRAFT) ? `edit:${stage()?.dataset.pair}`
      : target.matches?.(FIELD) ? `field:${target.dataset.filter}` : null;

  function keepDraft(area) {
    const pair = stage()?.dataset.pair;
    const before = drafts.get(pair)?.before ?? area.defaultValue;
    drafts.set(pair, { text: area.value, before, open: area.closest("details").open, caret: area.selectionStart });
  }

  document.addEventListener("input", ({ target }) => {
    if (target.matches(DRAFT)) keepDraft(target);
    else if (target.matches(FIELD)) typed = { name: target.dataset.filter, value: target.value };
  });
  document.addEventListener("selectionchange", () => {
    const area = document.activeElement;
    if (area.matches(DRAFT)) keepDraft(area);
  });
  document.addEventListener("toggle", ({ target }) => {
    if (target.matches?.("#traced-queue details.more")) moreOpen = target.open;
    const area = target.matches?.("#traced-stage details.correction") && target.querySelector("textarea");
    if (area) keepDraft(area);
  }, true);

  // A field that is sent is left to the page's keys, unless the focus goes on to another one.
  document.addEventListener("change", ({ target }) => {
    if (target.matches?.(FIELD)) { typed = null; focus = null; }
  });
  document.addEventListener("focusin", ({ target }) => { focus = focused(target); });
  document.addEventListener("focusout", ({ target }) => {
    // Left, or only taken away by a redraw?
    setTimeout(() => { if (target.isConnected && document.activeElement === document.body) focus = null; });
    if (target.isConnected) sendTyped(target);
  });
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
    const saved = sent && (sent.pair !== pair || (sent.version !== version && area?.defaultValue === drafts.get(pair)?.text));
    if (saved) { drafts.delete(sent.pair); correctionSent = null; }
    for (const [other, draft] of drafts) if (other !== pair && draft.text === draft.before) drafts.delete(other);
    const draft = drafts.get(pair);
    if (!area) return;
    const text = draft && draft.text !== draft.before ? draft.text : area.defaultValue;
    if (area.value !== text) area.value = text;
    area.closest("details").open = Boolean(draft?.open);
    if (draft?.open && focus === `edit:${pair}` && document.activeElement !== area) {
      area.focus();
      area.setSelectionRange(draft.caret, draft.caret);
    }
  });

  onRedraw(QUEUE, (queue) => {
    queue.querySelector("details.more").open ||= moreOpen;
    queue.querySelectorAll("[data-filter], [data-view]").forEach((field) => {
      const drawn = field.options
        ? (field.querySelector("option[selected]") ?? field.options[0]).value
        : field.getAttribute("value") ?? "";
      const value = typed && typed.name === field.dataset.filter ? typed.value : drawn;
      if (field.value !== value) field.value = value;
      if (focus === `field:${field.dataset.filter}` && document.activeElement !== field) field.focus();
    });
  });
}
