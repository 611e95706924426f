// The pairs that follow the one on the page, prefetched with their pictures: a key shows the next one
// without waiting for the server.

/** @typedef {{pair: number, mark: string, sampled?: boolean, stage: string, chart: string, steps: string, isReady: boolean, picture?: any}} Entry */

export class Ahead {
  /** @type {Entry[]} */
  entries = [];
  /** @type {number | null} the pair that precedes them */
  behind = null;
  /** Whether the queue continues after them. */
  hasMore = false;

  /** @param {(entry: Entry) => void} prepare loads the entry's picture and then sets `isReady` */
  constructor(prepare) { this.prepare = prepare; }

  get ready() { return this.entries.filter((entry) => entry.isReady).length; }
  /** The versions of the prefetched pairs: the server draws only what differs. */
  get marks() { return Object.fromEntries(this.entries.map(({ pair, mark }) => [pair, mark])); }

  clear() { this.entries = []; this.behind = null; }
  /** Keep what is drawn, but no longer as what follows. */
  unlink() { this.behind = null; }

  /** The next entry, if it is ready. Pairs drawn at random come after a verdict alone: whoever walks
   * along the queue would meet the same ones again and again. */
  shift({ isDecided = false } = {}) {
    const place = isDecided ? 0 : this.entries.findIndex((entry) => !entry.sampled);
    if (!this.entries[place]?.isReady) return null;
    const [next] = this.entries.splice(0, place + 1).slice(-1);
    this.behind = next.pair;
    return next;
  }

  /** Take the pairs that follow `of`, while the page shows `shown`. Returns false if they do not
   * follow it, or if one of them is missing.
   * @param {{order: number[], drawn: Record<string, any>, more: boolean}} answer */
  take({ order, drawn, more }, of, shown) {
    const known = new Map(this.entries.map((entry) => [entry.pair, entry]));
    const place = order.indexOf(shown);
    const list = order.slice(place + 1).map((pair) => (drawn[pair] ? { pair, isReady: false, ...drawn[pair] } : known.get(pair)));
    if ((of !== shown && place < 0) || list.includes(undefined)) { this.clear(); return false; }
    Object.assign(this, { entries: list, behind: shown, hasMore: more });
    list.forEach((entry) => { if (drawn[entry.pair]) this.prepare(entry); });
    return true;
  }
}
