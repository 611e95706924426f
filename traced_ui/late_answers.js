// Responses may overtake each other: updates at the end of a job and responses to keys are separate
// requests. The server numbers its responses (`review.py`). If an older one arrives last, the page
// requests the newest, because the server has already set a newer filter, pair or step.
// Continues script.js (`review.SCRIPTS`).
{
  let newest = 0;  // the highest number received
  let isOutdated = false;
  let pair = null;  // the pair on the stage when it was last up to date

  // null: drawn by a script.
  function numberOf(drawn) {
    const comments = [...drawn.parentElement.childNodes].filter((node) => node.nodeType === Node.COMMENT_NODE);
    return comments.map((comment) => Number(comment.data)).find((number) => number > 0) ?? null;
  }

  raiseNumber = (number) => { newest = Math.max(newest, number); };
  pairShown = () => (isOutdated ? pair : stage()?.dataset.pair ?? null);

  function checkOrder(number) {
    const wasOutdated = isOutdated;
    isOutdated = number < newest;
    raiseNumber(number);
    if (isOutdated && !wasOutdated) send({ action: "redraw" });
  }

  for (const part of [QUEUE, STAGE]) {
    onRedraw(part, (drawn) => {
      const number = numberOf(drawn);
      if (number !== null) checkOrder(number);
      if (number === null || !isOutdated) pair = stage()?.dataset.pair ?? null;
    });
  }
}
