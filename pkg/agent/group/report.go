package group

import (
	"maps"
	"sync"
	"time"
)

// seldom reports the same at most once a minute: what is refused comes again at once.
func seldom(report func(string)) func(string) {
	var mu sync.Mutex
	last := map[string]time.Time{}
	return func(what string) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(last[what]) < time.Minute {
			return
		}
		maps.DeleteFunc(last, func(_ string, at time.Time) bool { return time.Since(at) >= time.Minute })
		last[what] = time.Now()
		report(what)
	}
}
