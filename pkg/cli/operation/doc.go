// Package operation holds the commands about operations: past, in flight, paused.
package operation
