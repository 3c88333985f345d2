// Package progress tells how an operation goes, on a terminal, in plain lines or as JSON.
package progress
