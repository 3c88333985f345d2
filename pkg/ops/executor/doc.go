// Package executor observes a cluster and performs one step. Each step can be
// repeated: a process may die on any line, and the next one observes and goes on.
package executor
