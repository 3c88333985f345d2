package ops

import "time"

// Reporter hears what happens, as it happens. It never blocks for long and
// never decides. Implementations: terminal, plain lines, JSON lines, tests.
type Reporter interface {
	// Planned is called once, with the whole plan, before the first effect.
	Planned(Plan)
	// Started and Done bracket a performed step.
	Started(Step)
	Done(s Step, took time.Duration, err error)
	// Waiting is called on each change of what is waited for, and why.
	Waiting(s Step, why string)
	// Progress of a long step in bytes; total is 0 if unknown.
	Progress(s Step, bytes, total int64)
	// Note is a remark for the person.
	Note(text string)
}

// Silent is a Reporter that hears nothing.
type Silent struct{}

// The methods of Reporter.
func (Silent) Planned(Plan) {}

func (Silent) Started(Step) {}

func (Silent) Done(Step, time.Duration, error) {}

func (Silent) Waiting(Step, string) {}

func (Silent) Progress(Step, int64, int64) {}

func (Silent) Note(string) {}
