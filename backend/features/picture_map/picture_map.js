// The contact sheet: pictures over the points of Plotly's chart, one for each cell of a grid that is
// fixed to the map. Enlarging the map doubles the size of cells until they divide, and more pictures
// are shown. A line drawn around pictures is a region. `trigger` is Gradio's; a MutationObserver
// waits for the chart, which is drawn after the page.
{
  const HOVER = 90;  // ms on one picture before its caption is requested
  const MOST = 2000;  // maximum number of points of a line to send, and of tiles to keep
  const CELL = 56;  // px, smallest side of a cell: a picture needs so much room
  const STEP = 0.15, NEARER = 1.3;  // of what is in view: a move by key, an enlargement by key
  const DOTS = 5000;  // points that Plotly draws below the pictures: it goes through all at each move
  const HALF = 13;  // px, of the height of a name: it is not cut at the edge
  const HOME = [-0.02, 1.02];
  const box = () => document.getElementById("map-tiles");
  const card = () => document.querySelector("#map-card .map-card");
  const facts = () => document.querySelector("[data-map-run]")?.dataset ?? {};
  const ground = (chart) => chart.querySelector(".nsewdrag")?.getBoundingClientRect();
  let wanted = null, waiting = null, pointer = { x: 0, y: 0 }, tiles = [];

  const region = (line) => trigger("keypress", { action: "region", run: Number(facts().mapRun), layout: facts().mapLayout, line });

  function lineOf(event) {
    let xs, ys;
    if (event?.lassoPoints) ({ x: xs, y: ys } = event.lassoPoints);
    else if (event?.range?.x) return around(event.range);
    else return null;
    const step = Math.ceil(xs.length / MOST), line = [];
    for (let at = 0; at < xs.length; at += step) line.push(xs[at], ys[at]);
    return line;
  }
  const around = ({ x: [left, right], y: [low, high] }) => [left, low, right, low, right, high, left, high];

  // The colour of a cell's border: on a scale that of its points' mean, else that of its last point.
  function colourOf({ color, colorscale }, { sum, valued }) {
    if (!valued) return color;
    const at = sum / valued, next = Math.max(1, colorscale.findIndex(([end]) => at <= end));
    const [from, calm] = colorscale[next - 1], [to, loud] = colorscale[next];
    return `color-mix(in oklab, ${loud} ${Math.round(100 * (at - from) / (to - from))}%, ${calm})`;
  }

  const every = new WeakMap();  // all points, by those that are drawn
  function thin(chart) {
    const all = chart.data, total = all.reduce((sum, { x }) => sum + x.length, 0);
    if (every.has(all) || total <= DOTS) return;
    const step = Math.ceil(total / DOTS), some = (list) => (Array.isArray(list) ? list.filter((_, place) => place % step === 0) : list);
    const few = all.map((trace) => ({ ...trace, x: some(trace.x), y: some(trace.y), customdata: some(trace.customdata), marker: { ...trace.marker, color: some(trace.marker.color) } }));
    every.set(few, all);
    Plotly.react(chart, few, chart.layout);
  }

  // All cells of this size, by column and row: how many points each has, the sum of those with a value,
  // and the last one, which needs attention most. They change with the points and the size, not while the map is moved.
  let grid = {};
  function gridOf(data, wide, tall) {
    if (grid.data === data && grid.wide === wide && grid.tall === tall) return grid.cells;
    const cells = new Map();
    data.forEach(({ x, y, marker: { color } }, trace) => {
      for (let place = 0; place < x.length; place += 1) {
        const column = Math.max(0, Math.ceil(x[place] / wide) - 1), row = Math.max(0, Math.ceil(y[place] / tall) - 1);
        const key = `${column} ${row}`, cell = cells.get(key) ?? { count: 0, sum: 0, valued: 0 };
        Object.assign(cell, { trace, place, count: cell.count + 1 });
        if (Array.isArray(color)) { cell.sum += color[place]; cell.valued += 1; }
        cells.set(key, cell);
      }
    });
    grid = { data, wide, tall, cells };
    return cells;
  }
  function* cellsIn(data, wide, tall, [left, right], [low, high]) {
    const cells = gridOf(data, wide, tall), at = (value, size) => Math.max(0, Math.ceil(value / size) - 1);
    for (let column = at(left, wide); column <= at(right, wide); column += 1) {
      for (let row = at(low, tall); row <= at(high, tall); row += 1) {
        const cell = cells.get(`${column} ${row}`);
        if (cell) yield { column, row, ...cell };
      }
    }
  }

  // The pictures of the cells in view.
  function lay(chart) {
    const { xaxis, yaxis } = chart.layout, area = ground(chart), data = every.get(chart.data) ?? chart.data;
    if (!area?.width || !xaxis.range || !yaxis.range) return;
    const outer = box().parentElement.getBoundingClientRect();
    Object.assign(box().style, { left: `${area.left - outer.left}px`, top: `${area.top - outer.top}px`, width: `${area.width}px`, height: `${area.height}px` });
    const [left, right] = xaxis.range, [low, high] = yaxis.range;
    const across = area.width / (right - left), up = area.height / (high - low);
    const [wide, tall] = [across, up].map((scale) => 2 ** Math.ceil(Math.log2(CELL / scale)));
    const side = Math.min(wide * across, tall * up) - 4;
    const view = { left, high, across, up }, shown = [...box().querySelectorAll("div:not(.leaving)")];
    const old = new Map(shown.map((tile) => [tile.dataset.pair, tile]));
    tiles = [...cellsIn(data, wide, tall, xaxis.range, yaxis.range)].map((cell) => {
      const { column, row, trace, place, count } = cell;
      const { customdata, marker } = data[trace], pair = customdata[place], colour = colourOf(marker, cell);
      const at = { x: (column + 0.5) * wide, y: (row + 0.5) * tall, side: side / across };
      const tile = old.get(String(pair)) ?? tileOf(pair), middle = put(tile, at, view);
      old.delete(String(pair));
      tile.style.borderColor = colour;
      tile.dataset.more = count > 1 ? count : "";
      if (!tile.parentElement) box().append(tile);
      return { pair, side, ...middle };
    });
    old.forEach((tile) => { if (isDrawn(tile)) { tile.classList.add("leaving"); box().prepend(tile); } else tile.remove(); });
    box().querySelectorAll(".leaving").forEach((tile) => put(tile, places.get(tile), view));
    leave();
    const names = (chart.layout.meta?.labels ?? []).filter(([x, y]) => x >= left && x <= right && y >= low && y <= high);
    box().querySelectorAll("span").forEach((name) => name.remove());
    box().append(...names.map(([x, y, text]) => {
      const name = document.createElement("span");
      name.textContent = text;
      const top = (high - Math.round(y / tall) * tall) * up;  // between two rows of pictures
      Object.assign(name.style, { left: `${(x - left) * across}px`, top: `${Math.max(HALF, Math.min(top, area.height - HALF))}px` });
      return name;
    }));
  }
  // Where tiles are on the map: one that leaves moves along with it, below the new ones, until these are drawn.
  const places = new WeakMap(), isDrawn = (tile) => tile.firstChild.complete;
  function put(tile, at, { left, high, across, up }) {
    const from = places.get(tile), side = at.side * across, x = (at.x - left) * across, y = (high - at.y) * up;
    // A cell that divides: its picture moves into one of the new ones, and stays below all of them.
    if (from && tile.parentElement && (from.x !== at.x || from.y !== at.y) && isDrawn(tile)) {
      const below = tile.cloneNode(true);
      below.classList.add("leaving");
      places.set(below, from);
      box().prepend(below);
    }
    places.set(tile, at);
    Object.assign(tile.style, { width: `${side}px`, height: `${side}px`, transform: `translate(${x - side / 2}px, ${y - side / 2}px)` });
    return { x, y };
  }
  function leave() {
    if ([...box().querySelectorAll("div:not(.leaving)")].every(isDrawn)) box().querySelectorAll(".leaving").forEach((tile) => tile.remove());
  }
  const drawn = new Map();  // tiles that have been shown, by pair: their pictures are there at once
  function tileOf(pair) {
    const earlier = drawn.get(pair);
    if (earlier) { earlier.classList.remove("leaving"); return earlier; }
    if (drawn.size >= MOST) drawn.delete(drawn.keys().next().value);
    const tile = document.createElement("div"), image = new Image();
    drawn.set(pair, tile);
    image.onload = image.onerror = () => { tile.classList.remove("waiting"); leave(); };
    tile.className = "waiting";
    tile.dataset.pair = pair;
    image.alt = "";
    image.src = `pictures/${pair}?size=104`;
    tile.append(image);
    return tile;
  }
  function pairAt(chart, { clientX, clientY }) {
    const area = ground(chart), x = clientX - area.left, y = clientY - area.top;
    return tiles.find((tile) => Math.max(Math.abs(tile.x - x), Math.abs(tile.y - y)) <= tile.side / 2)?.pair ?? null;
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
  function point(pair) {
    if (pair !== wanted) {
      clearTimeout(waiting);
      wanted = pair;
      if (pair !== null) waiting = setTimeout(() => trigger("keypress", { action: "hover", pair }), HOVER);
    }
    place();
  }

  // Show another part: `by` times as much around a place, in shares of what is in view, moved by others.
  function show(chart, by, { x = 0.5, y = 0.5, right = 0, up = 0 } = {}) {
    const range = ([from, to], at, move) => {
      const size = to - from, start = from + size * (at * (1 - by) + move);
      return [start, start + size * by];
    };
    Plotly.relayout(chart, { "xaxis.range": range(chart.layout.xaxis.range, x, right), "yaxis.range": range(chart.layout.yaxis.range, y, up) });
  }
  const KEYS = {
    "+": [1 / NEARER], "=": [1 / NEARER], "-": [NEARER],
    ArrowLeft: [1, { right: -STEP }], ArrowRight: [1, { right: STEP }], ArrowUp: [1, { up: STEP }], ArrowDown: [1, { up: -STEP }],
  };

  function follow(chart) {
    chart.tabIndex = 0;
    chart.setAttribute("role", "group");
    chart.setAttribute("aria-label", document.querySelector("#map-hint")?.textContent.trim() ?? "");
    chart.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "0") Plotly.relayout(chart, { "xaxis.range": HOME, "yaxis.range": HOME });
      else if (KEYS[event.key]) show(chart, ...KEYS[event.key]);
      else return;
      event.preventDefault();
    });
    let from = null, fingers = null;  // where the pointer went down; two fingers: their distance and middle
    chart.addEventListener("pointerdown", (event) => { from = event.target.closest(".nsewdrag") ? event : null; }, true);
    addEventListener("pointermove", (event) => {
      if (from && Math.hypot(event.clientX - from.clientX, event.clientY - from.clientY) > 4) from = null;  // a drag
      if (!chart.contains(event.target)) return;
      pointer = { x: event.clientX, y: event.clientY };
      point(event.buttons ? null : pairAt(chart, event));
    }, true);
    chart.addEventListener("pointerleave", () => point(null));
    addEventListener("pointerup", (event) => {
      const pair = from && pairAt(chart, event);
      from = null;
      if (pair !== null) document.dispatchEvent(new CustomEvent("traced-visit", { detail: `?dataset=${facts().mapDataset}&pair=${pair}&review=all` }));
    });
    const spread = ([one, other]) => {
      const area = ground(chart), x = (one.clientX + other.clientX) / 2 - area.left, y = (one.clientY + other.clientY) / 2 - area.top;
      return { size: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY), x: x / area.width, y: 1 - y / area.height };
    };
    for (const kind of ["touchstart", "touchmove", "touchend"]) {
      chart.addEventListener(kind, (event) => {
        if (event.touches.length !== 2) { fingers = null; return; }
        event.preventDefault();
        event.stopPropagation();
        from = null;
        const now = spread(event.touches);
        if (kind === "touchmove" && fingers) show(chart, fingers.size / now.size, { x: now.x, y: now.y, right: fingers.x - now.x, up: fingers.y - now.y });
        fingers = now;
      }, { capture: true, passive: false });
    }
  }

  function listen() {
    place();
    document.querySelectorAll("#map-chart .js-plotly-plot").forEach((chart) => {
      if (chart.dataset.listens || !chart.on) return;
      chart.dataset.listens = "yes";
      // The wheel enlarges the map; Gradio draws its charts without that.
      Plotly.setPlotConfig({ scrollZoom: true, displaylogo: false });
      Plotly.react(chart, chart.data, chart.layout, { responsive: true });
      follow(chart);
      const again = () => requestAnimationFrame(() => { thin(chart); lay(chart); });
      new ResizeObserver(again).observe(chart);
      chart.on("plotly_selected", (event) => {
        const line = lineOf(event);
        if (line) region(line);
      });
      for (const kind of ["plotly_relayouting", "plotly_relayout", "plotly_afterplot"]) chart.on(kind, again);
      chart.on("plotly_deselect", () => trigger("keypress", { action: "leave" }));
    });
    if (!document.querySelector("#map-chart .js-plotly-plot")) box()?.replaceChildren();
  }
  document.addEventListener("click", ({ target }) => {
    const chart = target.closest("[data-take-view]") && document.querySelector("#map-chart .js-plotly-plot");
    if (chart) region(around({ x: chart.layout.xaxis.range, y: chart.layout.yaxis.range }));
  });
  new MutationObserver(listen).observe(document.body, { childList: true, subtree: true });
  listen();
}
