// Pictures are made small where they are: models see a few hundred pixels a side.

/** The picture, upright, its longer side at most `most` px, on white behind transparent parts. Raises what the
 * browser raises where it cannot decode the file. @param {File} file @param {number} most */
export async function smaller(file, most) {
  const picture = await createImageBitmap(file), scale = Math.min(1, most / Math.max(picture.width, picture.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  const context = canvas.getContext("2d");
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingQuality = "high";
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  const size = { width: picture.width, height: picture.height };
  picture.close();
  return { canvas, size };
}
