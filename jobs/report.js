// The table of items: filter, sort, pages, details, keys. Texts reach the page as text nodes only.

const SHORT = 220;
const WAVE_LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const items = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const collator = new Intl.Collator(undefined, { numeric: true });
const grouped = new Intl.NumberFormat("en");
const measured = (item, name) => (item.measured ? item.measured[name] : null);
const spokenOf = (item) => (item.same ? item.written : item.spoken) || "";
const hasFile = (item) => Boolean(item.out) && ["done", "unchanged", "removed"].includes(item.state);

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
  { key: "chapter", label: "Chapter", value: (item) => item.chapter },
];
const STATES = ["done", "unchanged", "failed", "skipped", "pending", "removed"];
const needsLook = (item) => item.state === "failed" || item.state === "pending" || item.warnings.length > 0 || item.retries > 0;

const view = { find: "", state: "all", voice: "", sort: "line", down: false, page: 0, size: 50, current: null, open: new Set(), shown: items };

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function clock(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 59.95) return seconds.toFixed(1) + " s";
  const whole = Math.round(seconds);
  const pad = (value) => String(value).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours}:${pad(minutes)}:${pad(whole % 60)}` : `${minutes}:${pad(whole % 60)}`;
}

// --- cells ---

function lineCell(item) {
  return [String(item.line || "")];
}

function stateCell(item) {
  return [element("span", { class: "badge " + (STATES.includes(item.state) ? item.state : "") }, item.state)];
}

function listenCell(item) {
  if (!hasFile(item)) return [element("span", { class: "muted" }, "no file")];
  if (!isPlayable(item.out)) {
    return [wave(item, false), element("span", { class: "hint" }, `Browsers do not play .${suffixOf(item.out)} – see details`)];
  }
  const button = element("button", { type: "button", class: "play", "aria-label": "Play " + item.id });
  button.addEventListener("click", () => choose(item, () => player.toggle(item)));
  const parts = [element("div", { class: "controls" }, button, wave(item, true))];
  parts.push(element("span", { class: "hint problem", hidden: true }));
  return parts;
}

function wave(item, seekable) {
  const box = element("div", { class: "wave" + (seekable ? " seekable" : ""), "aria-hidden": "true" });
  if (seekable) {
    box.addEventListener("click", (event) => {
      const frame = box.getBoundingClientRect();
      choose(item, () => player.seek(item, (event.clientX - frame.left) / frame.width));
    });
  }
  return box;
}

function drawWave(box, peaks) {
  const svg = (tag, attributes) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  };
  const picture = svg("svg", { viewBox: `0 0 ${Math.max(peaks.length, 1)} 64`, preserveAspectRatio: "none" });
  let path = "";
  [...peaks].forEach((letter, x) => {
    const half = Math.max(WAVE_LEVELS.indexOf(letter) / 2, 0.8);
    path += `M${x + 0.5} ${32 - half}V${32 + half}`;
  });
  picture.append(svg("path", { d: path }));
  box.append(picture, element("span", { class: "heard" }));
}

function itemCell(item) {
  const toggle = element("button", { type: "button", class: "more", "aria-expanded": String(view.open.has(item)) }, element("bdi", { class: "id" }, item.id));
  toggle.addEventListener("click", () => choose(item, () => toggleDetails(item)));
  const parts = [toggle];
  if (item.title) parts.push(element("div", { class: "title", dir: "auto" }, item.title));
  if (item.reason) parts.push(element("div", { class: item.state === "failed" ? "why bad" : "why", dir: "auto" }, item.reason));
  if (item.out && hasFile(item)) parts.push(element("div", { class: "file" }, element("bdi", {}, item.out)));
  if (item.warnings.length) parts.push(listOf(item.warnings, "warned"));
  return parts;
}

function listOf(texts, name) {
  return element("ul", { class: name }, ...texts.map((text) => element("li", { dir: "auto" }, text)));
}

function writtenCell(item) {
  return [element("div", { class: "text written", dir: "auto" }, shortened(item.written))];
}

function spokenCell(item) {
  if (item.same || !item.spoken) return [element("span", { class: "muted" }, item.same ? "as written" : "–")];
  return [element("div", { class: "text spoken", dir: "auto" }, shortened(item.spoken))];
}

function shortened(text) {
  return text.length > SHORT ? cut(text, SHORT) + "…" : text;
}

function durationCell(item) {
  return [clock(measured(item, "duration_s"))];
}

function numberCell(item) {
  const value = this.value(item);
  return [value === null || value === undefined ? "–" : value.toFixed(1).replace("-", "−")];
}

function retriesCell(item) {
  return [item.retries ? element("strong", { class: "amber" }, String(item.retries)) : "0"];
}

function voiceCell(item) {
  return [element("bdi", {}, item.voice || "–")];
}

// --- details ---

function detailsRow(item) {
  const cell = element("td", { role: "cell", colspan: String(COLUMNS.length) });
  const facts = element("dl", { class: "pairs" });
  for (const [name, value] of detailPairs(item)) {
    if (value === null || value === undefined || value === "") continue;
    facts.append(element("div", {}, element("dt", {}, element("bdi", {}, name)), element("dd", {}, value instanceof Node ? value : element("bdi", {}, String(value)))));
  }
  const texts = element("div", { class: "texts" }, wholeText("Written", item.written, spokenOf(item), "gone"));
  if (!item.same && item.spoken) texts.append(wholeText("Spoken", item.spoken, item.written, "new"));
  cell.append(texts, facts);
  if (item.takes && (item.takes.length > 1 || item.takes.some((take) => take.faults.length))) cell.append(takesTable(item.takes));
  return element("tr", { role: "row", class: "details" }, cell);
}

function wholeText(label, text, other, side) {
  const body = element("div", { class: "text", dir: "auto", tabindex: "0", role: "region", "aria-label": label });
  showMarked(body, text, other, Math.max(text.length, other.length, 1), side);
  return element("div", {}, element("h4", {}, `${label} · ${grouped.format(text.length)} characters`), body);
}

function detailPairs(item) {
  const of = (name, unit, digits = 1) => {
    const value = measured(item, name);
    return value === null || value === undefined ? null : value.toFixed(digits).replace("-", "−") + unit;
  };
  const url = item.out && hasFile(item) ? audioUrl(item.out) : null;
  const file = url ? element("a", { href: url, target: "_blank", rel: "noopener" }, element("bdi", {}, item.out)) : item.out;
  const command = item.out && hasFile(item) ? listenCommand(item.out) : null;
  const size = measured(item, "size_bytes");
  return [
    ["File", file],
    ["Listen with", command && element("code", {}, command)],
    ["Chapter", item.chapter], ["Language", item.language], ["Mode", item.mode], ["Instruction", item.instruction],
    ["Speed", item.speed], ["Seed", item.seed], ["Profile", item.profile], ["Segments", item.segments],
    ["Device", item.device], ["Time to make", item.seconds ? clock(item.seconds) : null],
    ["Format", item.measured && `${grouped.format(item.measured.sample_rate_hz)} Hz, ${item.measured.channels === 1 ? "mono" : item.measured.channels + " channels"}`],
    ["Size", size === null ? null : size < 1e6 ? (size / 1e3).toFixed(1) + " kB" : (size / 1e6).toFixed(1) + " MB"],
    ["RMS", of("rms_db", " dB")], ["Gain", of("gain_db", " dB")], ["Limiter", of("limited_db", " dB")],
    ["Notes", item.measured && item.measured.notes.length ? listOf(item.measured.notes, "inline") : null],
    ...Object.entries(item.extra || {}),
  ];
}

function takesTable(takes) {
  const head = element("tr", {}, ...["Segment", "Attempt", "Seed", "Found", "Kept"].map((name) => element("th", { scope: "col" }, name)));
  const rows = takes.slice(0, 500).map((take) => element("tr", {},
    element("td", {}, String(take.segment)), element("td", {}, String(take.attempt)), element("td", {}, take.seed),
    element("td", {}, element("bdi", {}, take.faults.join(", ") || "–")), element("td", {}, take.kept ? "yes" : "no")));
  return element("table", { class: "plain takes" }, element("caption", {}, "Takes"), element("thead", {}, head), element("tbody", {}, ...rows));
}

// --- the table ---

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
  item.words ||= [item.id, item.title, item.out, item.written, item.spoken, item.reason, item.voice, ...item.warnings, ...Object.values(item.extra || {})]
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

// --- wiring ---

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
wire();
update();
byId("tools").hidden = byId("table").hidden = false;
