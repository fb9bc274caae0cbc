// What one item looks like: its cells, and the details below them. Every text becomes a text node, never markup.

const SHORT = 220;
const WAVE_LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const grouped = new Intl.NumberFormat("en");
const measured = (item, name) => (item.measured ? item.measured[name] : null);
const spokenOf = (item) => (item.same ? item.written : item.spoken) || "";
const hasFile = (item) => Boolean(item.out) && ["done", "unchanged", "removed"].includes(item.state);

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
  if (item.asked) parts.push(markCell(item));
  return parts;
}

function listOf(texts, name) {
  return element("ul", { class: name }, ...texts.map((text) => element("li", { dir: "auto" }, text)));
}

function writtenCell(item) {
  return [element("div", { class: "text written", dir: "auto" }, shortened(item.written))];
}

function spokenCell(item) {
  const heard = heardLine(item);
  const rest = heard ? [heard] : [];
  if (item.same || !item.spoken) return [element("span", { class: "muted" }, item.same ? "as written" : "–"), ...rest];
  return [element("div", { class: "text spoken", dir: "auto" }, shortened(item.spoken)), ...rest];
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
  if (item.heard) {
    texts.append(wholeText("Asked", spokenOf(item), item.heard, "gone", true), wholeText("Heard", item.heard, spokenOf(item), "new", true));
  }
  cell.append(texts, facts);
  if (item.takes && (item.takes.length > 1 || item.takes.some((take) => take.faults.length))) cell.append(takesTable(item.takes));
  return element("tr", { role: "row", class: "details" }, cell);
}

function wholeText(label, text, other, side, loose = false) {
  const body = element("div", { class: "text", dir: "auto", tabindex: "0", role: "region", "aria-label": label });
  showMarked(body, text, other, Math.max(text.length, other.length, 1), side, loose);
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
    ["Words misheard", typeof item.error_rate === "number" ? Math.round(100 * item.error_rate) + " %" : null],
    ["Device", item.device], ["Time to make", item.seconds ? clock(item.seconds) : null],
    ["Format", item.measured && `${grouped.format(item.measured.sample_rate_hz)} Hz, ${item.measured.channels === 1 ? "mono" : item.measured.channels + " channels"}`],
    ["Size", size === null ? null : size < 1e6 ? (size / 1e3).toFixed(1) + " kB" : (size / 1e6).toFixed(1) + " MB"],
    ["RMS", of("rms_db", " dB")], ["Gain", of("gain_db", " dB")], ["Limiter", of("limited_db", " dB")],
    ["Notes", item.measured && item.measured.notes.length ? listOf(item.measured.notes, "inline") : null],
    ...Object.entries(item.extra || {}),
  ];
}

function takesTable(takes) {
  const head = element("tr", {}, ...["Segment", "Attempt", "Seed", "Found", "Heard", "Kept"].map((name) => element("th", { scope: "col" }, name)));
  const rows = takes.slice(0, 500).map((take) => element("tr", {},
    element("td", {}, String(take.segment)), element("td", {}, String(take.attempt)), element("td", {}, take.seed),
    element("td", {}, element("bdi", {}, take.faults.join(", ") || "–")), element("td", { dir: "auto" }, take.heard || "–"), element("td", {}, take.kept ? "yes" : "no")));
  return element("table", { class: "plain takes" }, element("caption", {}, "Takes"), element("thead", {}, head), element("tbody", {}, ...rows));
}
