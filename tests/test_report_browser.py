"""report.html in a real browser, opened from the disk as a person opens it: plays, filters, and lets nothing run."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
import pytest
import report_examples
import soundfile
from report_browser import FACTS, browser, opened, until

from jobs.report import ItemRow, TakeRow

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["browser", "opened"]

JS_SAFE = "!'()*~"
"""What encodeURIComponent leaves as it is, besides letters, digits, and `-_.`."""
MEASURED = replace(
    report_examples.MEASURED, duration_s=1.0, sample_rate_hz=8_000, size_bytes=16_044, waveform=tuple(range(0, 101, 2))
)
ITEM = replace(report_examples.ITEM, measured=MEASURED)


def sound(folder: Path, out: str, *, seconds: float = 1.5, **options: Any) -> None:
    path = folder / out
    path.parent.mkdir(parents=True, exist_ok=True)
    wave = 0.3 * np.sin(np.arange(int(seconds * 8_000)) * 2 * np.pi * 440 / 8_000)
    soundfile.write(path, wave.astype(np.float32), 8_000, **options)


def until_playing(page: Page) -> None:
    until(page, "document.querySelector('audio')?.currentTime > 0.05")


MIXED = [
    replace(ITEM, line=1, id="a-10", voice="zm_yunyang", written="您的取件码是0307。", spoken="您的取件码是零三零七。"),
    replace(ITEM, line=2, id="a-9", measured=replace(MEASURED, duration_s=9.0), title="Opening hours"),
    replace(ITEM, line=3, id="b-1", state="failed", reason="silent in 3 takes", measured=None),
    replace(ITEM, line=4, id="b-2", state="unchanged", reason="nothing changed", warnings=("the end may be cut",)),
    replace(ITEM, line=5, id="b-3", state="skipped", reason="nothing to speak", measured=None, extra={"team": "Sales"}),
]


def test_shows_verdict_warnings_failures_and_rows(opened: Any) -> None:
    page = opened(MIXED, replace(FACTS, counts={"done": 2, "unchanged": 1, "failed": 1, "skipped": 1}))
    assert page.ids() == ["a-10", "a-9", "b-1", "b-2", "b-3"]
    assert page.page.locator("h1").inner_text() == "1 of 4 items failed"
    assert "silent in 3 takes" in page.page.locator(".failures").inner_text()
    banner = page.page.locator(".banner").bounding_box()
    headline = page.page.locator("h1").bounding_box()
    assert banner["y"] < headline["y"]
    assert page.page.locator("#count").inner_text() == "5 items"
    assert page.page.locator("#table").get_by_role("columnheader").count() == 11
    assert page.page.get_by_role("table").first.is_visible()


def test_marks_what_the_spoken_text_changed(opened: Any) -> None:
    page = opened(MIXED).page
    page.wait_for_selector("#rows mark")
    row = page.locator("#rows > tr").first
    assert row.locator("mark.gone").all_text_contents() == ["0307"]
    assert row.locator("mark.new").all_text_contents() == ["零三零七"]
    assert row.locator(".text.written").inner_text() == "您的取件码是0307。"


def test_filters_by_text_state_voice_and_need(opened: Any) -> None:
    page = opened(MIXED).page

    def shows(*ids: str) -> None:
        wanted = json.dumps(json.dumps(ids, separators=(",", ":")))
        until(
            page,
            f"JSON.stringify([...document.querySelectorAll('#rows .id')].map((id) => id.textContent)) === {wanted}",
        )

    page.fill("#find", "零三零七 yunyang")
    shows("a-10")
    assert page.locator("#count").inner_text() == "1 of 5 items"
    page.fill("#find", "sales")
    shows("b-3")
    page.fill("#find", "no such thing")
    shows()
    page.get_by_role("button", name="Show all items").click()
    shows("a-10", "a-9", "b-1", "b-2", "b-3")
    page.get_by_role("button", name="Failed 1").click()
    shows("b-1")
    page.get_by_role("button", name="Needs a look 2").click()
    shows("b-1", "b-2")
    page.get_by_role("button", name="All 5").click()
    page.select_option("#voice", "zm_yunyang")
    shows("a-10")


def test_sorts_by_any_column_numbers_as_numbers_and_missing_last(opened: Any) -> None:
    opened_page = opened(MIXED)
    page = opened_page.page
    page.get_by_role("button", name="Item", exact=True).click()
    assert opened_page.ids() == ["a-9", "a-10", "b-1", "b-2", "b-3"]
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="Item", exact=True).click()
    assert opened_page.ids() == ["b-3", "b-2", "b-1", "a-10", "a-9"]
    page.get_by_role("button", name="Length").click()
    assert opened_page.ids() == ["a-10", "b-2", "a-9", "b-1", "b-3"]
    page.get_by_role("button", name="Length").click()
    assert opened_page.ids() == ["a-9", "a-10", "b-2", "b-1", "b-3"]
    for heading in page.locator("#heads button").all():
        heading.click()
        assert sorted(opened_page.ids()) == ["a-10", "a-9", "b-1", "b-2", "b-3"]
    page.select_option("#sort", "warnings")
    assert opened_page.ids()[0] == "b-2"


PLAYABLE: dict[str, dict[str, Any]] = {
    "plain.wav": {},
    "24 bit.wav": {"subtype": "PCM_24"},
    "float.wav": {"subtype": "FLOAT"},
    "mu-law.wav": {"subtype": "ULAW"},
    "a-law.wav": {"subtype": "ALAW"},
    "x.mp3": {},
    "x.flac": {},
    "x.ogg": {},
    "x.opus": {"format": "OGG", "subtype": "OPUS"},
    "第1章/提示 #3?100%&'\"+;=[é].wav": {},
}


def test_plays_every_common_format_from_the_disk(opened: Any, tmp_path: Path) -> None:
    for out, options in PLAYABLE.items():
        sound(tmp_path, out, **options)
    page = opened([replace(ITEM, id=out, out=out) for out in PLAYABLE]).page
    assert page.locator("audio").count() == 0, "made only when it is needed"
    for out in PLAYABLE:
        page.get_by_role("button", name=f"Play {out}", exact=True).click()
        address = "/".join(quote(part, safe=JS_SAFE) for part in out.split("/"))
        assert page.evaluate("document.querySelector('audio').src").endswith("/" + address)
        until_playing(page)
        assert page.evaluate("document.querySelector('audio').duration") == pytest.approx(1.5, abs=0.1), out
        page.get_by_role("button", name=f"Pause {out}", exact=True).click()
        assert page.evaluate("document.querySelector('audio').paused"), out


def test_one_plays_at_a_time_and_plays_on_when_asked(opened: Any, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        sound(tmp_path, f"{name}.wav", seconds=0.4)
    rows = [replace(ITEM, line=n, id=name, out=f"{name}.wav") for n, name in enumerate(("one", "two", "three"))]
    rows.insert(2, replace(ITEM, id="raw", out="raw.sln"))
    page = opened(rows).page
    page.get_by_role("button", name="Play one").click()
    until_playing(page)
    page.get_by_role("button", name="Play two").click()
    until(page, "document.getElementById('dock-id').textContent === 'two'")
    assert page.locator("audio").count() == 1
    page.check("#through")
    until(page, "document.getElementById('dock-id').textContent === 'three'")
    until_playing(page)
    page.get_by_role("button", name="Close the player").click()
    assert page.locator("#dock").is_hidden()


def test_seeks_in_the_thumbnail(opened: Any, tmp_path: Path) -> None:
    sound(tmp_path, "greeting.wav", seconds=20)
    page = opened([ITEM]).page
    page.wait_for_selector(".wave svg path")
    box = page.locator(".wave").bounding_box()
    clicked = time.monotonic()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 5)
    until(page, "document.querySelector('audio')?.currentTime > 9.5")
    position = page.evaluate("document.querySelector('audio').currentTime")
    assert position - (time.monotonic() - clicked) > 5, "it came there by a jump, not by playing on"
    assert position < 15


def test_phone_formats_get_a_hint_instead_of_a_broken_player(opened: Any) -> None:
    outs = ["x.sln", "x.ulaw", "x.alaw", "x.sln16", "x.gsm", "x.g722", "x.WAV"]
    page = opened([replace(ITEM, out=out) for out in outs]).page
    assert page.locator(".play").count() == 0
    page.evaluate("document.querySelectorAll('.more').forEach((button) => button.click())")
    hints = page.locator("#rows .hint").all_inner_texts()
    commands = page.locator(".details code").all_inner_texts()
    for out, hint, command in zip(outs, hints, commands, strict=True):
        assert f"Browsers do not play .{out.split('.')[1]}" in hint
        assert command.startswith("ffplay ") and command.endswith(f"'{out}'")


def test_a_missing_file_is_named_as_missing(opened: Any) -> None:
    opened_page = opened([ITEM])
    opened_page.may_complain = True
    page = opened_page.page
    page.get_by_role("button", name="Play greeting").click()
    page.wait_for_selector(".problem:visible")
    assert "not beside this page" in page.locator(".problem").inner_text()


def test_no_path_leaves_the_run_folder(opened: Any) -> None:
    page = opened([replace(ITEM, out=out) for out in ("../x.wav", "/etc/x.wav", "a//x.wav", "./x.wav")]).page
    page.evaluate("document.querySelectorAll('.more').forEach((button) => button.click())")
    assert page.locator(".details").count() == 4
    assert page.locator(".play, .details a").count() == 0


def test_addresses_that_look_like_schemes_stay_files(opened: Any) -> None:
    page = opened([replace(ITEM, out="javascript:alert(1).wav")]).page
    page.get_by_role("button", name="greeting", exact=True).click()
    assert page.locator(".details a").get_attribute("href") == "./javascript%3Aalert(1).wav"


HOSTILE = [
    "</script><img src=x onerror=\"alert('hacked')\">",
    "<!--<script>alert('hacked')</script>-->",
    "<svg onload=alert('hacked')>",
    "{{ alert('hacked') }} ${alert('hacked')} `",
    "\u202egnp.exe\u202c \u2066abc \u2028line\u2029",
    "'\"><iframe src=javascript:alert('hacked')>",
    "\x00\x07\x1b[31m\ufeff\ufffe",
]


def hostile(text: str) -> ItemRow:
    return replace(
        ITEM,
        id=text,
        reason=text,
        out=text + ".wav",
        title=text,
        written=text,
        spoken=text + "x",
        voice=text,
        instruction=text,
        warnings=(text,),
        extra={text: text, "__proto__": text},
        device=text,
        takes=(TakeRow(0, 0, 1, (text,), True, text, 0.5),),
        measured=replace(MEASURED, notes=(text,)),
        heard=text,
        error_rate=0.5,
        asked={text: text, "__proto__": text},
    )


def test_hostile_text_is_only_text(opened: Any) -> None:
    rows = [hostile(text) for text in HOSTILE]
    rows += [replace(row, id="failed " + row.id, state="failed", measured=None) for row in rows]
    all_of_it = "".join(HOSTILE)
    facts = replace(
        FACTS,
        manifest=all_of_it,
        warnings=tuple(HOSTILE),
        engine=dict(zip(HOSTILE, HOSTILE, strict=True)),
        command=all_of_it,
        lexicon_unused=tuple(HOSTILE),
    )
    page = opened(rows, facts).page
    page.select_option("#sort", "line")
    page.evaluate("document.querySelectorAll('.more').forEach((button) => button.click())")
    assert page.locator(".details").count() == len(rows)
    page.wait_for_timeout(300)
    assert page.locator("img, iframe, [onerror], [onload]").count() == 0
    assert page.locator("body script").count() == 2
    for selector in ("#rows .more .id", "#rows .text.written", ".details .text[aria-label=Written]"):
        assert page.locator(selector).all_text_contents()[: len(HOSTILE)] == HOSTILE, selector


def test_directional_overrides_stay_inside_their_own_text(opened: Any) -> None:
    page = opened([replace(ITEM, id="\u202eabc", title="\u202edef")]).page
    for selector in ("#rows .more .id", "#rows .title", "#rows .text.written", "#rows .file bdi"):
        style = page.locator(selector).first.evaluate("(element) => getComputedStyle(element).unicodeBidi")
        assert style in ("isolate", "isolate-override", "plaintext"), selector


def test_the_policy_refuses_foreign_script_style_and_network(opened: Any) -> None:
    opened_page = opened([ITEM])
    opened_page.may_complain = True
    refused = opened_page.page.evaluate(
        """async () => {
          const refused = [];
          document.addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
          const script = document.createElement("script");
          script.textContent = "window.hacked = true";
          document.body.append(script);
          const image = "<img src='https://example.invalid/x.png' onerror='window.hacked = true'>";
          document.body.insertAdjacentHTML("beforeend", image);
          document.body.insertAdjacentHTML("beforeend", "<p style='color: red'>x</p>");
          await fetch("https://example.invalid/x").catch(() => {});
          await new Promise((done) => setTimeout(done, 200));
          return { refused, hacked: window.hacked === true };
        }"""
    )
    assert not refused["hacked"]
    directives = " ".join(refused["refused"])
    for directive in ("script-src-elem", "img-src", "style-src-attr", "connect-src"):
        assert directive in directives


def test_keys_move_play_and_open(opened: Any, tmp_path: Path) -> None:
    for n in range(60):
        sound(tmp_path, f"{n}.wav", seconds=0.2)
    page = opened([replace(ITEM, line=n, id=f"item-{n}", out=f"{n}.wav") for n in range(60)]).page
    current = "document.querySelector('#rows > tr[tabindex=\"0\"] .id').textContent"
    page.keyboard.press("j")
    assert page.evaluate(current) == "item-0"
    page.keyboard.press("j")
    assert page.evaluate(current) == "item-1"
    page.keyboard.press("k")
    assert page.evaluate(current) == "item-0"
    page.keyboard.press("Space")
    until(page, "document.getElementById('dock-id').textContent === 'item-0'")
    until_playing(page)
    page.keyboard.press("Enter")
    assert page.locator(".details").count() == 1
    page.keyboard.press("Enter")
    assert page.locator(".details").count() == 0
    for _ in range(52):
        page.keyboard.press("j")
    assert page.evaluate(current) == "item-52"
    assert page.locator("#page").inner_text() == "Page 2 of 2"
    for _ in range(60):
        page.keyboard.press("j")
    assert page.evaluate(current) == "item-59"
    page.keyboard.press("/")
    page.keyboard.type("jk item-7")
    assert page.input_value("#find") == "jk item-7", "keys are text while typing"
    page.keyboard.press("Escape")
    assert page.input_value("#find") == ""
    assert page.locator("#count").inner_text() == "60 items"


def test_details_show_what_was_measured_and_every_take(opened: Any) -> None:
    takes = (TakeRow(0, 0, 7, ("too_long",), False), TakeRow(0, 1, 2**62 + 1))
    page = opened([replace(ITEM, takes=takes, retries=1, extra={"team": "Sales"}, instruction="softly")]).page
    toggle = page.get_by_role("button", name="greeting", exact=True)
    toggle.click()
    assert toggle.get_attribute("aria-expanded") == "true"
    details = page.locator(".details").inner_text()
    for text in ("−22.0 dB", "8,000 Hz, mono", "16.0 kB", "softly", "team", "Sales", "too_long", str(2**62 + 1)):
        assert text in details


def test_very_long_text_is_shortened_and_can_be_read_whole(opened: Any) -> None:
    text = "这是第1句话，" * 25_000
    unbroken = "x" * 5_000
    rows = [replace(ITEM, id="long", written=text, spoken=text.replace("1", "一")), replace(ITEM, id=unbroken)]
    page = opened(rows).page
    assert len(page.locator("#rows .text.written").first.inner_text()) < 300
    page.locator("#rows .more").first.click()
    assert page.locator(".details .text").first.text_content() == text
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_fits_the_width_of_a_phone_a_tablet_and_a_laptop(opened: Any, width: int) -> None:
    rows = [*MIXED, replace(ITEM, id="id" * 60, voice="v" * 80, out="o" * 200 + ".wav", written="字" * 300)]
    page = opened(rows, replace(FACTS, command="x" * 500), viewport={"width": width, "height": 800}).page
    page.locator("#rows .more").last.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width < 1000:
        assert page.locator("#rows .controls").first.bounding_box()["width"] > width * 0.8


def test_three_thousand_items_open_within_a_second(opened: Any) -> None:
    rows = [
        replace(ITEM, line=n, id=f"item-{n}", measured=replace(MEASURED, waveform=(50,) * 160)) for n in range(3_000)
    ]
    opened_page = opened(rows)
    page = opened_page.page
    loads = []
    for _ in range(3):
        page.reload()
        page.wait_for_selector("#rows > tr")
        loads.append(page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
    assert page.locator("#rows > tr").count() == 50
    assert page.locator("#page").inner_text() == "Page 1 of 60"
    page.get_by_role("button", name="Next →").click()
    assert opened_page.ids()[0] == "item-50"
    assert min(loads) < 1_000, loads
    took = page.evaluate(
        "() => { const t = performance.now(); view.find = '299'; update(); return performance.now() - t; }"
    )
    assert took < 500
    assert page.locator("#count").inner_text() == "13 of 3,000 items"


def test_the_head_reads_without_any_script(opened: Any) -> None:
    page = opened(MIXED, replace(FACTS, counts={"done": 2, "failed": 1}), java_script_enabled=False).page
    text = page.locator("body").inner_text()
    for expected in ("1 of 3 items failed", "The embedded voice spoke everything.", "silent in 3 takes", "report.csv"):
        assert expected in text


COLOURS = (
    *("page", "card", "ink", "muted", "soft", "accent", "accent-ink"),
    *("good", "good-soft", "bad", "bad-soft", "warn", "warn-soft", "gone", "new"),
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_colour_schemes(opened: Any, scheme: str) -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1, on the pairs of colours that the style uses for text."""
    page = opened([ITEM], color_scheme=scheme).page
    colours = page.evaluate(
        """(names) => {
          const style = getComputedStyle(document.documentElement);
          return names.map((name) => style.getPropertyValue("--" + name).trim());
        }""",
        list(COLOURS),
    )
    colour = dict(zip(COLOURS, colours, strict=True))
    pairs = [
        *[("ink", back) for back in ("page", "card", "soft", "gone", "new")],
        *[("muted", back) for back in ("page", "card", "soft")],
        *[("bad", back) for back in ("page", "card", "bad-soft")],
        *[("good", "good-soft"), ("warn", "warn-soft"), ("warn", "card"), ("accent", "soft"), ("accent-ink", "accent")],
    ]
    for text, back in pairs:
        assert contrast(colour[text], colour[back]) >= 4.5, (text, back)


def contrast(first: str, second: str) -> float:
    def luminance(colour: str) -> float:
        assert re.fullmatch("#[0-9a-f]{6}", colour)
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_difference_is_a_shortest_and_true_one(opened: Any) -> None:
    """Random pairs: without the marked words both texts are the same, and no shorter difference exists."""
    page = opened([ITEM]).page
    wrong = page.evaluate(
        """() => {
          let state = 7;
          const random = (n) => (state = (state * 1103515245 + 12345) % 2147483648) % n;
          const longest = (a, b) => {
            let row = new Array(b.length + 1).fill(0);
            for (const x of a) {
              const next = [0];
              for (let j = 1; j <= b.length; j++) {
                next.push(x === b[j - 1] ? row[j - 1] + 1 : Math.max(row[j], next[j - 1]));
              }
              row = next;
            }
            return row[b.length];
          };
          for (let round = 0; round < 3000; round++) {
            const words = (length) => Array.from({ length }, () => "abc"[random(3)]);
            const [a, b] = [words(random(14)), words(random(14))];
            const [inA, inB] = differences(a, b);
            const keptA = a.filter((_, i) => !inA[i]);
            const keptB = b.filter((_, i) => !inB[i]);
            if (keptA.join() !== keptB.join() || keptA.length !== longest(a, b)) return [a, b, keptA, keptB];
          }
          return null;
        }"""
    )
    assert wrong is None
