// A card is chosen, or its model downloaded. `trigger` and `element` are Gradio's.
element.addEventListener("change", ({ target }) => {
  if (target.matches("[type=radio]")) trigger("select", { model: target.value });
});
element.addEventListener("click", ({ target }) => {
  const button = target.closest("[data-download]");
  if (!button) return;
  button.disabled = true;
  trigger("download", { model: button.dataset.download });
});
