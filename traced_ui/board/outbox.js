// What a page sends, in order, one request at a time. Verdicts, and other acts that write, which have an
// id, stay in the browser's storage until the server has confirmed them, and are sent again if an answer
// is lost: the server writes each once. Repeating any other act changes nothing.

/** @typedef {{action: string, pair?: number | null, request?: string, [more: string]: any}} Act */
/** @typedef {{verdicts: Act[], act: Act | null, redraw: boolean}} Request */

export const AT_ONCE = 50;
const KEPT = "traced-unsent", KEPT_ACTS = "traced-unsent-acts", AGAIN = 2000;

export class Outbox {
  #way;
  #isRunning = false;
  #isWanted = false;
  #redraw = false;
  /** @type {Act[]} */
  acts = [];
  /** @type {"" | "offline" | "refused" | "logged-out"} why the server took nothing at the last request */
  trouble = "";

  /**
   * @param {object} way
   * @param {(request: Request) => Promise<{answer: any, status: number}>} way.post status 0: no answer
   * @param {(answer: any, request: Request) => void} way.take called with each answer
   * @param {(act: Act) => void} way.lose called with an act that was not or perhaps not done
   * @param {() => void} way.tell called when verdicts have been saved, or wait
   * @param {Pick<Storage, "getItem" | "setItem">} way.storage
   * @param {(milliseconds: number) => Promise<void>} way.wait
   */
  constructor(way) {
    this.#way = way;
    /** @type {Act[]} Not confirmed yet. */
    this.verdicts = JSON.parse(way.storage.getItem(KEPT) ?? "[]");
  }

  /** The acts with an id that are not confirmed yet. */
  get lasting() { return this.acts.filter(({ request }) => request); }

  /** Send the acts that a page before this one left unconfirmed, after what it has sent itself. */
  resume() { for (const act of JSON.parse(this.#way.storage.getItem(KEPT_ACTS) ?? "[]")) this.send(act); }

  /** Whether an act is under way that may show another pair. */
  get isBusy() { return this.acts.length > 0; }

  /** Keep a verdict; `run` sends it. */
  push(verdict) { this.verdicts.push(verdict); this.#keep(); }

  send(act) { this.acts.push(act); if (act.request) this.#keep(); return this.run(); }

  /** Ask for the pairs that follow; `redraw`: and for the page as it is now. */
  want(redraw = false) { this.#isWanted = true; this.#redraw ||= redraw; return this.run(); }

  #keep() {
    this.#way.storage.setItem(KEPT, JSON.stringify(this.verdicts));
    this.#way.storage.setItem(KEPT_ACTS, JSON.stringify(this.lasting));
  }

  async run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (this.verdicts.length || this.acts.length || this.#isWanted) await this.#exchange();
    } finally { this.#isRunning = false; }
  }

  async #exchange() {
    const verdicts = this.verdicts.slice(0, AT_ONCE);
    const act = verdicts.length ? null : this.acts[0] ?? null;
    const request = { verdicts, act, redraw: this.#redraw };
    this.#isWanted = this.#redraw = false;
    const { answer, status } = await this.#way.post(request);
    this.trouble = answer ? "" : status === 401 ? "logged-out" : status >= 400 && status < 500 ? "refused" : "offline";
    if (answer) {
      this.verdicts.splice(0, verdicts.length);
      if (act) this.acts.shift();
      this.#keep();
      this.#way.tell();
      this.#way.take(answer, request);
      return;
    }
    this.#isWanted ||= !act;
    this.#redraw ||= request.redraw;
    if (act && status) { this.acts.shift(); this.#keep(); this.#way.lose(act); }
    this.#way.tell();
    await this.#way.wait(AGAIN);
  }
}
