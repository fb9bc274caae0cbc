// The table of items: filter, sort, pages, keys.

const items = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const collator = new Intl.Collator(undefined, { numeric: true });

items.forEach((item, index) => {
  item.index = index;
  item.written ||= "";
  item.warnings ||= [];
});

const COLUMNS = [
  { key: "line", label: "#", title: "Line of the manifest", value: (item) => item.index, cell: lineCell, number: true },
  { key: "state", label: "State", value: (item) => item.state, cell: stateCell },
  { key: "listen", label: "Listen", title: "Sorts by file", value: (item) => item.out, cell: listenCell },
  { key: "item", label: "Item", value: (item) => item.id, cell: itemCell },
  { key: "written", label: "Written", value: (item) => item.written.slice(0, 80), cell: writtenCell },
  { key: "spoken", label: "Spoken", value: (item) => spokenOf(item).slice(0, 80), cell: spokenCell },
  { key: "duration", label: "Length", value: (item) => measured(item, "duration_s"), cell: durationCell, number: true },
  { key: "loudness", label: "LUFS", title: "Integrated loudness", value: (item) => measured(item, "loudness_lufs"), cell: numberCell, number: true },
  { key: "peak", label: "dBTP", title: "True peak", value: (item) => measured(item, "true_peak_dbtp"), cell: numberCell, number: true },
  { key: "retries", label: "Retries", value: (item) => item.retries, cell: retriesCell, number: true },
  { key: "voice", label: "Voice", value: (item) => item.voice, cell: voiceCell },
];
const ORDERS = [
  ...COLUMNS.map((column) => ({ ...column, label: column.key === "line" ? "Manifest order" : column.key === "listen" ? "File" : column.label })),
  { key: "warnings", label: "Warnings", value: (item) => item.warnings.length || null },
  { key: "seconds", label: "Time to make", value: (item) => item.seconds },
  { key: "flagged", label: "Flagged first", value: (item) => (item.state === "failed" ? 0 : isFlagged(item) ? 1 - (item.error_rate || 0) / 10 : 2) },
  { key: "chapter", label: "Chapter", value: (item) => item.chapter },
];
const STATES = ["done", "unchanged", "failed", "skipped", "pending", "removed"];
const needsLook = (item) => item.state === "failed" || item.state === "pending" || item.warnings.length > 0 || item.retries > 0;

const view = { find: "", state: "all", voice: "", sort: "line", down: false, page: 0, size: 50, current: null, open: new Set(), shown: items };

const rowOf = new Map();
const toDraw = new Map();
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) drawRow(entry.target);
}, { rootMargin: "300px" });

// What costs time is drawn when the row comes near the window: the thumbnail and the marked differences.
function drawRow(row) {
  const item = toDraw.get(row);
  if (!item) return;
  toDraw.delete(row);
  watcher.unobserve(row);
  const box = row.querySelector(".wave");
  if (box && measured(item, "waveform")) drawWave(box, item.measured.waveform);
  const spoken = row.querySelector(".text.spoken");
  if (spoken) {
    showMarked(row.querySelector(".text.written"), item.written, item.spoken, SHORT, "gone");
    showMarked(spoken, item.spoken, item.written, SHORT, "new");
  }
  refresh(item);
}

function rowFor(item) {
  const row = element("tr", { role: "row", tabindex: item === view.current ? "0" : "-1", class: item.state === "failed" ? "failed" : null });
  for (const column of COLUMNS) {
    const cell = element("td", { role: "cell", class: "c-" + column.key + (column.number ? " n" : ""), "data-label": column.label });
    cell.append(...column.cell.call(column, item));
    row.append(cell);
  }
  row.addEventListener("focusin", () => setCurrent(item));
  rowOf.set(item, row);
  toDraw.set(row, item);
  watcher.observe(row);
  return row;
}

function showPage() {
  rowOf.clear();
  toDraw.clear();
  watcher.disconnect();
  const pages = Math.max(1, Math.ceil(view.shown.length / view.size));
  view.page = Math.min(Math.max(view.page, 0), pages - 1);
  const part = view.shown.slice(view.page * view.size, (view.page + 1) * view.size);
  if (!part.includes(view.current)) view.current = part[0] || null;
  const rows = [];
  for (const item of part) {
    rows.push(rowFor(item));
    if (view.open.has(item)) rows.push(detailsRow(item));
  }
  if (!rows.length) rows.push(element("tr", { role: "row" }, element("td", { role: "cell", class: "nothing", colspan: String(COLUMNS.length) }, "No item matches. ", clearButton())));
  byId("rows").replaceChildren(...rows);
  byId("page").textContent = `Page ${grouped.format(view.page + 1)} of ${grouped.format(pages)}`;
  byId("previous").disabled = view.page === 0;
  byId("next").disabled = view.page === pages - 1;
  byId("pages").hidden = items.length <= 50;
  const all = grouped.format(items.length);
  byId("count").textContent = view.shown.length === items.length ? `${all} ${items.length === 1 ? "item" : "items"}` : `${grouped.format(view.shown.length)} of ${all} items`;
}

function clearButton() {
  const button = element("button", { type: "button" }, "Show all items");
  button.addEventListener("click", () => {
    Object.assign(view, { find: "", state: "all", voice: "" });
    byId("find").value = byId("voice").value = "";
    update();
  });
  return button;
}

function haystack(item) {
  item.words ||= [item.id, item.title, item.out, item.written, item.spoken, item.reason, item.voice, item.heard, ...item.warnings, ...Object.values(item.extra || {})]
    .filter(Boolean).join("\n").toLowerCase();
  return item.words;
}

function update() {
  const wanted = view.find.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const order = ORDERS.find((entry) => entry.key === view.sort);
  const shown = items.filter((item) =>
    (view.state === "all" || (view.state === "look" ? needsLook(item) : item.state === view.state)) &&
    (!view.voice || item.voice === view.voice) && wanted.every((word) => haystack(item).includes(word)));
  const sign = view.down ? -1 : 1;
  const missing = (value) => value === null || value === undefined || value === "";
  const keyed = shown.map((item) => [order.value(item), item]);
  keyed.sort(([a, first], [b, second]) => {
    if (missing(a) || missing(b)) return missing(a) - missing(b) || first.index - second.index;
    return sign * (typeof a === "string" ? collator.compare(a, b) : a - b) || first.index - second.index;
  });
  view.shown = keyed.map(([, item]) => item);
  view.page = 0;
  showControls();
  showPage();
}

function showControls() {
  for (const head of byId("heads").children) {
    const on = head.dataset.key === view.sort;
    if (on) head.setAttribute("aria-sort", view.down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  for (const chip of byId("states").children) chip.setAttribute("aria-pressed", String(chip.dataset.state === view.state));
  byId("sort").value = view.sort;
  byId("direction").textContent = view.down ? "↑" : "↓";
}

function toggleDetails(item) {
  const row = rowOf.get(item);
  const open = !view.open.has(item);
  if (open) view.open.add(item);
  else view.open.delete(item);
  if (!row) return;
  row.querySelector(".more").setAttribute("aria-expanded", String(open));
  if (open) row.after(detailsRow(item));
  else row.nextElementSibling.remove();
}

// Shows what the player does with an item in the item's row, if the row is on the page.
function refresh(item) {
  const row = rowOf.get(item);
  const button = row && row.querySelector(".play");
  if (!button) return;
  const playing = player.isPlaying(item);
  button.classList.toggle("playing", playing);
  button.setAttribute("aria-label", (playing ? "Pause " : "Play ") + item.id);
  const heard = row.querySelector(".heard");
  if (heard) heard.style.width = 100 * player.share(item) + "%";
  const problem = row.querySelector(".problem");
  problem.hidden = !item.broken;
  problem.textContent = item.broken || "";
}

function setCurrent(item) {
  const before = rowOf.get(view.current);
  if (before) before.setAttribute("tabindex", "-1");
  view.current = item;
  const row = rowOf.get(item);
  if (row) row.setAttribute("tabindex", "0");
}

function choose(item, then) {
  setCurrent(item);
  then();
}

// Moves to the item `step` rows on, turning the page where needed. Returns it, or null at the end.
function move(step) {
  const position = view.shown.indexOf(view.current);
  const started = rowOf.get(view.current) === document.activeElement || step < 0 || player.item;
  const target = view.shown[started ? position + step : Math.max(position, 0)];
  if (!target) return null;
  if (!rowOf.has(target)) {
    view.page = Math.floor(view.shown.indexOf(target) / view.size);
    showPage();
  }
  setCurrent(target);
  rowOf.get(target).focus({ preventScroll: true });
  rowOf.get(target).scrollIntoView({ block: "nearest" });
  return target;
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (event.key === "Escape" && target === byId("find")) {
    target.value = view.find = "";
    update();
    target.blur();
  }
  if (target.closest("input, select, textarea, audio")) return;
  const native = target.closest("button, a, summary") && (event.key === " " || event.key === "Enter");
  if (native) return;
  const item = view.current;
  const actions = {
    j: () => move(1), k: () => move(-1),
    " ": () => item && hasFile(item) && isPlayable(item.out) && player.toggle(item),
    Enter: () => item && toggleDetails(item),
    "/": () => byId("find").focus(),
    ...Object.fromEntries(Object.entries(MARKS).map(([key, mark]) => [key, () => item && item.asked && setMark(item, mark)])),
  };
  if (!actions[event.key]) return;
  event.preventDefault();
  actions[event.key]();
}

function chip(state, label, count) {
  const button = element("button", { type: "button", class: "chip", "data-state": state }, label, " ", element("span", { class: "count" }, grouped.format(count)));
  button.addEventListener("click", () => { view.state = state; update(); });
  return button;
}

function buildControls() {
  for (const column of COLUMNS) {
    const button = element("button", { type: "button", title: column.title }, column.label);
    button.addEventListener("click", () => {
      view.down = view.sort === column.key ? !view.down : false;
      view.sort = column.key;
      update();
    });
    byId("heads").append(element("th", { scope: "col", role: "columnheader", class: "c-" + column.key + (column.number ? " n" : ""), "data-key": column.key }, button));
  }
  byId("states").append(chip("all", "All", items.length));
  for (const state of STATES) {
    const count = items.filter((item) => item.state === state).length;
    if (count) byId("states").append(chip(state, state[0].toUpperCase() + state.slice(1), count));
  }
  const looks = items.filter(needsLook).length;
  if (looks) byId("states").append(chip("look", "Needs a look", looks));
  const voices = [...new Set(items.map((item) => item.voice).filter(Boolean))].sort(collator.compare);
  byId("voice").append(element("option", { value: "" }, "All voices"), ...voices.map((voice) => element("option", { value: voice }, voice)));
  byId("sort").append(...ORDERS.map((order) => element("option", { value: order.key }, order.label)));
}

function wire() {
  let waiting = 0;
  byId("find").addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { view.find = event.target.value; update(); }, 120);
  });
  byId("voice").addEventListener("change", (event) => { view.voice = event.target.value; update(); });
  byId("sort").addEventListener("change", (event) => { view.sort = event.target.value; update(); });
  byId("direction").addEventListener("click", () => { view.down = !view.down; update(); });
  byId("size").addEventListener("change", (event) => { view.size = Number(event.target.value); view.page = 0; showPage(); });
  for (const [id, step] of [["previous", -1], ["next", 1]]) {
    byId(id).addEventListener("click", () => { view.page += step; showPage(); byId("items").scrollIntoView(); });
  }
  byId("redo").addEventListener("click", downloadRedo);
  byId("dock-close").addEventListener("click", () => player.close());
  document.addEventListener("keydown", onKey);
  window.addEventListener("beforeprint", () => [...toDraw.keys()].forEach(drawRow));
  player.onChange = refresh;
  player.onEnd = (ended) => {
    refresh(ended);
    if (!byId("through").checked) return;
    setCurrent(ended);
    for (let next = move(1); next; next = move(1)) {
      if (hasFile(next) && isPlayable(next.out)) return player.start(next);
    }
  };
}

buildControls();
review.load();
wire();
if (items.some(isFlagged)) view.sort = "flagged";
showReview();
update();
byId("tools").hidden = byId("table").hidden = false;
