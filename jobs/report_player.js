// One audio element for the whole page, made when the first item is played.

const PLAYED_BY_BROWSERS = new Set(["wav", "mp3", "flac", "ogg", "oga", "opus", "m4a", "m4b", "mp4", "aac", "webm"]);
const RAW_FORMATS = {
  sln: "s16le -ar 8000", slin: "s16le -ar 8000", raw: "s16le -ar 8000", sln12: "s16le -ar 12000",
  sln16: "s16le -ar 16000", sln24: "s16le -ar 24000", sln32: "s16le -ar 32000", sln44: "s16le -ar 44100",
  sln48: "s16le -ar 48000", ulaw: "mulaw -ar 8000", ul: "mulaw -ar 8000", mu: "mulaw -ar 8000", ulw: "mulaw -ar 8000",
  pcm: "mulaw -ar 8000", alaw: "alaw -ar 8000", al: "alaw -ar 8000", alw: "alaw -ar 8000", gsm: "gsm", g722: "g722",
};

// Address of an output relative to the page; null for a path that leaves the run folder.
function audioUrl(out) {
  const parts = out.split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..")) return null;
  return "./" + parts.map(encodeURIComponent).join("/");
}

function suffixOf(out) {
  const match = /\.([^./]+)$/.exec(out);
  return match ? match[1] : "";
}

// Upper-case .WAV is how phone systems name GSM, which no browser plays.
function isPlayable(out) {
  const suffix = suffixOf(out);
  return suffix !== "WAV" && PLAYED_BY_BROWSERS.has(suffix.toLowerCase()) && audioUrl(out) !== null;
}

function listenCommand(out) {
  const suffix = suffixOf(out);
  const format = suffix === "WAV" ? "" : RAW_FORMATS[suffix.toLowerCase()];
  if (format === undefined) return null;
  const quoted = "'" + out.replaceAll("'", "'\\''") + "'";
  return "ffplay -autoexit " + (format ? "-f " + format + " " : "") + quoted;
}

const player = {
  audio: null,
  item: null,
  onChange: () => {},
  onEnd: () => {},

  start(item) {
    if (!this.audio) this.make();
    if (this.item !== item) {
      const before = this.item;
      this.item = item;
      item.broken = false;
      this.audio.src = audioUrl(item.out);
      document.getElementById("dock").hidden = false;
      document.getElementById("dock-id").textContent = item.id;
      if (before) this.onChange(before);
    }
    this.audio.play().catch((error) => {
      // AbortError: another item was chosen before this one began. NotSupportedError comes with an error event.
      if (error.name !== "AbortError" && error.name !== "NotSupportedError") this.fail(String(error.message));
    });
  },

  make() {
    const audio = document.createElement("audio");
    audio.preload = "none";
    audio.controls = true;
    for (const event of ["play", "pause", "timeupdate", "seeked"]) {
      audio.addEventListener(event, () => this.item && this.onChange(this.item));
    }
    audio.addEventListener("ended", () => this.onEnd(this.item));
    audio.addEventListener("error", () => this.item && this.fail("The file is not beside this page, or is not one that this browser plays."));
    document.getElementById("dock-audio").append(audio);
    this.audio = audio;
  },

  fail(reason) {
    this.item.broken = reason;
    this.onChange(this.item);
  },

  toggle(item) {
    if (this.item === item && !this.audio.paused) this.audio.pause();
    else this.start(item);
  },

  seek(item, share) {
    this.start(item);
    const go = () => {
      if (this.item === item && isFinite(this.audio.duration)) this.audio.currentTime = share * this.audio.duration;
    };
    // Before its head is read a file has no length to seek in.
    if (this.audio.readyState >= HTMLMediaElement.HAVE_METADATA) go();
    else this.audio.addEventListener("loadedmetadata", go, { once: true });
  },

  close() {
    const before = this.item;
    if (!this.audio) return;
    this.item = null;
    this.audio.pause();
    this.audio.removeAttribute("src");
    document.getElementById("dock").hidden = true;
    if (before) this.onChange(before);
  },

  // Share of the item that has been played, 0 to 1; 0 for any other item.
  share(item) {
    if (this.item !== item || !this.audio) return 0;
    const length = this.audio.duration || (item.measured && item.measured.duration_s);
    return length ? Math.min(1, this.audio.currentTime / length) : 0;
  },

  isPlaying(item) {
    return this.item === item && this.audio !== null && !this.audio.paused;
  },
};
