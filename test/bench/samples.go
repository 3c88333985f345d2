package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// samples are the results of several runs of the same thing.
type samples []float64

func (s *samples) took(d time.Duration) { *s = append(*s, d.Seconds()) }

// median is the middle one, or the mean of the two in the middle.
func (s samples) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// spread tells median, range and number, so that nobody takes noise for a result.
func (s samples) spread(unit string) string {
	if len(s) == 0 {
		return "no run"
	}
	return fmt.Sprintf("median %.3g %s, %.3g to %.3g, n=%d", s.median(), unit, slices.Min(s), slices.Max(s), len(s))
}

// quantile is the smallest that so large a part of all does not exceed.
func (s samples) quantile(part float64) float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	return sorted[max(0, int(math.Ceil(part*float64(len(sorted))))-1)]
}
