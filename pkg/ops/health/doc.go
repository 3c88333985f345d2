// Package health judges a cluster by its State: status, diagnosis, what was
// changed by hand, what a recovery has to work with. It reads nothing itself.
package health
