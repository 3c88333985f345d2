package helpercmd

import "runtime/debug"

// garbagePercent is how much garbage there may be beside what is in use: a quarter of that, and not as much again.
const garbagePercent = 25

// saveMemory keeps a pod that reads or writes a backup below 160 MiB. Nearly all that it has in use are large buffers,
// in which the collector has nothing to follow: to collect more often costs next to no time. What a person set stays.
func saveMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
}
