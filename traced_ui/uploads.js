// Files are uploaded individually, a few in parallel, and imported when all have arrived.
const AT_ONCE = 4;
const box = element.querySelector(".upload"), texts = box.dataset;
const bar = box.querySelector("progress"), state = box.querySelector("[data-state]"), problem = box.querySelector("[data-problem]"), cancel = box.querySelector("[data-cancel]");
const size = (bytes) => (bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`);
let running = null;  // the upload in progress: {requests, isCancelled}

function refuse(text) {
  state.textContent = "";
  problem.firstElementChild.textContent = text;
  problem.hidden = !text;
}

// The import options in the form: the same as for a path.
function entered() {
  const query = new URLSearchParams();
  for (const [name, id] of Object.entries(JSON.parse(texts.fields))) {
    const input = document.querySelector(`#${id} :is(input, textarea)`);
    const value = input?.type === "checkbox" ? (input.checked ? "yes" : "") : input?.value ?? "";
    if (value) query.set(name, value);
  }
  return query;
}

// `broken`: what to say if no answer of our server arrives.
async function asked(address, method, broken) {
  const response = await fetch(address, { method }).catch(() => null);
  const answer = await response?.json().catch(() => null);
  if (!answer || (!response.ok && !answer.detail)) throw new Error(broken);
  if (!response.ok) throw new Error(answer.detail);
  return answer;
}

// XMLHttpRequest reports upload progress; fetch does not.
function put(address, file, run, tell) {
  return new Promise((done, fail) => {
    const request = new XMLHttpRequest();
    run.requests.add(request);
    request.open("PUT", address);
    request.upload.onprogress = ({ loaded }) => tell(loaded);
    request.onload = () => {
      run.requests.delete(request);
      if (request.status < 300) { tell(file.size); done(); return; }
      let detail = texts.broken;
      try { detail = JSON.parse(request.responseText).detail ?? detail; } catch { /* not our server's response */ }
      fail(new Error(detail));
    };
    request.onerror = () => fail(new Error(texts.broken));
    request.onabort = () => fail(new Error(texts.cancelled));
    request.send(file);
  });
}

async function upload(files) {
  const run = running = { requests: new Set(), isCancelled: false };
  const total = files.reduce((sum, file) => sum + file.size, 0), sent = new Map();
  let name = null;
  bar.hidden = cancel.hidden = false;
  bar.value = 0;
  refuse("");
  state.textContent = texts.preparing;
  try {
    name = (await asked("uploads", "POST", texts.broken)).upload;
    const left = [...files];
    const worker = async () => {
      for (let file = left.shift(); file && !run.isCancelled; file = left.shift()) {
        const path = encodeURIComponent(pathOf(file)), one = file;
        await put(`uploads/${name}?path=${path}`, file, run, (loaded) => {
          sent.set(one, loaded);
          const all = [...sent.values()].reduce((sum, bytes) => sum + bytes, 0);
          bar.value = total ? all / total : 1;
          state.textContent = `${texts.sending} ${size(all)} ${texts.of} ${size(total)}`;
        });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    if (run.isCancelled) throw new Error(texts.cancelled);
    const { job } = await asked(`uploads/${name}/import?${entered()}`, "POST", texts.unknown);
    state.textContent = "";
    trigger("select", { job });
  } catch (error) {
    run.isCancelled = true;
    run.requests.forEach((request) => request.abort());
    refuse(error.message);
    if (name) fetch(`uploads/${name}`, { method: "DELETE" }).catch(() => {});
  } finally {
    running = null;
    bar.hidden = cancel.hidden = true;
  }
}

// Skip hidden files and thumbnails that operating systems leave in folders.
function take(all) {
  if (running) return;
  const files = all.filter((file) => !pathOf(file).split("/").some((part) => part.startsWith(".")) && file.name !== "Thumbs.db");
  if (files.length) upload(files);
  else refuse(texts.empty);
}
element.addEventListener("change", ({ target }) => {
  if (!target.matches("[data-files]")) return;
  take([...target.files]);
  target.value = "";
});

// Of what is dropped, folders are read to their end; a file does not know its path in them.
const paths = new Map();
const pathOf = (file) => paths.get(file) ?? (file.webkitRelativePath || file.name);
async function filesIn(entry) {
  if (entry.isFile) {
    const file = await new Promise((done, fail) => entry.file(done, fail));
    paths.set(file, entry.fullPath.slice(1));
    return [file];
  }
  const reader = entry.createReader(), files = [];
  for (;;) {  // a hundred at a time
    const entries = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!entries.length) return files;
    for (const each of entries) files.push(...await filesIn(each));
  }
}
for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
  element.addEventListener(kind, async (event) => {
    event.preventDefault();
    box.classList.toggle("over", kind === "dragenter" || kind === "dragover");
    if (kind !== "drop") return;
    const { items, files } = event.dataTransfer, loose = [...files];
    const entries = [...items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
    take(entries.length ? (await Promise.all(entries.map(filesIn))).flat() : loose);
  });
}
cancel.addEventListener("click", () => {
  if (!running) return;
  running.isCancelled = true;
  running.requests.forEach((request) => request.abort());
});
