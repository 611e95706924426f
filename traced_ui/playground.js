// Models offered for a picture that the model does not know: a click uses one of them.
const result = element.closest("#playground-result");
result.addEventListener("click", (event) => {
  const button = event.target.closest("[data-model]");
  if (!button) return;
  for (const other of result.querySelectorAll("[data-model]")) other.disabled = true;
  trigger("select", { model: button.dataset.model });
});
