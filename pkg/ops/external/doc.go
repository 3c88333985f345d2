// Package external reads databases that something else made. It changes nothing of them.
package external
