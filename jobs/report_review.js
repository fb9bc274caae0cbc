// Review: items are marked `ok` or `redo` by key, the marks stay in this browser, the redos leave as a manifest.

const REVIEW_KEY = "cosyvoice-batch review " + document.querySelector("main").dataset.run;
const MARKS = { o: "ok", r: "redo" };
const isFlagged = (item) => (item.takes || []).some((take) => take.kept && take.faults.length) ||
  item.warnings.some((text) => text.includes("listen to it"));

const review = {
  marks: {},
  kept: true,

  load() {
    try {
      const found = JSON.parse(localStorage.getItem(REVIEW_KEY) || "{}");
      for (const [id, mark] of Object.entries(found)) if (mark === "ok" || mark === "redo") this.marks[id] = mark;
    } catch {
      this.kept = false;
    }
  },

  mark(item, mark) {
    if (this.marks[item.id] === mark) delete this.marks[item.id];
    else this.marks[item.id] = mark;
    try {
      localStorage.setItem(REVIEW_KEY, JSON.stringify(this.marks));
    } catch {
      this.kept = false;
    }
  },

  of(item) {
    return Object.hasOwn(this.marks, item.id) ? this.marks[item.id] : "";
  },
};

function showReview() {
  const count = (mark) => items.filter((item) => review.of(item) === mark).length;
  byId("marked").textContent = `${grouped.format(count("ok"))} ok, ${grouped.format(count("redo"))} to redo` +
    (review.kept ? "" : " (this browser keeps no marks: download before you close the page)");
  byId("redo").disabled = count("redo") === 0;
}

function markCell(item) {
  const group = element("div", { class: "marks", role: "group", "aria-label": "Mark " + item.id });
  for (const mark of Object.values(MARKS)) {
    const button = element("button", { type: "button", class: "mark " + mark, "aria-pressed": String(review.of(item) === mark) }, mark);
    button.addEventListener("click", () => choose(item, () => setMark(item, mark)));
    group.append(button);
  }
  return group;
}

function setMark(item, mark) {
  review.mark(item, mark);
  const row = rowOf.get(item);
  if (row) for (const button of row.querySelectorAll(".marks .mark")) button.setAttribute("aria-pressed", String(button.classList.contains(review.of(item) || "none")));
  showReview();
}

// A seed that differs from the item's own, small enough for every reader of JSON.
function newSeed(item) {
  const drawn = crypto.getRandomValues(new Uint32Array(1))[0];
  return String(drawn) === item.seed ? drawn + 1 : drawn;
}

function redoManifest() {
  return items.filter((item) => review.of(item) === "redo" && item.asked).map((item) =>
    JSON.stringify({ ...item.extra, id: item.id, text: item.written, ...item.asked, seed: newSeed(item) }) + "\n").join("");
}

function downloadRedo() {
  const address = URL.createObjectURL(new Blob([redoManifest()], { type: "application/jsonl" }));
  const link = element("a", { href: address, download: "redo.jsonl" });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// What was heard against what was asked, in an item's cell.
function heardLine(item) {
  if (!item.heard || !item.error_rate) return null;
  const body = element("span", { dir: "auto", class: "text was-heard" });
  showMarked(body, item.heard, spokenOf(item), SHORT, "new", true);
  return element("div", { class: "hearing" }, element("span", { class: "label" }, `Heard (${Math.round(100 * item.error_rate)} % wrong)`), body);
}
