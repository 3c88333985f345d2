// Package exit says with which code a command ends, and what a mistyped one is told.
package exit
