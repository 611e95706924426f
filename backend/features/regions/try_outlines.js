// Try one picture: where in the picture the suspect words are. `outline`: that module, once it is there;
// `trigger`, `watch` and `props` are Gradio's. Without it nothing is lit, which the console says once.
outline.then(({ dark, light, tell }) => {
  const SUSPECT = "#playground-result .word.suspect", SETTLED = 120;  // ms that the mouse stays
  const one = (selector) => document.querySelector(selector);
  const image = () => one("#playground-picture img");
  let lit = null;  // the word whose region is lit or about to be
  const answers = new WeakMap();  // by the claim that the words are in; empty until they are there
  const questions = [];  // the claims whose words were asked about, by the question's number
  let timer = 0;

  const claimOf = (word) => word.closest(".claim, .traced-caption");
  function spanOf(word) {
    const begin = Number(word.dataset.start);
    return [begin, begin + [...word.textContent].length];  // code points, as Python counts
  }

  function show(word) {
    if (word === lit) return;
    clearTimeout(timer);
    lit = word;
    if (image()) dark(image());
    if (!lit || one("#playground-results").matches(".stale, .running")) return;
    const claim = claimOf(lit);
    if (!answers.has(claim)) {
      answers.set(claim, {});
      trigger("focus", { number: questions.push(claim) - 1, spans: [...claim.querySelectorAll(".suspect")].map(spanOf) });
    }
    draw();
  }

  function draw() {
    if (!lit?.isConnected || !image()) return;
    const { regions, problem } = answers.get(claimOf(lit)) ?? {}, region = regions?.find(({ start }) => start === spanOf(lit)[0]);
    if (problem) tell(image(), problem);
    else if (region) light(image(), region);
  }

  watch("value", () => {
    if (!props.value) return;
    const { number, ...rest } = JSON.parse(props.value);
    Object.assign(answers.get(questions[number]) ?? {}, rest);
    draw();
  });

  const wordAt = (target) => target?.closest?.(SUSPECT) ?? null;
  document.addEventListener("pointerover", ({ target, pointerType }) => {
    const word = wordAt(target);
    clearTimeout(timer);
    if (word && pointerType !== "touch") timer = setTimeout(() => { if (word.matches(":hover")) show(word); }, SETTLED);
  });
  document.addEventListener("pointerout", ({ target, pointerType }) => {
    if (wordAt(target) && pointerType !== "touch") show(wordAt(document.activeElement));
  });
  document.addEventListener("pointerdown", ({ target, pointerType }) => { if (pointerType === "touch") show(wordAt(target)); });
  document.addEventListener("focusin", ({ target }) => show(wordAt(target)));
  document.addEventListener("focusout", ({ target }) => { if (wordAt(target) === lit) show(null); });
  addEventListener("resize", draw);
}, reportError);
