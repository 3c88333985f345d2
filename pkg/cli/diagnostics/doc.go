// Package diagnostics holds the commands that only look: they change nothing.
package diagnostics
