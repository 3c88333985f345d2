package ops

import (
	"time"
)

// How often an unexpected failure of a step or an observation is tried again
// before it counts, and how long the whole may take.
const (
	Attempts       = 6
	OutageDeadline = time.Minute
	FirstBackoff   = 200 * time.Millisecond
)
