// A picture that is pasted on the review page finds pairs with pictures like it. Loaded when one is pasted.
import { send } from "./acts.js";
import { smaller } from "./smaller.js";

const SIDE = 384, LONGEST = 95_000;  // pixels; characters, as page_actions.py allows

/** @param {File} file */
export async function find(file) {
  const text = await encoded(file);
  if (text) send("find-picture", { text });
}

/** The picture, small, as base64; "" if the browser cannot read it. @param {File} file */
async function encoded(file) {
  try {
    const { canvas } = await smaller(file, SIDE);
    for (const quality of [0.9, 0.7, 0.4]) {
      const text = canvas.toDataURL("image/jpeg", quality).split(",")[1];
      if (text.length <= LONGEST) return text;
    }
  } catch { /* no picture after all */ }
  return "";
}
