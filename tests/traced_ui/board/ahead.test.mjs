// The prefetched pairs follow the one on the page, or are not used.
import assert from "node:assert/strict";
import test from "node:test";
import { Ahead } from "../../../traced_ui/board/ahead.js";

const drawn = (...pairs) => Object.fromEntries(pairs.map((pair) => [pair, { mark: `m${pair}`, stage: "", chart: "", steps: "" }]));
const ready = () => new Ahead((entry) => { entry.isReady = true; });
const pairs = (ahead) => ahead.entries.map(({ pair }) => pair);

test("the next pair is shown once its picture is loaded", () => {
  const ahead = new Ahead(() => {});
  assert.equal(ahead.take({ order: [2, 3], drawn: drawn(2, 3), more: true }, 1, 1), true);
  assert.equal(ahead.shift(), null);
  ahead.entries[0].isReady = true;
  assert.equal(ahead.shift().pair, 2);
  assert.deepEqual([ahead.behind, pairs(ahead)], [2, [3]]);
});

test("pairs that are already there are not drawn again", () => {
  const ahead = ready();
  ahead.take({ order: [2, 3], drawn: drawn(2, 3), more: true }, 1, 1);
  assert.deepEqual(ahead.marks, { 2: "m2", 3: "m3" });
  ahead.shift();
  assert.equal(ahead.take({ order: [3, 4], drawn: drawn(4), more: false }, 2, 2), true);
  assert.deepEqual([pairs(ahead), ahead.ready, ahead.hasMore], [[3, 4], 2, false]);
});

test("an answer about an earlier pair counts from the one that is shown", () => {
  const ahead = ready();
  ahead.take({ order: [2, 3, 4], drawn: drawn(2, 3, 4), more: true }, 1, 1);
  ahead.shift();
  assert.equal(ahead.take({ order: [2, 3, 4], drawn: {}, more: true }, 1, 2), true);
  assert.deepEqual([ahead.behind, pairs(ahead)], [2, [3, 4]]);
});

test("an answer that does not fit is not used", () => {
  const ahead = ready();
  assert.equal(ahead.take({ order: [2, 3], drawn: drawn(2, 3), more: true }, 1, 9), false);
  assert.deepEqual([ahead.behind, pairs(ahead)], [null, []]);
  assert.equal(ahead.take({ order: [2], drawn: {}, more: true }, 1, 1), false, "one is missing");
});

test("a random check comes after a verdict alone", () => {
  const entries = () => { const all = drawn(7, 2, 3, 8, 4); all[7].sampled = all[8].sampled = true; return all; };
  const ahead = ready();
  ahead.take({ order: [7, 2, 3, 8, 4], drawn: entries(), more: true }, 1, 1);
  assert.deepEqual([ahead.shift().pair, ahead.shift().pair, ahead.shift().pair], [2, 3, 4]);
  ahead.take({ order: [7, 2, 3, 8, 4], drawn: entries(), more: true }, 1, 1);
  assert.equal(ahead.shift({ isDecided: true }).pair, 7);
  assert.equal(ahead.shift().pair, 2);
});
