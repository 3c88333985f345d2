// Package diagnostics holds the commands that only read: they change nothing.
package diagnostics
