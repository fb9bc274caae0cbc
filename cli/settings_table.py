"""The options that fill `Settings`: flags of commands, and keys of the config file. The default stands there."""

from __future__ import annotations

from collections.abc import Mapping

from cli.options import Option

SPEAKING: Mapping[str, Option] = {
    "profile": Option("Output profile of rows that name none, see `profiles list`.", "Sound", "-p"),
    "voice": Option("Voice of rows that name none.", "Sound", default="a stock voice of the language"),
    "language": Option("Language of rows that name none, as an ISO code.", "Text", "-l", default="by script"),
    "date_order": Option("How 12/05/2024 is read: `mdy` (December) or `dmy` (May).", "Text"),
    "lexicon": Option("Pronunciations: a TSV or CSV of written form, reading, language.", "Text", metavar="FILE"),
    "engine": Option("Engine: `auto`, or a name from `models list`.", "Engine", "-e"),
    "model": Option(
        "CosyVoice model: a folder, or a name that `models pull` knows.",
        "Engine",
        "-m",
        default="COSYVOICE_BATCH_MODEL, else one that was pulled",
        metavar="FOLDER|NAME",
        kind=str,
    ),
    "devices": Option(
        "Devices to use: `auto`, `cpu`, `cuda`, `cuda:0,2`, `npu:*`, `mlu:0` …; `devices` lists them.", "Engine"
    ),
    "precision": Option("Number format: `auto`, `fp32`, `bf16`, `fp16` or `int8`.", "Engine"),
    "threads": Option("CPU threads per worker.", "Engine", between=(1, 1024)),
    "strict": Option("End with exit code 4 where something lesser would be used instead.", "Failures"),
    "profiles_folder": Option("Folder with profiles of your own.", "Sound", metavar="FOLDER"),
    "voices_folder": Option("Another folder of voices.", "Sound", default="own voices only", metavar="FOLDER"),
    "segmenter_model": Option(
        "Folder of the pkuseg model.", "Text", default="where `models pull pkuseg` puts it", metavar="FOLDER"
    ),
}
"""How items are spoken: `run`, `check` and `say`."""

PLANNING: Mapping[str, Option] = {
    "out": Option("Run folder: outputs, journal and report.", "Files", "-o", default="MANIFEST-out", metavar="FOLDER"),
    "encoding": Option("Encoding of the manifest.", "Files", default="detected"),
    "empty": Option("Rows with nothing to speak: `error`, `skip` (no file) or `silence` (a silent file).", "Text"),
    "seed": Option(
        "Start of the random stream of rows that name none; another seed gives another take.",
        "Sound",
        between=(0, 2**63 - 1),
    ),
    "fresh": Option("Make every item again.", "Selection"),
    "only": Option("Make only items whose id matches this pattern, such as 'menu-*'.", "Selection", default="all"),
    "limit": Option("Make at most so many items.", "Selection", default="all", between=(1, 1_000_000_000)),
    "min_free_memory": Option(
        "GiB that must be free on an accelerator.",
        "Engine",
        default="what the engine needs",
        metavar="GIB",
        between=(0, 4096),
    ),
    "cpu_fallback": Option(
        "Let the CPU go on when no accelerator is left.", "Engine", flag="--cpu-fallback/--no-cpu-fallback"
    ),
    "workers": Option("Worker processes on the CPU.", "Engine", default="CPU cores / threads", between=(1, 1024)),
    "workers_per_device": Option(
        "Workers on each accelerator.", "Engine", default="by free memory, at most 4", between=(1, 64)
    ),
}
"""Which items there are and what is made of them: `run` and `check`."""

JUDGING: Mapping[str, Option] = {
    "takes": Option(
        "Attempts at a segment, each with its own seed, before its item fails.", "Failures", between=(1, 100)
    ),
    "bad_takes": Option("What to do with a take that is still bad: `fail` the item or `keep` it flagged.", "Failures"),
    "verify": Option("Listen to every take: `none`, or `asr` (speech recognition, needs --verify-model).", "Quality"),
    "verify_model": Option("Whisper model for --verify asr: a CTranslate2 folder.", "Quality", metavar="FOLDER"),
    "verify_threshold": Option(
        "Share of wrong words above which a take was not understood.",
        "Quality",
        default="the profile's",
        between=(0, 1),
    ),
    "verify_policy": Option(
        "A segment of which no take is understood: `flag` keeps the best one, `fail` fails its item.", "Quality"
    ),
    "listeners": Option(
        "Most processes that listen to takes.",
        "Quality",
        default="one for every four cores, 16 at most",
        between=(1, 1024),
    ),
    "timbre_threshold": Option(
        "Likeness of a take's voice to its reference, below which it is made again; 0: not compared.",
        "Quality",
        between=(0, 1),
    ),
}
"""What becomes of takes: `run` and `say`."""

RUNNING: Mapping[str, Option] = {
    "keep_going": Option("Make the good rows of a manifest that has bad ones.", "Failures"),
    "max_failures": Option("Stop after so many failed items.", "Failures", default="never", between=(1, 1_000_000_000)),
    "prune": Option("Delete files of earlier runs that no row asks for any more.", "Selection"),
    "wait_s": Option("Seconds to wait for another run on the same folder.", "Files", flag="--wait", between=(0, 1e7)),
    "heartbeat_s": Option(
        "Seconds without progress after which a worker counts as hung.", "Engine", flag="--heartbeat", between=(5, 1e6)
    ),
    "recycle_memory": Option(
        "GiB of memory after which a worker is replaced.",
        "Engine",
        default="when it has doubled",
        metavar="GIB",
        between=(0.1, 4096),
    ),
    "metrics_file": Option(
        "Figures for Prometheus (a .prom file for node_exporter), renewed every 10 seconds.", "Files", metavar="FILE"
    ),
}
"""How a run goes on: `run`."""

ALL: Mapping[str, Option] = {**SPEAKING, **PLANNING, **JUDGING, **RUNNING}
