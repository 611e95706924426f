// A box drawn in the plane becomes a region. `trigger` is Gradio's.
new MutationObserver(() => {
  /** @type {any} */
  const chart = document.querySelector("#plane-chart .js-plotly-plot");
  if (!chart?.on || chart.dataset.listens) return;
  chart.dataset.listens = "yes";
  chart.on("plotly_selected", (event) => {
    if (!event?.range?.x) return;
    const [[left, right], [low, high]] = [event.range.x, event.range.y].map((ends) => [...ends].sort((a, b) => a - b));
    trigger("keypress", { p_from: left, p_to: right, icc_from: low, icc_to: high });
  });
}).observe(document.body, { childList: true, subtree: true });
