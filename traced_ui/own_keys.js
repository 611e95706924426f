// Custom key bindings, stored in this browser and shown on the buttons. Continues script.js
// (`review.SCRIPTS`); `keys` is the table that keydown reads.
{
  const KEPT = "traced-keys";
  const LOCAL = {  // labels that are not buttons
    edit: "details.correction summary kbd", note: "details.note summary kbd",
    phrases: `${PHRASES} summary kbd`, guidelines: `${GUIDELINES} summary kbd`,
  };
  const standard = { ...keys };
  let own = JSON.parse(localStorage.getItem(KEPT) ?? "{}");  // key by action
  let asking = null;  // the button waiting for a key

  const shown = (key) => ({ ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", " ": "Space" })[key] ?? (key.length === 1 ? key.toUpperCase() : key);
  const help = () => document.getElementById("traced-help");

  function use() {
    Object.keys(keys).forEach((key) => delete keys[key]);
    for (const [key, action] of Object.entries(standard)) if (!(action in own)) keys[key] = action;
    for (const [action, key] of Object.entries(own)) for (const form of new Set([key, key.toLowerCase(), key.toUpperCase()])) keys[key.length === 1 ? form : key] = action;
    localStorage.setItem(KEPT, JSON.stringify(own));
    label();
  }

  function label() {
    const set = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };
    help()?.querySelectorAll("[data-key-of]").forEach((kbd) => {
      kbd.dataset.standard ??= kbd.textContent;
      set(kbd, own[kbd.dataset.keyOf] ? shown(own[kbd.dataset.keyOf]) : kbd.dataset.standard);
    });
    for (const [action, key] of Object.entries(own)) {
      document.querySelectorAll(`:is([data-action="${action}"], [data-local="${action}"], [data-many="${action}"]) > kbd`).forEach((kbd) => set(kbd, shown(key)));
      document.querySelectorAll(`.toolbar [data-action="${action}"], .toolbar [data-local="${action}"]`).forEach((tool) => { tool.title = `${tool.ariaLabel} (${shown(key)})`; });
      if (LOCAL[action]) document.querySelectorAll(LOCAL[action]).forEach((kbd) => set(kbd, shown(key)));
    }
  }

  function say(text) { const line = help().querySelector("[data-keys-say]"); line.textContent = text; }

  document.addEventListener("click", ({ target }) => {
    const change = target.closest("[data-rebind]");
    if (asking) asking.textContent = asking.dataset.text;
    asking = change;
    if (change) { change.dataset.text = change.textContent; change.textContent = change.dataset.waits; say(""); }
    if (target.closest("[data-keys-reset]")) { own = {}; location.reload(); localStorage.removeItem(KEPT); }
  });
  document.addEventListener("keydown", (event) => {
    if (!asking || ["Shift", "Control", "Alt", "Meta"].includes(event.key)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const button = asking, action = button.dataset.rebind, key = event.key;
    asking = null;
    button.textContent = button.dataset.text;
    if (["Escape", "Tab", "Enter"].includes(key)) return;
    const taken = keys[key];
    if (taken && taken !== action) {
      const other = help().querySelector(`[data-key-of="${taken}"]`)?.closest("dt").nextElementSibling;
      say(`${shown(key)}: ${other?.firstChild.textContent.trim()}. ${help().querySelector("[data-keys-say]").dataset.taken}`);
      return;
    }
    own = { ...own, [action]: key };
    use();
  }, true);
  new MutationObserver(() => { if (Object.keys(own).length) label(); }).observe(document.body, { childList: true, subtree: true, characterData: true });
  use();
}
