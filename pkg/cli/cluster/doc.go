// Package cluster holds the commands that create, change and delete clusters
// and their members.
package cluster
