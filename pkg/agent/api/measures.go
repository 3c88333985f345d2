package api

import (
	"context"
	"time"
)

// Meter is what the service needs of a driver whose server tells more of itself than the protocol asks for.
type Meter interface {
	// Measure asks the server. What it does not tell stays empty. An error means that it did not answer.
	Measure(ctx context.Context) (Measures, error)
}

// Measures are what a server tells of its load and of its data, for people.
type Measures struct {
	// DataBytes is the size of the data on the volume, with the log; MostBytes the most that the data may take, where
	// the server has a limit.
	DataBytes int64 `json:"dataBytes,omitempty"`
	MostBytes int64 `json:"mostBytes,omitempty"`
	// Readings are other values, in the order in which they are shown.
	Readings []Reading `json:"readings,omitempty"`
	// Details are further ones, which only a wide status shows.
	Details []Reading `json:"details,omitempty"`
	// Warnings are what a person should do something about, each in one sentence without a full stop.
	Warnings []string `json:"warnings,omitempty"`
	// ArchivedUntil is the time of the last commit that the archive of the log has without a gap; zero if that is not
	// known, as of an agent that started since, or is older.
	ArchivedUntil time.Time `json:"archivedUntil,omitzero"`
	// ArchivedSince is from when on the agent saw that nothing is missing there; zero for a server that lets no part of
	// its log go that is not archived.
	ArchivedSince time.Time `json:"archivedSince,omitzero"`
	// OnlyHere is what a primary loses when another member takes over, each in a few words.
	OnlyHere []string `json:"onlyHere,omitempty"`
	// Overridden are settings that somebody set on this server alone, past what the members agree on.
	Overridden []string `json:"overridden,omitempty"`
	// Closed are databases that let nobody in: another cluster took over, or a person closed them.
	Closed []string `json:"closed,omitempty"`
	// Obstacles are what data is not converted with to another major version.
	Obstacles []Obstacle `json:"obstacles,omitempty"`
	// Missing is what could not be measured, each with the reason: nothing can be concluded of it.
	Missing []string `json:"missing,omitempty"`
	// Stale says why the server did not answer at all; "" if it did. What safety needs is of its last answer then, if
	// there was one.
	Stale string `json:"stale,omitempty"`
}

// Obstacle is something that a person ends by one of some statements.
type Obstacle struct {
	// What names it in a few words.
	What string `json:"what"`
	// Database is where the statements are carried out; "" is any.
	Database string `json:"database,omitempty"`
	// Statements are those of which one ends it.
	Statements []string `json:"statements"`
}

// Miss notes what could not be measured, and why.
func (m *Measures) Miss(what string, why error) {
	m.Missing = append(m.Missing, what+": "+brief(why.Error()))
}

// stale is what holds of an answer until there is another one.
func (m Measures) stale(why error) Measures {
	return Measures{Warnings: m.Warnings, OnlyHere: m.OnlyHere, Overridden: m.Overridden, Closed: m.Closed,
		Obstacles: m.Obstacles, ArchivedUntil: m.ArchivedUntil, ArchivedSince: m.ArchivedSince,
		Stale: brief(why.Error())}
}

const (
	// measureTimeout bounds one question: status is not to wait for a server that is busy.
	measureTimeout = time.Second
	// measureAge is how old an answer may be. Frequent questions cost the server nothing more.
	measureAge = 5 * time.Second
)

// measured is the last answer, and when the server was asked for it, with which settings.
type measured struct {
	asked    time.Time
	settings uint64
	answer   Measures
	// good is the last answer of the server itself.
	good Measures
}

// disk is how full the volume is. No server is asked for it: a full disk is often why that does not run.
func (s *Service) disk() (d Disk) {
	if s.Space != nil {
		d.Used, d.Total = s.Space()
	}
	return d
}

// measureAgain has the next one who asks told what is so now: who lets clients in has changed.
func (s *Service) measureAgain() {
	s.measuring.Lock()
	defer s.measuring.Unlock()
	good := s.measured.good
	good.Closed = nil
	s.measured = measured{good: good}
}

// measures returns what a server with a version of the settings told a moment ago, or asks it. Of a server that does
// not answer holds what it told before.
func (s *Service) measures(ctx context.Context, settings uint64) Measures {
	if s.Meter == nil {
		return Measures{}
	}
	s.measuring.Lock()
	defer s.measuring.Unlock()
	if time.Since(s.measured.asked) < measureAge && s.measured.settings == settings {
		return s.measured.answer
	}
	// Who asks next is told the same: that this one left must not be it.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), measureTimeout)
	defer stop()
	answer, err := s.Meter.Measure(ctx)
	good := answer
	if err != nil {
		good = s.measured.good
		answer = good.stale(err)
	}
	s.measured = measured{asked: time.Now(), settings: settings, answer: answer, good: good}
	return answer
}
