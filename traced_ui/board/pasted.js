// A picture that is pasted on the review page finds pairs with pictures like it.
import { send } from "./acts.js";
import { board, listen } from "./page.js";
import { smaller } from "./smaller.js";

const SIDE = 384, LONGEST = 95_000;  // pixels; characters, as page_actions.py allows

listen("paste", async (event) => {
  const file = [...(event.clipboardData?.files ?? [])].find(({ type }) => type.startsWith("image/"));
  if (!file || !board() || isForField(event)) return;
  event.preventDefault();
  const text = await encoded(file);
  if (text) send("find-picture", { text });
});

/** Whether text goes into a field: programs put a picture of it beside it. @param {ClipboardEvent} event */
const isForField = ({ target, clipboardData }) => target.closest?.("input, textarea") && clipboardData.types.includes("text/plain");

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
