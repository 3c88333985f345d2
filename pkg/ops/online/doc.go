// Package online moves the clients of a cluster to another version almost without a pause: a second cluster begins as
// its copy, follows it, and takes its place. It knows the order of the operations, which are those of the two clusters:
// each can be asked for by itself. It decides by what is observed alone, so who goes on after a crash comes to the
// same.
package online
