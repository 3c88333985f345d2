package ops

// Severity is how grave a finding is.
type Severity string

// The severities. A warning costs nothing yet, and names what would.
const (
	OK   Severity = "OK"
	Warn Severity = "WARN"
	Fail Severity = "FAIL"
)

// Finding is the outcome of one examination.
type Finding struct {
	Severity Severity `json:"severity"`
	// Subject is what was examined, for example "quorum" or "member my-db-2".
	Subject string `json:"subject"`
	// What was found, one sentence without a full stop.
	What string `json:"what"`
	// Evidence is what that rests on, one observation each.
	Evidence []string `json:"evidence,omitempty"`
	// Remedy is what to do, in this order: a command, or a deed in words.
	Remedy []string `json:"remedy,omitempty"`
}

// Count returns how many of the findings have that severity.
func Count(all []Finding, s Severity) int {
	n := 0
	for _, f := range all {
		if f.Severity == s {
			n++
		}
	}
	return n
}
