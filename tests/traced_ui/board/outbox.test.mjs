// Verdicts and acts with an id are sent in order and until they are confirmed.
import assert from "node:assert/strict";
import test from "node:test";
import { Outbox } from "../../../traced_ui/board/outbox.js";

/** An outbox whose server gives the answers in turn: true, or the status of a failure (0: none). */
function opened(answers, kept = "[]", keptActs = "[]") {
  const store = { "traced-unsent": kept, "traced-unsent-acts": keptActs }, requests = [], taken = [], lost = [], troubles = [];
  const outbox = new Outbox({
    post: async (request) => {
      requests.push([...request.verdicts.map(({ action }) => action), ...(request.act ? [request.act.action] : []), ...(request.redraw ? ["redraw"] : [])]);
      const answer = answers.length ? answers.shift() : true;
      return answer === true ? { answer: {}, status: 0 } : { answer: null, status: answer };
    },
    take: (_, { act }) => taken.push(act?.action ?? null),
    lose: (act) => lost.push(act.action),
    tell: () => troubles.push(outbox.trouble),
    storage: { getItem: (key) => store[key], setItem: (key, value) => { store[key] = value; } },
    wait: async () => {},
  });
  const unsent = (name) => JSON.parse(store[name]).map(({ action }) => action);
  return { outbox, requests, taken, lost, troubles, unsent: () => unsent("traced-unsent"), unsentActs: () => unsent("traced-unsent-acts") };
}

test("a verdict is kept until it is confirmed, however often an answer is lost", async () => {
  const { outbox, requests, unsent } = opened([0, 500, 403]);
  outbox.push({ action: "drop" });
  assert.deepEqual(unsent(), ["drop"]);
  await outbox.run();
  assert.deepEqual(requests, Array(4).fill(["drop"]));
  assert.deepEqual(unsent(), []);
  assert.equal(outbox.trouble, "");
});

test("verdicts from before a reload are sent before the page is opened", async () => {
  const { outbox, requests } = opened([], JSON.stringify([{ action: "correct" }, { action: "drop" }]));
  await outbox.send({ action: "visit" });
  assert.deepEqual(requests, [["correct", "drop"], ["visit"]]);
});

test("an act follows the verdicts that were given before it", async () => {
  const { outbox, requests, taken } = opened([]);
  outbox.push({ action: "drop" });
  const sent = outbox.send({ action: "undo" });
  assert.equal(outbox.isBusy, true);
  await sent;
  assert.deepEqual(requests, [["drop"], ["undo"]]);
  assert.deepEqual(taken, [null, "undo"]);
  assert.equal(outbox.isBusy, false);
});

test("an undo has an id: it is kept until it is confirmed, also when the page is left", async () => {
  const { outbox, requests, lost, unsentActs } = opened([0, 0]);
  const sent = outbox.send({ action: "undo", request: "a" });
  outbox.send({ action: "next" });
  assert.deepEqual([unsentActs(), outbox.lasting], [["undo"], [{ action: "undo", request: "a" }]]);
  await sent;
  assert.deepEqual([requests, lost, unsentActs()], [[["undo"], ["undo"], ["undo"], ["next"]], [], []]);
});

test("what a page left unconfirmed is sent after the page is opened again", async () => {
  const { outbox, requests, unsentActs } = opened([], "[]", JSON.stringify([{ action: "undo", request: "a" }, { action: "redo", request: "b" }]));
  const sent = outbox.send({ action: "visit" });
  outbox.resume();
  assert.deepEqual(unsentActs(), ["undo", "redo"]);
  await sent;
  assert.deepEqual([requests, unsentActs()], [[["visit"], ["undo"], ["redo"]], []]);
});

test("why nothing can be saved is known: no answer, a refusal, or the end of the login", async () => {
  for (const [status, trouble] of [[0, "offline"], [500, "offline"], [413, "refused"], [401, "logged-out"]]) {
    const { outbox, troubles } = opened([status]);
    outbox.push({ action: "drop" });
    await outbox.run();
    assert.deepEqual(troubles, [trouble, ""]);
  }
});

test("a queue is asked for until it is there, unless the server refuses", async () => {
  const again = opened([0, 0]);
  await again.outbox.send({ action: "filter" });
  assert.deepEqual([again.requests.length, again.taken, again.lost], [3, ["filter"], []]);
  const refused = opened([422]);
  await refused.outbox.send({ action: "filter" });
  assert.deepEqual([refused.requests.length, refused.lost, refused.outbox.trouble], [1, ["filter"], "refused"]);
});

test("at most fifty verdicts are sent at once, and a redraw is not forgotten", async () => {
  const { outbox, requests } = opened([0]);
  for (let n = 0; n < 60; n += 1) outbox.push({ action: `n${n}` });
  await outbox.want(true);
  assert.deepEqual(requests.map((request) => request.length), [51, 51, 10]);
  assert.equal(requests[1].at(-1), "redraw");
  assert.equal(requests[2][0], "n50");
});
