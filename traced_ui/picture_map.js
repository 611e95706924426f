// The map: a line drawn around points becomes a region, the point under the mouse shows its picture,
// and a close look shows pictures above their points.
// `trigger` is Gradio's; a MutationObserver waits for Plotly's chart, which is drawn after the page.
{
  const HOVER = 90;  // ms on one point before its picture is requested
  const MOST = 2000;  // maximum number of points of a line to send
  const card = () => document.querySelector("#map-card .map-card");
  let wanted = null, waiting = null, pointer = { x: 0, y: 0 }, frame = "";

  const run = () => Number(document.querySelector("[data-map-run]")?.dataset.mapRun);
  const dataset = () => document.querySelector("[data-map-dataset]")?.dataset.mapDataset;

  function lineOf(event) {
    let xs, ys;
    if (event?.lassoPoints) ({ x: xs, y: ys } = event.lassoPoints);
    else if (event?.range?.x) {
      const [left, right] = event.range.x, [low, high] = event.range.y;
      xs = [left, right, right, left];
      ys = [low, low, high, high];
    } else return null;
    const step = Math.ceil(xs.length / MOST), line = [];
    for (let at = 0; at < xs.length; at += step) line.push(xs[at], ys[at]);
    return line;
  }

  // Next to the mouse and within the screen, whatever the size of the picture.
  function place() {
    const shown = card();
    if (!shown) return;
    const is = String(wanted) === shown.dataset.pairCard;
    shown.hidden = !is;
    if (!is) return;
    const { width, height } = shown.getBoundingClientRect();
    const left = pointer.x + 18 + width < innerWidth ? pointer.x + 18 : Math.max(4, pointer.x - 18 - width);
    shown.style.left = `${left}px`;
    shown.style.top = `${Math.max(4, Math.min(pointer.y - height / 2, innerHeight - height - 4))}px`;
  }

  // Ask for the pictures of the part of the map that is in view; those of an earlier view are hidden.
  function look(chart) {
    const { xaxis, yaxis } = chart.layout, area = chart.querySelector(".nsewdrag")?.getBoundingClientRect();
    if (!area?.width || !xaxis.range || !yaxis.range) return;
    const view = [...xaxis.range, ...yaxis.range, Math.round(area.width), Math.round(area.height)];
    frame = [run(), ...view].join(" ");
    tile(area);
    trigger("keypress", { action: "look", run: run(), view, frame });
  }

  function tile(area) {
    const box = document.getElementById("map-tiles"), outer = box?.parentElement.getBoundingClientRect();
    if (box && area) Object.assign(box.style, {
      left: `${area.left - outer.left}px`, top: `${area.top - outer.top}px`,
      width: `${area.width}px`, height: `${area.height}px`,
    });
    const tiles = box?.querySelector("[data-frame]");
    if (tiles) tiles.hidden = tiles.dataset.frame !== frame;
  }

  function listen() {
    place();
    tile();
    document.querySelectorAll("#map-chart .js-plotly-plot").forEach((chart) => {
      if (chart.dataset.listens || !chart.on) return;
      chart.dataset.listens = "yes";
      // The wheel enlarges the map; Gradio draws its charts without that.
      Plotly.setPlotConfig({ scrollZoom: true });
      Plotly.react(chart, chart.data, chart.layout, { responsive: true });
      new ResizeObserver(() => look(chart)).observe(chart);
      chart.on("plotly_selected", (event) => {
        const line = lineOf(event);
        if (line) trigger("keypress", { action: "region", run: run(), line });
      });
      chart.on("plotly_relayouting", () => { frame = ""; tile(); });
      chart.on("plotly_relayout", () => look(chart));
      chart.on("plotly_deselect", () => trigger("keypress", { action: "leave" }));
      chart.on("plotly_hover", ({ points, event }) => {
        wanted = points[0].customdata;
        pointer = { x: event.clientX, y: event.clientY };
        clearTimeout(waiting);
        waiting = setTimeout(() => trigger("keypress", { action: "hover", pair: wanted }), HOVER);
        place();
      });
      chart.on("plotly_unhover", () => { wanted = null; clearTimeout(waiting); place(); });
      chart.on("plotly_click", ({ points }) => {
        const address = `?dataset=${dataset()}&pair=${points[0].customdata}&review=all`;
        document.dispatchEvent(new CustomEvent("traced-visit", { detail: address }));
      });
    });
  }
  new MutationObserver(listen).observe(document.body, { childList: true, subtree: true });
  listen();
}
