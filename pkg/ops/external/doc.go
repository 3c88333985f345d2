// Package external looks at databases that something else made. It changes nothing of them.
package external
