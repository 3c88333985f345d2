// Package golden compares what a test saw with a file.
package golden
