// Models offered for a picture that the model does not know: a click uses one of them.
const result = element.closest("#playground-result");
result.addEventListener("click", (event) => {
  const button = event.target.closest("[data-model]");
  if (!button) return;
  for (const other of result.querySelectorAll("[data-model]")) other.disabled = true;
  trigger("select", { model: button.dataset.model });
});

// A picture that is pasted anywhere on the open panel is the one to check.
document.addEventListener("paste", async (event) => {
  const file = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
  const box = document.querySelector("#playground-picture");
  if (!file || !box?.checkVisibility()) return;
  event.preventDefault();
  box.querySelector("button[aria-label='Clear'], button[aria-label='Remove Image']")?.click();
  await new Promise((done) => setTimeout(done, 50));
  const input = box.querySelector("input[type=file]"), files = new DataTransfer();
  if (!input) return;
  files.items.add(file);
  input.files = files.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
});
