"use strict";
// What differs between the written text and the spoken one, by words (one character a word where the script has no
// spaces). Shortest edit script after Myers, "An O(ND) Difference Algorithm and Its Variations" (1986).

const UNSPACED = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}";
const TOKEN = new RegExp(`\\s+|(?:(?![${UNSPACED}])[\\p{L}\\p{M}\\p{N}])+|[^]`, "gu");
const WORD = /[\p{L}\p{N}]/u;
const MAX_EDITS = 1500;
const MAX_CHARACTERS = 60000;

function tokens(text) {
  return text.match(TOKEN) || [];
}

function sameToken(a, b) {
  return a === b || (/^\s/.test(a) && /^\s/.test(b));
}

// [differs in a, differs in b], one flag a token; null if the texts are too far apart to be worth marking.
function differences(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && sameToken(a[head], b[head])) head++;
  let tail = 0;
  const room = Math.min(a.length, b.length) - head;
  while (tail < room && sameToken(a[a.length - 1 - tail], b[b.length - 1 - tail])) tail++;
  const n = a.length - head - tail;
  const m = b.length - head - tail;
  const inA = new Uint8Array(a.length);
  const inB = new Uint8Array(b.length);
  const trail = furthestPaths((x, y) => sameToken(a[head + x], b[head + y]), n, m);
  if (!trail) return null;
  for (let x = n, y = m, edits = trail.length - 1; edits > 0; edits--) {
    const reach = trail[edits - 1];
    const k = x - y;
    const middle = edits - 1;
    const down = k === -edits || (k !== edits && at(reach, middle, k - 1) < at(reach, middle, k + 1));
    const before = down ? at(reach, middle, k + 1) : at(reach, middle, k - 1);
    if (down) inB[head + before - (k + 1)] = 1;
    else inA[head + before] = 1;
    x = before;
    y = before - (down ? k + 1 : k - 1);
  }
  return [slidLeft(a, inA), slidLeft(b, inB)];
}

// Moves each marked run left as far as its text allows, so that what was put in stands where the other was taken out.
function slidLeft(words, flags) {
  for (let start = 1; start < words.length; start++) {
    if (!flags[start] || flags[start - 1]) continue;
    let end = start;
    while (end < words.length && flags[end]) end++;
    const next = end;
    for (let from = start; from > 0 && !flags[from - 1] && sameToken(words[from - 1], words[end - 1]); from--, end--) {
      flags[from - 1] = 1;
      flags[end - 1] = 0;
    }
    start = next;
  }
  return flags;
}

// How far along `a` each diagonal gets, after 0, 1, 2, … edits, until both texts are used up.
function furthestPaths(same, n, m) {
  const trail = [];
  for (let edits = 0; edits <= Math.min(n + m, MAX_EDITS); edits++) {
    const reach = new Int32Array(2 * edits + 1).fill(-1);
    trail.push(reach);
    for (let k = -edits; k <= edits; k += 2) {
      if (k > n || -k > m) continue;
      let x = 0;
      if (edits > 0) {
        const previous = trail[edits - 1];
        const left = at(previous, edits - 1, k - 1);
        const right = at(previous, edits - 1, k + 1);
        x = k === -edits || (k !== edits && left < right) ? right : left + 1;
      }
      while (x < n && x - k < m && same(x, x - k)) x++;
      reach[k + edits] = x;
      if (x >= n && x - k >= m) return trail;
    }
  }
  return null;
}

function at(reach, middle, k) {
  const value = reach[k + middle];
  return value === undefined ? -1 : value;
}

// A recogniser's capitals and punctuation are its own: only words count.
function asHeard(token) {
  return WORD.test(token) ? token.toLowerCase() : " ";
}

// Fill `element` with `text`, the words that `other` lacks marked. Shows `limit` characters at most.
// Returns true if something was left out.
function showMarked(element, text, other, limit, side, loose = false) {
  element.textContent = "";
  const window_ = Math.min(2 * limit, MAX_CHARACTERS);
  const mine = tokens(text.slice(0, window_));
  const theirs = tokens(other.slice(0, window_));
  const [ours, others] = loose ? [mine.map(asHeard), theirs.map(asHeard)] : [mine, theirs];
  const result = limit > MAX_CHARACTERS && text.length > MAX_CHARACTERS ? null : differences(ours, others);
  const whole = limit >= text.length;
  if (!result) {
    element.textContent = whole ? text : cut(text, limit) + "…";
    return !whole;
  }
  const flags = loose ? result[0].map((differs, i) => (WORD.test(mine[i]) ? differs : 0)) : result[0];
  let shown = 0;
  for (let i = 0; i < mine.length && shown < limit; ) {
    let run = "";
    const marked = flags[i];
    while (i < mine.length && flags[i] === marked && shown < limit) {
      run += mine[i];
      shown += mine[i].length;
      i++;
    }
    if (shown > limit) run = cut(run, run.length - (shown - limit));
    if (marked && /\S/.test(run)) {
      const mark = document.createElement("mark");
      mark.className = side;
      mark.textContent = run;
      element.append(mark);
    } else {
      element.append(run);
    }
  }
  if (!whole) element.append("…");
  return !whole;
}

// The first `length` UTF-16 units of a text, never half a character.
function cut(text, length) {
  const code = text.charCodeAt(length - 1);
  return text.slice(0, code >= 0xd800 && code < 0xdc00 ? length - 1 : length);
}
