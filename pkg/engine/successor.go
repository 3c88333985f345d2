package engine

import "fmt"

// Successor is what an Engine also is that loads backups of other engines.
type Successor interface {
	// CheckSuccession judges whether a backup that another engine took of a server of version from may be loaded by
	// version target of this one. It is pure.
	CheckSuccession(engine, from, target string) error
}

// CheckLoad judges whether a backup of that engine and server version may be loaded by version target of e. It is pure.
func CheckLoad(e Engine, backup, from, target string) error {
	if backup == e.Name() {
		return e.CheckRestore(from, target)
	}
	if s, ok := e.(Successor); ok {
		return s.CheckSuccession(backup, from, target)
	}
	return NotLoaded(e, backup)
}

// NotLoaded is the refusal of a backup of another engine.
func NotLoaded(e Engine, backup string) error {
	return &Refusal{Check: "wrong-engine", Reason: fmt.Sprintf("%s does not load backups of %s", e.Name(), backup),
		Hint: "restore it into a cluster of " + backup}
}
