// The next pairs are prefetched: a verdict shows the next one at once and is saved in the background.
// Verdicts are posted with the pair, the version and the fingerprint of what was on the screen, in the
// order in which they were given, one request at a time; without a response the same request is
// repeated, and the server writes it once. Verdicts that it cannot save are returned and shown until
// dismissed. See read_ahead.py. Continues half_done.js (`review.SCRIPTS`).
{
  const KEPT = "traced-unsent", AGAIN = 2000, PATIENCE = 30000, AT_ONCE = 50, LOOKED_AT = 150;
  const LONGEST = 2000;  // characters of a typed caption; longer ones stay in their box until the server responds
  const IN_FAST = /^(next|correct|correction|drop|abstract|unsure|(suggestion|enrich)-[0-9]+)$/;
  const queueShown = () => document.querySelector(QUEUE);
  const host = (id) => { const part = document.querySelector(id); return part?.querySelector(".prose") ?? part; };
  const box = (name) => document.querySelector(`#traced-returned .${name}`);

  let ahead = [];  // prefetched pairs: {pair, mark, stage, chart, steps, picture, isReady}
  let behind = null;  // the pair that precedes them, as text
  let link = null;  // the queue that they belong to
  let visits = 0;  // to other pages; what was drawn before the last of them may be outdated
  let more = false;  // whether the queue continues after them
  let current = null;  // the prefetched pair that was shown last
  let isAdvancing = false;  // a verdict has been given and the next pair is not loaded yet
  let isPainted = true;  // the stage has been painted on the screen
  let isPosting = false, postAgain = false, isOffline = false, isRefused = false;
  let waitingToAct = [];  // requests to send once all verdicts are saved
  const unsent = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
  let fromBefore = unsent.length;

  const keep = () => sessionStorage.setItem(KEPT, JSON.stringify(unsent));
  const isAhead = (s) => behind === s.dataset.pair && link === queueShown()?.dataset.link;

  function paint(is) { isPainted = is; element.dataset.painted = is; }

  function says(name) {
    const text = document.querySelector(`#traced-returned [data-says="${name}"]`);
    if (text) morph(host("#traced-toast"), text.innerHTML);
  }

  // Like Gradio's redraw: node by node, so that the focus is kept.
  function morph(old, html) {
    const fresh = document.createElement("div");
    fresh.innerHTML = html;
    likeChildren(old, fresh);
  }
  function likeChildren(old, fresh) {
    const olds = [...old.childNodes], freshs = [...fresh.childNodes];
    freshs.forEach((node, place) => (olds[place] ? like(olds[place], node) : old.append(node)));
    olds.slice(freshs.length).forEach((node) => node.remove());
  }
  function like(old, fresh) {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) { old.replaceWith(fresh); return; }
    if (old.nodeType !== Node.ELEMENT_NODE) { if (old.textContent !== fresh.textContent) old.textContent = fresh.textContent; return; }
    [...old.attributes].forEach(({ name }) => { if (!fresh.hasAttribute(name)) old.removeAttribute(name); });
    [...fresh.attributes].forEach(({ name, value }) => { if (old.getAttribute(name) !== value) old.setAttribute(name, value); });
    likeChildren(old, fresh);
  }

  decideAhead = (action, text = null) => {
    const s = stage(), session = queueShown()?.dataset.session;
    if (!s || !session || !IN_FAST.test(action) || isBusy()) return false;
    if ("decided" in s.dataset && action !== "next") return false;  // the server asks for confirmation
    if (document.querySelector("#traced-toast [data-question]")) return false;
    if (isOffline) { says("offline"); return true; }
    if (isAdvancing || !isPainted) { says("too-soon"); return true; }
    if (!isAhead(s) || (!ahead.length && !more)) return false;  // nothing prefetched, or the end of the queue
    const button = document.querySelector(`#traced-stage [data-action="${action}"]`);
    if (!button && !["next", "correction"].includes(action)) return false;  // the server reports the problem
    if (text !== null && !isCorrection(text, s)) return false;  // the server reports what is wrong
    unsent.push({
      pair: Number(s.dataset.pair), version: Number(s.dataset.version), fingerprint: s.dataset.fingerprint,
      name: s.dataset.name, action, text, note: document.querySelector(NOTE)?.value ?? "",
      suggestion: button?.dataset.suggestion ? Number(button.dataset.suggestion) : null,
    });
    keep();
    tellSaving(action);
    isAdvancing = true;
    advance();
    exchange();
    return true;
  };

  const isCorrection = (text, s) => {
    const caption = text.trim();
    const before = s.querySelector("details.correction textarea")?.defaultValue.trim();
    return caption && caption.length <= LONGEST && !caption.includes("\0") && caption !== before;
  };

  // If only the first step of the trajectory is known, or a correction has no probability yet, the rest
  // is computed while the pair is viewed, and drawn unless the page has moved on.
  let completed = null;  // the pair that has been requested
  function complete() {
    const pair = stage()?.dataset.pair;
    if (!pair || completed === pair) return;
    completed = pair;
    setTimeout(async () => {
      if (completed === pair) completed = null;
      const session = queueShown()?.dataset.session;
      if (!session || stage()?.dataset.pair !== pair) return;
      const response = await fetch("/review/later-steps", {
        method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ session, pair: Number(pair) }),
      }).catch(() => null);
      const answer = response?.ok ? await response.json() : {};
      if (stage()?.dataset.pair !== pair) return;
      if (answer.steps) { morph(host("#traced-chart"), answer.chart); morph(host("#traced-steps"), answer.steps); }
      const list = document.querySelector("#traced-stage ol.suggestions");
      if (list && answer.suggestions) { morph(list, answer.suggestions); delete list.dataset.unjudged; }
    }, LOOKED_AT);
  }
  onRedraw("#traced-steps [data-first-step]", complete);
  onRedraw("#traced-stage ol[data-unjudged]", complete);

  function advance() {
    element.dataset.ready = ahead.filter((entry) => entry.isReady).length;
    if (!isAdvancing) return;
    if (ahead[0]?.isReady) { isAdvancing = false; show(ahead.shift()); }
    else stage()?.classList.add("leaving");
  }

  function show(next) {
    current = next;
    behind = String(next.pair);
    paint(false);
    morph(host("#traced-stage"), next.stage);
    morph(host("#traced-chart"), next.chart);
    morph(host("#traced-steps"), next.steps);
    for (const part of ["#traced-check", "#traced-abstract"]) morph(host(part), "");
    document.querySelectorAll("#traced-queue [data-target]").forEach((row) => {
      if (Number(row.dataset.target) === next.pair) row.closest("li").setAttribute("aria-current", "true");
      else row.closest("li").removeAttribute("aria-current");
    });
    reveal(document.querySelector("#traced-queue [aria-current=true]"));
    requestAnimationFrame(() => setTimeout(() => paint(true)));
  }

  // Requests of other keys are sent after the verdicts that were given before them.
  whenSaved = (act) => { if (unsent.length || isPosting) { waitingToAct.push(act); exchange(); } else act(); };

  async function exchange() {
    const queue = queueShown();
    if (!queue?.dataset.session) return;
    if (isPosting) { postAgain = true; return; }
    isPosting = true;
    postAgain = false;
    const acts = unsent.slice(0, AT_ONCE), pair = pairShown(), before = visits;
    const have = Object.fromEntries(ahead.map(({ pair, mark }) => [pair, mark]));
    let answer = null;
    try {
      const response = await fetch("/review/acts", {
        method: "POST", headers: { "Content-Type": "application/json" }, signal: AbortSignal.timeout(PATIENCE),
        body: JSON.stringify({ session: queue.dataset.session, dataset: Number(queue.dataset.dataset), acts, shown: pair ? Number(pair) : null, have }),
      });
      answer = response.ok ? await response.json() : null;
      isRefused = response.status >= 400 && response.status < 500;  // kept, and sent again after a reload
      if (isRefused) says("refused");
    } catch { isRefused = false; }
    isPosting = false;
    isOffline = !answer;
    tellUnsent();
    if (!answer) { setTimeout(exchange, AGAIN); return; }
    unsent.splice(0, acts.length);
    keep();
    dropDrafts(acts, answer.returned);
    take(answer, acts.length, before === visits);
    if (unsent.length || postAgain || (isAdvancing && !ahead.length)) { setTimeout(exchange); return; }
    waitingToAct.splice(0).forEach((act) => act());
  }

  // The text of a correction is needed until it is saved.
  function dropDrafts(acts, returned) {
    const list = document.createElement("template");
    list.innerHTML = returned;
    acts.filter(({ pair, action }) => action === "correction" && !list.content.querySelector(`[data-returned="${pair}"]`))
      .forEach(({ pair }) => dropDraft(pair));
  }

  function take(answer, count, isCurrent) {
    if (answer.returned) {
      box("returned").querySelector("ul").insertAdjacentHTML("beforeend", answer.returned);
      box("returned").hidden = false;
    }
    if (answer.is_unknown) {  // the server has been restarted
      if (!unsent.length && box("returned").hidden) location.reload();
      return;
    }
    if (answer.link !== null) raiseNumber(answer.number);
    if (answer.toast) morph(host("#traced-toast"), answer.toast);
    if (fromBefore && count) { fromBefore = 0; if (!answer.returned) says("later"); }
    if (answer.link === null || answer.link !== queueShown().dataset.link) return;
    morph(host("#traced-queue"), answer.queue);
    if (!isCurrent) { postAgain = true; return; }
    const s = stage(), ready = new Map(ahead.map((entry) => [entry.pair, entry]));
    const list = answer.order.map((pair) => (answer.drawn[pair] ? prepared({ pair, ...answer.drawn[pair] }) : ready.get(pair)));
    const place = answer.order.indexOf(Number(s?.dataset.pair));
    if (s && (String(answer.of) === s.dataset.pair || place >= 0) && !list.includes(undefined)) {
      [ahead, behind, link, more] = [list.slice(place + 1), s.dataset.pair, answer.link, answer.more];
      if (isAdvancing && !ahead.length && !more) { isAdvancing = false; waitingToAct.push(() => send({ action: "end" })); }
      markCurrent();
    } else { ahead = []; postAgain = true; }
    advance();
  }

  function markCurrent() {
    const pair = stage()?.dataset.pair;
    document.querySelectorAll("#traced-queue .pairs li").forEach((row) => {
      row.toggleAttribute("aria-current", false);
      if (row.querySelector("[data-target]")?.dataset.target === pair) row.setAttribute("aria-current", "true");
    });
  }

  // A pair is shown only once its picture is loaded, so that nobody judges a picture not yet visible.
  function prepared(entry) {
    const parts = document.createElement("template");
    parts.innerHTML = entry.stage;
    const source = parts.content.querySelector(".picture img")?.getAttribute("src");
    entry.isReady = !source;
    if (source) {
      entry.picture = new Image();
      entry.picture.src = source;
      entry.picture.decode().catch(() => {}).then(() => { entry.isReady = true; advance(); });
    }
    return entry;
  }

  function tellUnsent() {
    const waiting = box("unsent");
    waiting.hidden = !isOffline || !unsent.length;
    waiting.querySelector("[data-unsent]").textContent = unsent.length;
    waiting.querySelectorAll("[data-because]").forEach((why) => { why.hidden = (why.dataset.because === "refused") !== isRefused; });
  }

  onRedraw(STAGE, (s) => {
    // A job's update from before the verdict was saved may redraw a pair that has been decided here.
    const isDecided = unsent.some((act) => String(act.pair) === s.dataset.pair && String(act.version) === s.dataset.version);
    if (isDecided && !isAdvancing && current && String(current.pair) !== s.dataset.pair) { show(current); return; }
    if (isAdvancing) s.classList.add("leaving");
    else if (!isAhead(s)) { ahead = []; setTimeout(exchange); }
  });
  onRedraw(QUEUE, (queue) => { if (queue.dataset.session && unsent.length) exchange(); });
  // Other pages change how pairs are displayed: guidelines, a new detector, phrases.
  document.addEventListener("click", ({ target }) => {
    if (target.closest("button[role=tab]")) { ahead = []; behind = null; visits += 1; setTimeout(exchange); }
  });
  document.addEventListener("click", ({ target }) => {
    const list = box("returned");
    if (target.closest("[data-dismiss-returned]")) list.querySelector("ul").replaceChildren();
    else if (target.closest("#traced-returned [data-action=open]")) target.closest("li").remove();
    else return;
    list.hidden = !list.querySelector("li");
  });
  addEventListener("beforeunload", (event) => { if (unsent.length && isOffline) event.preventDefault(); });
}
