// Package helpercmd holds the commands that this tool runs in its helper pods.
package helpercmd
