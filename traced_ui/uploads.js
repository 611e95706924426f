// Files are uploaded individually, a few in parallel, and imported when all have arrived.
const AT_ONCE = 4;
const box = element.querySelector(".upload"), texts = box.dataset;
const bar = box.querySelector("progress"), state = box.querySelector("[data-state]"), cancel = box.querySelector("[data-cancel]");
const size = (bytes) => (bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`);
let running = null;  // of the upload in progress: its AbortController

// The import options in the form: the same as for a path.
function entered() {
  const query = new URLSearchParams();
  for (const [name, id] of Object.entries(JSON.parse(texts.fields))) {
    /** @type {any} */
    const input = document.querySelector(`#${id} :is(input, textarea)`);
    const value = input?.type === "checkbox" ? (input.checked ? "yes" : "") : input?.value ?? "";
    if (value) query.set(name, value);
  }
  return query;
}

// XMLHttpRequest reports upload progress; fetch does not.
function ask(method, address, file = null, tell = (/** @type {number} */ bytes) => {}) {
  const { signal } = running;
  return new Promise((done, fail) => {
    if (signal.aborted) throw new Error(texts.cancelled);
    const request = new XMLHttpRequest();
    request.responseType = "json";
    request.upload.onprogress = ({ loaded }) => tell(loaded);
    request.onload = () => (request.status < 300 ? done(request.response) : fail(new Error(request.response?.detail ?? texts.broken)));
    request.onerror = () => fail(new Error(texts.broken));
    request.onabort = () => fail(new Error(texts.cancelled));
    signal.addEventListener("abort", () => request.abort());
    request.open(method, address);
    request.send(file);
  });
}

async function upload(files) {
  running = new AbortController();
  const total = files.reduce((sum, file) => sum + file.size, 0), sent = new Map(), left = [...files];
  let name = null;
  const tell = (file, bytes) => {
    sent.set(file, bytes);
    const all = [...sent.values()].reduce((sum, more) => sum + more, 0);
    bar.value = total ? all / total : 1;
    state.textContent = `${texts.sending} ${size(all)} ${texts.of} ${size(total)}`;
  };
  const put = async () => {
    while (left.length) {
      const file = left.shift(), path = encodeURIComponent(file.webkitRelativePath || file.name);
      await ask("PUT", `/uploads/${name}?path=${path}`, file, (bytes) => tell(file, bytes));
      tell(file, file.size);
    }
  };
  bar.hidden = cancel.hidden = false;
  bar.value = 0;
  state.textContent = texts.preparing;
  try {
    name = (await ask("POST", "/uploads")).upload;
    await Promise.all(Array.from({ length: AT_ONCE }, put));
    const { job } = await ask("POST", `/uploads/${name}/import?${entered()}`);
    state.textContent = "";
    trigger("select", { job });
  } catch (problem) {
    running.abort();
    state.textContent = problem.message;
    if (name) fetch(`/uploads/${name}`, { method: "DELETE" });
  } finally {
    running = null;
    bar.hidden = cancel.hidden = true;
  }
}

element.addEventListener("change", ({ target }) => {
  if (!target.matches("[data-files]") || running) return;
  // Skip hidden files and thumbnails that operating systems leave in folders.
  const files = [...target.files].filter((file) => !(file.webkitRelativePath || file.name).split("/").some((part) => part.startsWith(".")) && file.name !== "Thumbs.db");
  target.value = "";
  if (files.length) upload(files);
  else state.textContent = texts.empty;
});
cancel.addEventListener("click", () => running?.abort());
