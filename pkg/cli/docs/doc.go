// Package docs writes the reference and the manual pages from the tree of commands.
package docs
