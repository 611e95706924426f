// Try one picture: models offered for a picture that the model does not know, pasted and large pictures.
const TICK = 250;  // ms between updates of the seconds
const one = (selector) => document.querySelector(selector);

const result = element.closest("#playground-result");
result.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-model]");
  if (!button) return;
  for (const other of result.querySelectorAll("[data-model]")) other.disabled = true;
  trigger("select", { model: button.dataset.model });
});
const results = one("#playground-results"), elapsed = results.querySelector("[data-elapsed]");
setInterval(() => {
  const seconds = results.matches(".running") ? (Date.now() - Number(results.dataset.began)) / 1000 : 0;
  elapsed.textContent = seconds >= 1 ? `${Math.floor(seconds)} s` : "";
}, TICK);

// A press copies the link; where the browser does not allow that, it opens it.
document.addEventListener("click", async (event) => {
  const link = event.target.closest?.("[data-share]");
  if (!link || !navigator.clipboard) return;
  event.preventDefault();
  try { await navigator.clipboard.writeText(link.href); link.textContent = "Copied"; } catch { location.href = link.href; }
});

/** A clipboard without a picture is said below where the picture would be. @param {boolean} hasNone */
function tellClipboard(hasNone) { const told = one("#playground-clipboard [data-clipboard]"); if (told) told.hidden = !hasNone; }
document.addEventListener("click", async ({ target }) => {
  if (!target.closest?.("#playground-picture [aria-label='Paste from clipboard']")) return;
  let types = [];
  try { types = (await navigator.clipboard.read()).flatMap((item) => item.types); } catch { /* not allowed, or empty */ }
  tellClipboard(!types.some((type) => type.startsWith("image/")));
});

// A picture that is pasted anywhere on the open panel is the one to check.
document.addEventListener("paste", async (event) => {
  const file = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
  const box = one("#playground-picture");
  if (!box?.checkVisibility()) return;
  if (!file) { if (!event.target.closest?.("input, textarea")) tellClipboard(true); return; }
  tellClipboard(false);
  if (event.target.closest?.("input, textarea") && event.clipboardData.types.includes("text/plain")) return;  // a picture of the text
  event.preventDefault();
  box.querySelector("button[aria-label='Clear'], button[aria-label='Remove Image']")?.click();
  await new Promise((done) => setTimeout(done, 50));
  choose(file);
});

/** Choose the picture as if by hand. @param {File} file @param {Event} event */
function choose(file, event = new Event("change", { bubbles: true })) {
  const input = one("#playground-picture input[type=file]"), files = new DataTransfer();
  if (!input) return;
  files.items.add(file);
  input.files = files.files;
  input.dispatchEvent(event);
}

// A camera's picture of tens of megabytes is made small before it is sent, and that is said. What is smaller, and
// what the browser cannot decode, is sent as it is: the server says what is wrong with it.
const LARGE = 4e6, SIDE = 2048, QUALITY = 0.92;  // bytes; px, which shows details beside what models see
/** @type {WeakSet<Event>} the choices of reduced pictures */
const ours = new WeakSet();
let choices = 0;  // so far: what is being reduced is forgotten once something else is chosen
for (const kind of ["change", "drop"]) {
  document.addEventListener(kind, async (event) => {
    const box = event.target.closest?.("#playground-picture");
    if (!box || ours.has(event)) return;
    const file = (kind === "drop" ? event.dataTransfer : event.target).files?.[0], told = one("#playground-clipboard [data-reduced]");
    if (!file) return;
    const number = ++choices;
    tellClipboard(false);
    told.hidden = true;
    if (file.size <= LARGE || !box.querySelector("input[type=file]")) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const again = new Event("change", { bubbles: true });
    ours.add(again);
    const { picture, facts } = await reduced(file);
    if (number !== choices) return;
    for (const [name, fact] of Object.entries(facts)) told.querySelector(`[data-${name}]`).textContent = fact;
    told.hidden = picture === file;
    choose(picture, again);
  }, { capture: true });
}

document.addEventListener("click", ({ target }) => {  // another picture, or none
  if (!target.closest?.("#playground-picture button, #playground-examples button")) return;
  choices += 1;
  one("#playground-clipboard [data-reduced]").hidden = true;
}, { capture: true });

/** The picture to send, a smaller one if there is one, and what is said of that. @param {File} file */
async function reduced(file) {
  const whole = { picture: file, facts: {} };
  try {
    const { smaller } = await smallerPictures;
    const { canvas, size } = await smaller(file, SIDE);
    const blob = await new Promise((done) => canvas.toBlob(done, "image/jpeg", QUALITY));
    if (!blob || blob.size >= file.size) return whole;
    const megabytes = (bytes) => (bytes / 1e6).toFixed(1);
    const facts = { from: `${size.width} × ${size.height}`, to: `${canvas.width} × ${canvas.height}`, before: megabytes(file.size), after: megabytes(blob.size) };
    return { picture: new File([blob], `${file.name.replace(/\.[^.]*$/, "")}.jpg`, { type: blob.type }), facts };
  } catch { return whole; }
}
