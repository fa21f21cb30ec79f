"""Reporting of matches that are not written out until somebody asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from augury.kernels.common.expanded import Expanded
from augury.kernels.common.segment import Segment, sample
from augury.kernels.common.selecting import SelectingReporting
from augury.runtime.matches import MatchSet
from augury.runtime.shared import SharedMatches


class SharedReporting(SelectingReporting):
    """Reporting that can leave matches in their segments."""

    def from_segments(self, segments: Sequence[Segment]) -> SharedMatches:
        """The matches of all segments, in their order."""
        return SharedMatches(
            self.positive,
            lambda: sum(sum(segment.totals(self.support)) for segment in segments),
            lambda: (batch for segment in segments for batch in self._batches(segment)),
            lambda size, seed: self.sampled(segments, size, seed),
            self.support.claim,
        )

    def sampled(self, segments: Sequence[Segment], size: int, seed: int | None) -> MatchSet:
        """Some of the matches, chosen uniformly."""
        parts = [self._matches(segments[s], found) for s, found in sample(self.support, segments, size, seed)]
        return MatchSet.concat(self.positive, parts)

    def _batches(self, segment: Segment) -> Iterator[MatchSet]:
        for some in segment.write_out(self.support):
            yield self._matches(segment, some)

    def _matches(self, segment: Segment, found: Expanded) -> MatchSet:
        return self.match_set(found, segment.rank, segment.time, segment.rows)
