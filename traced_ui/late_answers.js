// Answers may overtake each other: what is drawn when a job ends comes by another way than what is
// drawn for a key. The server numbers its answers (`review.py`). Where an older one has come last,
// the page asks for the newest, because on the server a newer filter, pair or step is already set.
// Goes on where script.js ends (`review.SCRIPTS`).
{
  let newest = 0;  // the highest number that has come
  let isOutdated = false;
  let pair = null;  // on the stage when it was last up to date

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
