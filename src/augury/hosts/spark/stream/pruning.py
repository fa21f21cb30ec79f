"""Removal of versions of rules that no micro-batch of a stream can need any more.

Spark records in its checkpoint which files a micro-batch reads (`sources`, by numbered entries), up to which entry it
reads (`offsets`), and when it has ended (`commits`). A micro-batch that has ended is not run again, and the rules that
it used are in the state of its buckets, so the versions of its entries and earlier ones are not read again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from augury.arguments import path, unusable, whole
from augury.engine.rules.versions import remove
from augury.errors import HostError

MARGIN = 100
"""Completed micro-batches whose versions are kept: as many as Spark keeps itself, to be able to go back to."""

LOG_HEADER = "v1"
"""The first line of each file of a checkpoint, in the format supported here."""


def prune_rules(
    versions: str | os.PathLike[str],
    checkpoints: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    margin: int = MARGIN,
) -> list[int]:
    """Remove the versions of rules that no stream can need any more; returns their numbers.

    `checkpoints` are those of all streams that read the folder, including stopped ones: folders on a disk that is
    mounted here. Versions read by the last `margin` micro-batches are kept, and so is the last version. It may be
    called while the streams run. A checkpoint in an unknown format is an error, and nothing is removed.
    """
    folder = path("versions", versions).absolute()
    kept = whole(margin)
    if kept is None or kept < 0:
        raise unusable("margin", "a number of micro-batches, 0 or more", margin)
    given = [checkpoints] if isinstance(checkpoints, str | os.PathLike) else list(checkpoints)
    if not given:
        raise _not_understood("none is given")
    read = [_read_before(path("checkpoints", one).absolute(), folder, kept) for one in given]
    return remove(folder, frozenset.intersection(*read))


def _read_before(checkpoint: Path, folder: Path, margin: int) -> frozenset[int]:
    """The versions that a stream has read, and will not read again."""
    if not (checkpoint / "offsets").is_dir():
        raise _not_understood(f"`{checkpoint}` is none")
    try:
        ended = sorted(int(file.name) for file in (checkpoint / "commits").glob("[0-9]*") if file.name.isdigit())
        if len(ended) <= margin:
            return frozenset()
        reached = _last_entries(checkpoint / "offsets" / str(ended[-1 - margin]))
        sources = [dict(_entries(checkpoint / "sources" / str(k))) for k in range(len(reached))]
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise _not_understood(f"`{checkpoint}` cannot be read: {e}") from e
    places = {folder, folder.resolve()}
    here = [
        (files, upto) for files, upto in zip(sources, reached, strict=True) if any(f.parent in places for f in files)
    ]
    if len(here) != 1:
        raise _not_understood(f"`{checkpoint}` is not of a stream that reads `{folder}`")
    ((files, upto),) = here
    # Versions not recorded yet, or recorded for a later micro-batch, are needed.
    return frozenset(int(file.stem) for file, entry in files.items() if entry <= upto and file.stem.isdigit())


def _last_entries(offsets: Path) -> list[int]:
    """The last entry of each source that a micro-batch reads, -1 for none."""
    header, _, *texts = offsets.read_text(encoding="utf-8").splitlines()
    if header != LOG_HEADER:
        raise ValueError(f"its offsets are of format {header!r}")
    stated = [None if text == "-" else json.loads(text) for text in texts]
    return [int(offset.get("logOffset", -1)) if isinstance(offset, dict) else -1 for offset in stated]


def _entries(source: Path) -> Iterator[tuple[Path, int]]:
    """The files that a source has listed, with the number of their entry; nothing for sources that are not files."""
    for log in sorted(source.glob("[0-9]*")) if source.is_dir() else ():
        header, *lines = log.read_text(encoding="utf-8").splitlines()
        for line in lines if header == LOG_HEADER else ():
            stated = json.loads(line)
            if isinstance(stated, dict) and "path" in stated:
                yield Path(unquote(urlparse(stated["path"]).path)), int(stated["batchId"])


def _not_understood(why: str) -> HostError:
    return HostError(
        "A685",
        f"a checkpoint is not understood, so no version of rules is removed: {why}",
        "give checkpoints=..., those of all streams that read these versions",
    )
