// A box drawn in the plane becomes a region. `trigger` and `element` are Gradio's.
const listen = () => {
  document.querySelectorAll("#plane-chart .js-plotly-plot").forEach((chart) => {
    if (chart.dataset.listens || !chart.on) return;
    chart.dataset.listens = "yes";
    chart.on("plotly_selected", (event) => {
      const range = event && event.range;
      if (!range || !range.x) return;
      const [left, right] = [...range.x].sort((a, b) => a - b);
      const [low, high] = [...range.y].sort((a, b) => a - b);
      trigger("keypress", { p_from: left, p_to: right, up_from: low, up_to: high });
    });
  });
};
new MutationObserver(listen).observe(document.body, { childList: true, subtree: true });
listen();
