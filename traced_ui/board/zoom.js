// Zooming into a picture: the wheel zooms at the mouse, dragging moves, a double click (or X) toggles
// between whole and close. Each pair opens whole.
import { listen, one, onPaint } from "./page.js";

const CLOSE = 2.5, MOST = 12, SHARP = 1.4;  // from SHARP on, a larger version of the picture is loaded
const FILLED = 0.7;  // of the view, by what is looked at
const frameOf = (target) => target?.closest?.("#traced-stage .picture");
const frame = () => one("#traced-stage .picture");
let scale = 1, x = 0.5, y = 0.5;  // x and y: centre of the view, as fractions of the picture
let drag = null, moved = false;
/** @type {number[] | null} the view before `lookAt` */
let before = null;

function apply() {
  const view = frame(), image = view?.querySelector("img");
  if (!image) return;
  view.classList.toggle("large", scale > 1);
  const half = 0.5 / scale;
  x = Math.min(1 - half, Math.max(half, x));
  y = Math.min(1 - half, Math.max(half, y));
  view.style.setProperty("--scale", scale);  // outlines stay thin
  view.style.setProperty("--view", scale > 1 ? `scale(${scale}) translate(${(0.5 - x) * 100}%, ${(0.5 - y) * 100}%)` : "none");
  const sharp = image.getAttribute("src").replace("size=full", "size=close");
  if (scale > SHARP && image.getAttribute("src") !== sharp) {
    const loading = new Image();  // shown once it is loaded
    loading.onload = () => { if (image.isConnected && image.getAttribute("src").replace("size=full", "size=close") === sharp) image.setAttribute("src", sharp); };
    loading.src = sharp;
  }
}

// Mouse position as fractions of the picture.
function shareAt(event) {
  const box = frame().querySelector("img").getBoundingClientRect();
  return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
}

function zoomTo(wanted, at = [x, y]) {
  const next = Math.min(MOST, Math.max(1, wanted));
  if (next === 1) before = null;
  frame().classList.remove("glides");
  // The point under the mouse stays in place.
  [x, y] = [at[0] + (x - at[0]) * (scale / next), at[1] + (y - at[1]) * (scale / next)];
  scale = next;
  apply();
}

export const toggleZoom = () => { if (frame()) zoomTo(scale > 1 ? 1 : CLOSE, [0.5, 0.5]); };

/** Fill the view with a part of the picture. @param {number[]} place left, top, width and height, as shares of the image's element */
export function lookAt([left, top, width, height]) {
  const view = frame(), image = one("img", view);
  const fit = Math.min(view.clientWidth / (width * image.offsetWidth), view.clientHeight / (height * image.offsetHeight));
  before = [scale, x, y];
  turnTo(Math.min(MOST, Math.max(1, FILLED * fit)), left + width / 2, top + height / 2);
}
export function goBack() { if (before) turnTo(...before); before = null; }
function turnTo(...wanted) {
  [scale, x, y] = wanted;
  frame()?.classList.add("glides");
  apply();
}

document.addEventListener("wheel", (event) => {
  if (!frameOf(event.target) || event.ctrlKey) return;
  if (scale === 1 && event.deltaY > 0) return;  // nothing to zoom out of: the page scrolls
  event.preventDefault();
  zoomTo(scale * Math.exp(-event.deltaY / 400), shareAt(event));
}, { passive: false });
listen("dblclick", (event) => { if (frameOf(event.target)) zoomTo(scale > 1 ? 1 : CLOSE, shareAt(event)); });
listen("pointerdown", (event) => {
  const view = frameOf(event.target);
  if (!view || event.button || scale === 1) return;
  drag = { x: event.clientX, y: event.clientY };
  moved = false;
  view.classList.remove("glides");
  view.setPointerCapture(event.pointerId);
  event.preventDefault();
});
listen("pointermove", (event) => {
  if (!drag) return;
  const box = frame().querySelector("img").getBoundingClientRect();
  x -= (event.clientX - drag.x) / box.width;
  y -= (event.clientY - drag.y) / box.height;
  moved ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 3;
  drag = { x: event.clientX, y: event.clientY };
  apply();
});
for (const end of ["pointerup", "pointercancel"]) listen(end, () => { drag = null; });
listen("dragstart", (event) => { if (frameOf(event.target)) event.preventDefault(); });
// By keyboard: Enter on the picture, and the arrow keys while it is focused and zoomed in.
listen("keydown", (event) => {
  if (!frameOf(event.target) || scale === 1) return;
  const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!by) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  x += (by[0] * 0.15) / scale;
  y += (by[1] * 0.15) / scale;
  apply();
}, true);
onPaint("stage", (isSame) => {
  if (!isSame) [scale, x, y, before] = [1, 0.5, 0.5, null];
  apply();
});
