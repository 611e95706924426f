// A region of a picture: outlined, with the rest dimmed a little; or the note that there is none.

/** @typedef {{word: string, box: number[] | null, picture_size: number[], stated_box?: number[] | null, is_inside?: boolean | null}} Region */

/** What the image fills of its element, which may be wider or higher, as shares of it. */
function filled(image, [width, height]) {
  const fit = Math.min(image.offsetWidth / width, image.offsetHeight / height);
  const most = getComputedStyle(image).objectFit === "scale-down" ? image.naturalWidth / width : Infinity;
  const by = Math.min(fit, most);
  return [by * width / image.offsetWidth, by * height / image.offsetHeight];
}

/** The region's left, top, width and height, as shares of the image's element.
 * @param {HTMLImageElement} image @param {Region} region */
export function placeOf(image, region) {
  const [left, top, right, bottom] = region.box ?? [], [width, height] = region.picture_size;
  const [across, down] = filled(image, region.picture_size);
  return [(1 - across) / 2 + across * left / width, (1 - down) / 2 + down * top / height, across * (right - left) / width, down * (bottom - top) / height];
}

/** Show where the region is, over the image and with its zoom.
 * @param {HTMLImageElement} image @param {Region} region */
export function light(image, region) {
  dark(image);
  if (!region.box) { tell(image, `No region matches “${region.word}”.`); return; }
  const [left, top, right, bottom] = region.box, size = region.picture_size, [width, height] = size;
  if (right - left >= width && bottom - top >= height) { tell(image, `“${region.word}” is about the whole picture.`); return; }
  const [across, down] = filled(image, size);
  const where = document.createElement("span");
  where.className = "where";
  where.innerHTML = "<span class=seen><span class=region></span></span>";
  Object.assign(where.style, { left: `${image.offsetLeft}px`, top: `${image.offsetTop}px`, width: `${image.offsetWidth}px`, height: `${image.offsetHeight}px` });
  const seen = /** @type {HTMLElement} */ (where.firstChild), outlined = /** @type {HTMLElement} */ (seen.firstChild);
  Object.assign(seen.style, { width: `${across * image.offsetWidth}px`, height: `${down * image.offsetHeight}px` });
  Object.assign(outlined.style, sides(region.box, size));
  image.after(where);
  if (!region.stated_box || region.is_inside !== false) return;
  const stated = document.createElement("span");
  stated.className = "stated";
  Object.assign(stated.style, sides(region.stated_box, size));
  seen.append(stated);
  note(where, `“${region.word}” is expected in the dashed box of the caption.`);  // above what dims the picture
}

/** A box of the picture as CSS. */
function sides([left, top, right, bottom], [width, height]) {
  return { left: `${100 * left / width}%`, top: `${100 * top / height}%`, width: `${100 * (right - left) / width}%`, height: `${100 * (bottom - top) / height}%` };
}

/** @param {HTMLImageElement} image @param {string} text */
export function tell(image, text) {
  dark(image);
  note(image, text);
}

/** @param {Element} anchor @param {string} text */
function note(anchor, text) {
  const element = document.createElement("span");
  element.className = "where-note";
  element.role = "status";
  element.textContent = text;
  anchor.after(element);
}

/** @param {HTMLImageElement} image */
export function dark(image) {
  for (const shown of image.parentElement?.querySelectorAll(".where, .where-note") ?? []) shown.remove();
}
