// The map: a line drawn around points becomes a region, the point under the mouse shows its picture,
// and few points in view show theirs. `trigger` is Gradio's; a MutationObserver waits for Plotly's
// chart, which is drawn after the page.
const HOVER = 90;  // ms on one point before its picture is requested
const MOST = 2000;  // maximum number of points of a line to send
/** @type {(selector: string) => any} */
const one = (selector) => document.querySelector(selector);
let wanted = null, waiting = null, pointer = { x: 0, y: 0 };

function lineOf(/** @type {any} */ { lassoPoints, range }) {
  if (!lassoPoints && !range?.x) return null;
  const [left, right] = range?.x ?? [], [low, high] = range?.y ?? [];
  const { x: xs, y: ys } = lassoPoints ?? { x: [left, right, right, left], y: [low, low, high, high] };
  const step = Math.ceil(xs.length / MOST);
  return xs.flatMap((x, at) => (at % step ? [] : [x, ys[at]]));
}

// The card: next to the mouse and within the screen, whatever the size of the picture.
function placeCard() {
  const card = one("#map-card .map-card");
  if (!card) return;
  card.hidden = String(wanted) !== card.dataset.pairCard;
  const { width, height } = card.getBoundingClientRect();
  const left = pointer.x + 18 + width < innerWidth ? pointer.x + 18 : Math.max(4, pointer.x - 18 - width);
  card.style.left = `${left}px`;
  card.style.top = `${Math.max(4, Math.min(pointer.y - height / 2, innerHeight - height - 4))}px`;
}

// The pictures of the points in view: exactly over the plot.
function placeTiles() {
  const tiles = one("#map-tiles .tiles"), plot = one("#map-chart .nsewdrag")?.getBoundingClientRect();
  if (!tiles || !plot) return;
  const outer = one("#map-left").getBoundingClientRect();
  const box = { left: plot.left - outer.left, top: plot.top - outer.top, width: plot.width, height: plot.height };
  for (const [side, size] of Object.entries(box)) tiles.style[side] = `${size}px`;
}

function listenTo(chart) {
  chart.dataset.listens = "yes";
  const look = () => trigger("keypress", { action: "near", x: chart.layout.xaxis.range, y: chart.layout.yaxis.range });
  look();
  chart.on("plotly_relayout", look);
  chart.on("plotly_selected", (event) => {
    const line = lineOf(event ?? {}), run = Number(one("[data-map-run]").dataset.mapRun);
    if (line) trigger("keypress", { action: "region", run, line });
  });
  chart.on("plotly_deselect", () => trigger("keypress", { action: "leave" }));
  chart.on("plotly_hover", ({ points, event }) => {
    wanted = points[0].customdata;
    pointer = { x: event.clientX, y: event.clientY };
    clearTimeout(waiting);
    waiting = setTimeout(() => trigger("keypress", { action: "hover", pair: wanted }), HOVER);
    placeCard();
  });
  chart.on("plotly_unhover", () => { wanted = null; clearTimeout(waiting); placeCard(); });
  chart.on("plotly_click", ({ points }) => {
    const detail = `?dataset=${one("[data-map-dataset]").dataset.mapDataset}&pair=${points[0].customdata}&review=all`;
    document.dispatchEvent(new CustomEvent("traced-visit", { detail }));
  });
}

new MutationObserver(() => {
  const chart = one("#map-chart .js-plotly-plot");
  if (chart?.on && !chart.dataset.listens) listenTo(chart);
  placeCard();
  placeTiles();
}).observe(document.body, { childList: true, subtree: true });
