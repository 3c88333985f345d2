package operator

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// asker is what an operator remembers of an object that asks for a backup.
type asker struct {
	// none: it has no operation. ended: it has its last answer.
	none, ended bool
	// refused is why its backup is not taken, and until when that is left alone.
	refused error
	until   time.Time
}

// refusedFor is how long a request that was refused is left alone, for
// each that is: however many there are, one of them is tried in that time.
const refusedFor = 30 * time.Second

// ask changes what is remembered of an object.
func (m *tracker) ask(uid types.UID, change func(*asker)) {
	a := m.askers[uid]
	change(&a)
	if m.askers == nil {
		m.askers = map[types.UID]asker{}
	}
	m.askers[uid] = a
}

// turnDown remembers why a backup is not taken.
func (m *tracker) turnDown(uid types.UID, why error, now time.Time) {
	m.ask(uid, func(a *asker) { a.refused = why })
	many := 0
	for _, a := range m.askers {
		if a.refused != nil {
			many++
		}
	}
	m.ask(uid, func(a *asker) { a.until = now.Add(time.Duration(many) * refusedFor) })
}

// hope has all be tried again that were refused: one could be started.
func (m *tracker) hope() {
	for uid := range m.askers {
		m.ask(uid, func(a *asker) { a.until = time.Time{} })
	}
}

// only forgets all objects but these.
func (m *tracker) only(these map[types.UID]bool) {
	maps.DeleteFunc(m.askers, func(uid types.UID, _ asker) bool { return !these[uid] })
}
